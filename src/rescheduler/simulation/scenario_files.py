"""Scenarios of users: one YAML file in, one `Scenario` out, or every problem at once."""

from collections.abc import Callable, Mapping
from pathlib import Path as FilePath
from typing import Any, Final

from rescheduler.documents import reading
from rescheduler.documents.durations import HOUR, MINUTE
from rescheduler.documents.kinds import Amount, Count, Duration, Percentage, Text
from rescheduler.documents.places import Place
from rescheduler.documents.reading import FileName, check_type, load_text
from rescheduler.documents.shapes import Anything, Items, Section, Shape
from rescheduler.simulation.scenarios import Outage, Pattern, Scenario, Surge

API_VERSION: Final = "rescheduler.io/v1alpha1"
KIND: Final = "LoadScenario"

_OF_DAY: Final = Duration(lowest=0, highest=24 * HOUR)
_LASTS: Final = Duration(lowest=MINUTE, highest=24 * HOUR)
_TIMES: Final = Amount(highest=100)
_PER_CENT: Final = Amount(highest=10_000)
_NAMES: Final = Items(Text(may_be_empty=False))

_PATTERN: Final[Mapping[str, Shape]] = {
    "names": _NAMES,
    "share": _PER_CENT,
    "peak": _OF_DAY,
    "duration": _LASTS,
    "low": _PER_CENT,
    "high": _PER_CENT,
    "scatter": _OF_DAY,
}
_SURGE: Final[Mapping[str, Shape]] = {
    "at": _OF_DAY,
    "duration": _LASTS,
    "factor": _TIMES,
    "names": _NAMES,
    "share": Percentage(zero_allowed=False),
}
_OUTAGE: Final[Mapping[str, Shape]] = {
    "at": _OF_DAY,
    "duration": _LASTS,
    "node": Text(may_be_empty=False),
}


class _Filled:
    """A list of mappings, each turned into something; an empty mapping stands for one, too."""

    def __init__(self, section: Section, make: Callable[[dict[str, Any]], object]) -> None:
        self._section = section
        self._make = make

    def read(self, place: Place) -> tuple[object, ...] | None:
        if place.value is not None and not isinstance(place.value, list):
            place.expected("a list")
            return None
        found = []
        for item in place.each():
            if item.value is None:
                item.expected("a mapping")
                continue
            given = self._section.read(item)
            if given is None:
                continue
            if "names" in given and "share" in given:
                item.at("share").refuse("not together with names: one of both says which ones")
            missing = [name for name in self._section.required if name not in given]
            if not missing:
                found.append(self._make(given))
        return tuple(found)


def _pattern(given: dict[str, Any]) -> Pattern:
    return Pattern(
        **_named(
            given,
            share="share",
            peak="peak_seconds",
            duration="high_seconds",
            scatter="scatter_seconds",
        ),
        names=tuple(filter(None, given.get("names") or ())),
        low=given.get("low", 100.0) / 100,
        high=given.get("high", 100.0) / 100,
    )


def _surge(given: dict[str, Any]) -> Surge:
    return Surge(
        **_named(given, at="at_seconds", duration="for_seconds", factor="factor"),
        names=tuple(filter(None, given.get("names") or ())),
        share=given.get("share", 10.0) / 100,
    )


def _outage(given: dict[str, Any]) -> Outage:
    return Outage(**_named(given, at="at_seconds", duration="for_seconds", node="node"))


def _named(given: Mapping[str, Any], **names: str) -> dict[str, Any]:
    """By the names of the program, as far as they are given."""
    return {ours: given[theirs] for theirs, ours in names.items() if theirs in given}


_SCENARIO: Final = Section(
    {
        "apiVersion": Anything(),
        "kind": Anything(),
        "loads": _Filled(Section(_PATTERN), _pattern),
        "surges": _Filled(Section(_SURGE, required=("at",)), _surge),
        "growth": _PER_CENT,
        "wander": _OF_DAY,
        "rollouts": Count(highest=10_000),
        "scalings": Count(highest=10_000),
        "maintenances": _Filled(Section(_OUTAGE, required=("at", "duration")), _outage),
        "failures": _Filled(Section(_OUTAGE, required=("at", "duration")), _outage),
        "drains": _Filled(Section(_OUTAGE, required=("at", "duration")), _outage),
    }
)


def load(path: FileName) -> Scenario:
    """Raises ConfigurationError, with all that is wrong."""
    return parse(load_text(path), str(path))


def parse(text: str, source: str = "scenario") -> Scenario:
    """Raises ConfigurationError, with all that is wrong."""
    given = reading.parse(text, source, _read)
    values = _named(
        given,
        loads="patterns",
        surges="surges",
        wander="wander_seconds",
        rollouts="rollouts",
        scalings="scalings",
        maintenances="maintenances",
        failures="failures",
        drains="drains",
    )
    if not values.get("patterns"):
        values["patterns"] = (Pattern(),)
    growth = given.get("growth")
    return Scenario(
        name=FilePath(source).stem,
        growth=growth / 100 if isinstance(growth, float) else 0.0,
        **values,
    )


def _read(root: Place) -> dict[str, object] | None:
    if not isinstance(root.value, dict):
        root.expected(f"a mapping with apiVersion: {API_VERSION}, kind: {KIND}")
        return None
    check_type(root.at("apiVersion"), [API_VERSION])
    check_type(root.at("kind"), [KIND])
    return _SCENARIO.read(root)
