"""From a file to the configuration and back: which kinds of file there are, and all problems."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Final

from rescheduler.config import kube_scheduler, strict_yaml
from rescheduler.config.configuration import Configuration
from rescheduler.config.contradictions import refuse_contradictions
from rescheduler.config.places import Path, Place, quoted, rendered
from rescheduler.config.settings import build, document_of, section_of
from rescheduler.config.shapes import Anything, Section
from rescheduler.config.suggestions import nearest
from rescheduler.errors import ConfigurationError, Problem


@dataclass(frozen=True, slots=True)
class _Format:
    api_version: str
    kind: str
    read: Callable[[Place], Configuration]


_TYPE_FIELDS: Final = {"apiVersion": Anything(), "kind": Anything()}
_OWN_SECTION: Final = Section({**_TYPE_FIELDS, **section_of(Configuration).fields})


def _read_own(root: Place) -> Configuration:
    configuration = build(Configuration, _OWN_SECTION.read(root) or {})
    refuse_contradictions(configuration, [root])
    return configuration


_OWN: Final = _Format("rescheduler.io/v1alpha1", "ReschedulerConfiguration", _read_own)
_KUBE_SCHEDULER: Final = _Format(
    "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", kube_scheduler.read
)
_FORMATS: Final = (_OWN, _KUBE_SCHEDULER)
_ACCEPTED: Final = " or ".join(
    f"apiVersion: {each.api_version}, kind: {each.kind}" for each in _FORMATS
)


def load(path: str | FilePath) -> Configuration:
    """Read a configuration file.

    Raises:
        ConfigurationError: it cannot be read, or has problems; all of them are told.
    """
    source = str(path)
    try:
        with FilePath(path).open("rb") as file:
            # One byte more than allowed shows that it is too large, however large it is.
            content = file.read(strict_yaml.LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL character
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError([Problem("", f"cannot be read: {reason}")], source) from error
    try:
        # The size is checked before the last, perhaps cut, character is decoded.
        cut = len(content) > strict_yaml.LARGEST_BYTES
        text = content.decode("utf-8", "replace" if cut else "strict")
    except UnicodeDecodeError as error:
        message = f"not UTF-8 text, from byte {error.start + 1} on"
        raise ConfigurationError([Problem("", message)], source) from error
    return parse(text, source)


def parse(text: str, source: str = "configuration") -> Configuration:
    """Read a configuration from YAML text; `source` names it in the error.

    Raises:
        ConfigurationError: it has problems; all of them are told, in order of appearance.
    """
    try:
        tree = strict_yaml.read(text)
    except strict_yaml.UnreadableYamlError as error:
        raise ConfigurationError([error.problem], source) from error
    configuration = _read(Place(tree.value, (), tree.findings))
    if tree.findings or configuration is None:
        raise ConfigurationError(_in_order(tree), source)
    return configuration


def to_document(configuration: Configuration) -> dict[str, object]:
    """The effective configuration, defaults included, as a ReschedulerConfiguration.

    Such a file has no profiles, so `verbs` and `scheduler_names` are not in it.
    """
    types = {"apiVersion": _OWN.api_version, "kind": _OWN.kind}
    return {**types, **document_of(configuration)}


def settings_beside_defaults(configuration: Configuration) -> dict[str, object]:
    """What of it differs from the defaults: each by its path in a file."""
    defaults = dict(_single(document_of(Configuration())))
    given = _single(document_of(configuration))
    return {path: value for path, value in given if defaults.get(path) != value}


def _single(document: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _single(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


def _read(root: Place) -> Configuration | None:
    if not isinstance(root.value, dict):
        root.expected(f"a mapping with {_ACCEPTED}")
        return None
    file_format = _recognised(root)
    return file_format.read(root) if file_format else None


def _recognised(root: Place) -> _Format | None:
    """The format by the fields that name it; when one is wrong, the other shows what is meant."""
    meant = _meant(root)
    accepted = (meant,) if meant else _FORMATS
    _check_type(root.at("apiVersion"), [each.api_version for each in accepted])
    _check_type(root.at("kind"), [each.kind for each in accepted])
    return meant


def _meant(root: Place) -> _Format | None:
    api_version, kind = root.at("apiVersion").value, root.at("kind").value
    for each in _FORMATS:
        if kind == each.kind:
            return each
    for each in _FORMATS:
        if api_version == each.api_version or _is_near(kind, each.kind):
            return each
    return next((each for each in _FORMATS if _is_near(api_version, each.api_version)), None)


def _is_near(value: object, name: str) -> bool:
    return isinstance(value, str) and nearest(value, [name], likeness=0.8) is not None


def _check_type(place: Place, accepted: list[str]) -> None:
    wanted = " or ".join(map(quoted, accepted))
    if place.value is None:
        place.refuse(f"missing; expected {wanted}")
    elif place.value not in accepted:
        place.expected(wanted)


def _in_order(tree: strict_yaml.Tree) -> list[Problem]:
    def position(finding: tuple[Path, str]) -> int:
        path, _ = finding
        while path and path not in tree.positions:  # A missing field counts where it should be.
            path = path[:-1]
        return tree.positions.get(path, 0)

    return [
        Problem(rendered(path), message) for path, message in sorted(tree.findings, key=position)
    ]
