"""From a file to the configuration and back: which kinds of file there are, and all problems."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from rescheduler.config import kube_scheduler
from rescheduler.config.configuration import Configuration
from rescheduler.config.contradictions import refuse_contradictions
from rescheduler.config.given import Given
from rescheduler.config.layers import (
    COMMAND_LINE,
    ENVIRONMENT,
    Flag,
    Source,
    from_environment,
    from_flags,
    laid_over,
    sources_of,
)
from rescheduler.documents import reading
from rescheduler.documents.places import Path, Place
from rescheduler.documents.reading import FileName, check_type, load_text
from rescheduler.documents.settings import build, document_of, section_of
from rescheduler.documents.shapes import Anything, Section
from rescheduler.documents.suggestions import nearest


@dataclass(frozen=True, slots=True)
class _Format:
    api_version: str
    kind: str
    read: Callable[[Place], Given]


_TYPE_FIELDS: Final = {"apiVersion": Anything(), "kind": Anything()}
_OWN_SECTION: Final = Section({**_TYPE_FIELDS, **section_of(Configuration).fields})


def _read_own(root: Place) -> Given:
    return Given(values=_OWN_SECTION.read(root) or {}, roots=(root,))


_OWN: Final = _Format("rescheduler.io/v1alpha1", "ReschedulerConfiguration", _read_own)
_KUBE_SCHEDULER: Final = _Format(
    "kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", kube_scheduler.read
)
_FORMATS: Final = (_OWN, _KUBE_SCHEDULER)
_ACCEPTED: Final = " or ".join(
    f"apiVersion: {each.api_version}, kind: {each.kind}" for each in _FORMATS
)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The configuration, and who said what."""

    configuration: Configuration
    sources: Mapping[str, Source]
    """Of every setting, by its path in a ReschedulerConfiguration."""


def load(path: FileName) -> Configuration:
    """Read a configuration file.

    Raises:
        ConfigurationError: it cannot be read, or has problems; all of them are told.
    """
    return parse(load_text(path), str(path))


def parse(text: str, source: str = "configuration") -> Configuration:
    """Read a configuration from YAML text; `source` names it in the error.

    Raises:
        ConfigurationError: it has problems; all of them are told, in order of appearance.
    """
    return combine(text, source).configuration


def combine(
    text: str | None,
    source: str = "configuration",
    *,
    environment: Mapping[str, str] | None = None,
    flags: Mapping[str, Flag] | None = None,
) -> Loaded:
    """What is in force: a flag (by path of its setting) before a variable of the environment, that
    before the file, and that before the default. None: there is no file.

    Raises:
        ConfigurationError: there are problems; all of them are told, wherever they are.
    """
    above = _Above(environment or {}, flags or {})
    if text is None:
        return reading.settle(above.read_nothing, source, above.origin)
    return reading.parse(text, source, above.read, above.origin)


def to_document(configuration: Configuration) -> dict[str, object]:
    """The effective configuration, defaults included, as a ReschedulerConfiguration.

    Such a file has no profiles: what comes of those is in `from_profiles`.
    """
    types = {"apiVersion": _OWN.api_version, "kind": _OWN.kind}
    return {**types, **document_of(configuration)}


def from_profiles(configuration: Configuration) -> dict[str, object]:
    """What is in force by the profiles of a KubeSchedulerConfiguration; empty when nothing is."""
    found = {
        "schedulerNames": list(configuration.scheduler_names),
        "verbs": list(configuration.verbs),
    }
    return {name: value for name, value in found.items() if value}


def settings_beside_defaults(configuration: Configuration) -> dict[str, object]:
    """What of it differs from the defaults: each by its path in a file."""
    defaults = dict(single_settings(Configuration()))
    given = single_settings(configuration)
    return {path: value for path, value in given if defaults.get(path) != value}


def single_settings(configuration: Configuration) -> Iterator[tuple[str, object]]:
    """All of them, each by its path in a file, as a file has it."""
    return _single(document_of(configuration))


def _single(document: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from _single(value, f"{above}{name}.")
        else:
            yield f"{above}{name}", value


@dataclass(frozen=True, slots=True)
class _Above:
    """What takes precedence over a file."""

    environment: Mapping[str, str]
    flags: Mapping[str, Flag]

    def read(self, root: Place) -> Loaded | None:
        given = _read(root)
        layers = (
            from_environment(self.environment, root.findings),
            from_flags(self.flags, root.findings),
        )
        if given is None:
            return None
        values = laid_over(given.values, layers)
        configuration = build(Configuration, values, **given.others)
        elsewhere = {path: place for layer in layers for path, place in layer.places.items()}
        refuse_contradictions(configuration, given.roots, elsewhere)
        return Loaded(configuration, sources_of(given.values, layers))

    def read_nothing(self, root: Place) -> Loaded | None:
        return self.read(replace(root, value={"apiVersion": _OWN.api_version, "kind": _OWN.kind}))

    def origin(self, path: Path) -> str:
        """Of a problem; empty: it is in the file."""
        first = path[0] if path else ""
        if first in {flag.name for flag in self.flags.values()}:
            return COMMAND_LINE
        return ENVIRONMENT if first in self.environment else ""


def _read(root: Place) -> Given | None:
    if not isinstance(root.value, dict):
        root.expected(f"a mapping with {_ACCEPTED}")
        return None
    file_format = _recognised(root)
    return file_format.read(root) if file_format else None


def _recognised(root: Place) -> _Format | None:
    """The format by the fields that name it; when one is wrong, the other shows what is meant."""
    meant = _meant(root)
    accepted = (meant,) if meant else _FORMATS
    check_type(root.at("apiVersion"), [each.api_version for each in accepted])
    check_type(root.at("kind"), [each.kind for each in accepted])
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
