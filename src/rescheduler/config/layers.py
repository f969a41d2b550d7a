"""Settings from elsewhere than the file: environment variables, and flags. Pure: handed in.

A variable is the path of a setting in capitals: RESCHEDULER_MIGRATION_READY_TIMEOUT is
`migration.readyTimeout`. What is wrong with one is told by its name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from rescheduler.config.configuration import Configuration
from rescheduler.documents import strict_yaml
from rescheduler.documents.kinds import Kind
from rescheduler.documents.name_lists import Choices, Namespaces
from rescheduler.documents.places import Path, Place, quoted
from rescheduler.documents.settings import settings_of
from rescheduler.documents.suggestions import nearest

Source = Literal["flag", "environment", "file", "default", "simulation"]
"""Who said a value. The last: who plays a cluster, beside which there is no file."""

PREFIX: Final = "RESCHEDULER_"
COMMAND_LINE: Final = "command line"
ENVIRONMENT: Final = "environment"

_WORDS: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|\.")
_OF_A_SERVICE: Final = re.compile(
    r"_SERVICE_HOST$|_SERVICE_PORT(_[A-Z0-9_]+)?$|_PORT(_[0-9]+_(TCP|UDP|SCTP)(_[A-Z]+)?)?$"
)
"""What a kubelet gives to every pod of a namespace with a Service whose name begins as ours."""


@dataclass(frozen=True, slots=True)
class Flag:
    """A setting that was given on the command line."""

    name: str
    """As it was typed, such as --max-moves."""
    value: object
    """As a file would have it."""


@dataclass(frozen=True, slots=True)
class Layer:
    """Settings that take precedence over those of the file."""

    source: Source
    values: Mapping[Path, object]
    """Those that were accepted."""
    places: Mapping[Path, Place]
    """Where each was given, to leave problems at."""


def leaves(
    settings_type: type[Any] = Configuration, above: Path = ()
) -> Iterator[tuple[Path, Any]]:
    """The path of every single setting, and its kind."""
    for each in settings_of(settings_type):
        path = (*above, each.name)
        if each.kind is None:
            yield from leaves(type(each.default), path)
        else:
            yield path, each.kind


def variable(path: str) -> str:
    """The environment variable of the setting with this path."""
    return PREFIX + _WORDS.sub("_", path).upper()


KINDS: Final[Mapping[str, "Kind[Any]"]] = {
    ".".join(map(str, path)): kind for path, kind in leaves()
}
"""By path, in the order of the documentation."""
VARIABLES: Final = {variable(path): path for path in KINDS}


def from_environment(environment: Mapping[str, str], findings: list[tuple[Path, str]]) -> Layer:
    """Variables of ours that are not empty; the others are nobody's business here."""
    values: dict[Path, object] = {}
    places: dict[Path, Place] = {}
    for name in sorted(environment):
        if not name.startswith(PREFIX) or not (text := environment[name]):
            continue
        if (path := VARIABLES.get(name)) is None:
            if not _OF_A_SERVICE.search(name):
                Place(text, (name,), findings).refuse(_unknown(name))
            continue
        place = Place(text, (name,), findings)
        value = _understood(KINDS[path], place, text)
        _keep(path, place, value, values, places)
    return Layer("environment", values, places)


def from_flags(flags: Mapping[str, Flag], findings: list[tuple[Path, str]]) -> Layer:
    """By path of the setting. A path that is none is a defect of ours."""
    values: dict[Path, object] = {}
    places: dict[Path, Place] = {}
    for path, flag in flags.items():
        place = Place(flag.value, (flag.name,), findings)
        _keep(path, place, KINDS[path].read(place), values, places)
    return Layer("flag", values, places)


def laid_over(values: Mapping[str, object], layers: Iterable[Layer]) -> dict[str, object]:
    """The values, and where a layer has others, those; the last layer wins."""
    result = _copied(values)
    for layer in layers:
        for path, value in layer.values.items():
            *sections, name = map(str, path)
            target: dict[str, Any] = result
            for section in sections:
                # A section that a file leaves empty, or a stock file lacks, is there as None.
                if target.get(section) is None:
                    target[section] = {}
                target = target[section]
            target[name] = value
    return result


def sources_of(values: Mapping[str, object], layers: Iterable[Layer]) -> dict[str, Source]:
    """Of every setting, by path; `values` are those of the file."""
    found: dict[str, Source] = {}
    for path, _ in leaves():
        found[".".join(map(str, path))] = "file" if _is_given(values, path) else "default"
    for layer in layers:
        found |= {".".join(map(str, path)): layer.source for path in layer.values}
    return found


def _keep(
    path: str,
    place: Place,
    value: object,
    values: dict[Path, object],
    places: dict[Path, Place],
) -> None:
    steps = tuple(path.split("."))
    places[steps] = place
    if value is not None:
        values[steps] = value


def _understood(kind: "Kind[Any]", place: Place, text: str) -> object:
    """A variable is always text: 80 may be meant as a number, or as a name."""
    problems: list[list[tuple[Path, str]]] = []
    for value in _readings(kind, text):
        found: list[tuple[Path, str]] = []
        result = kind.read(Place(value, place.path, found))
        if not found:
            return result
        problems.append(found)
    place.findings.extend(problems[0])
    return None


def _readings(kind: "Kind[Any]", text: str) -> Iterator[object]:
    if isinstance(kind, Namespaces | Choices) and not text.lstrip().startswith("["):
        yield [name.strip() for name in text.split(",")]
        return
    try:
        tree = strict_yaml.read(text)
    except strict_yaml.UnreadableYamlError:
        tree = None
    if tree is not None and not tree.findings:
        yield tree.value
    if tree is None or tree.findings or tree.value != text:
        yield text


def _unknown(name: str) -> str:
    near = nearest(name, VARIABLES, likeness=0.8)
    advice = f"did you mean {quoted(near)}?" if near else "docs/configuration.md lists all"
    return f"unknown variable; {advice}"


def _copied(values: Mapping[str, object]) -> dict[str, Any]:
    return {
        name: _copied(value) if isinstance(value, Mapping) else value
        for name, value in values.items()
    }


def _is_given(values: Mapping[str, object], path: Path) -> bool:
    found: object = values
    for step in path:
        if not isinstance(found, Mapping) or step not in found:
            return False
        found = found[str(step)]
    return found is not None
