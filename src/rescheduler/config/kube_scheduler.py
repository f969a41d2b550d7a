"""The configuration file of a kube-scheduler, as operators have it (S9).

Ours in it are the profiles that name our plugin, in their `pluginConfig` or under an extension
point of `plugins`. There is one configuration for the whole program, so they have to agree.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.config.configuration import Configuration
from rescheduler.config.given import Given
from rescheduler.config.scheduling import VERBS
from rescheduler.config.stock_fields import EXTENSION_POINTS, KUBE_SCHEDULER_CONFIGURATION
from rescheduler.documents.places import Path, Place, quoted, shown
from rescheduler.documents.settings import section_of
from rescheduler.documents.shapes import Section
from rescheduler.documents.suggestions import nearest

PLUGIN: Final = "Rescheduler"
_TOO_LIKE_OURS: Final = 0.85  # One or two letters off; no plugin of Kubernetes comes near.
_DEFAULT_SCHEDULER_NAME: Final = "default-scheduler"

_OF_THE_WHOLE_FILE: Final = ("leaderElection", "clientConnection")
_ARGS: Final = Section(
    {
        name: shape
        for name, shape in section_of(Configuration).fields.items()
        if name not in _OF_THE_WHOLE_FILE
    }
)


@dataclass(frozen=True, slots=True)
class _Profile:
    """A profile that has our plugin."""

    place: Place
    points: tuple[str, ...]
    """The extension points at which our plugin is enabled."""

    args: Place | None


def read(root: Place) -> Given:
    """What the file says; worth nothing when problems were left at the places."""
    given = KUBE_SCHEDULER_CONFIGURATION.read(root) or {}
    places = list(root.at("profiles").each())
    _check_scheduler_names(places)
    profiles = [profile for place in places if (profile := _our_profile(place))]
    places_of_args = [profile.args for profile in profiles if profile.args]
    args = agreed(_ARGS, places_of_args)
    names = tuple(_scheduler_name(profile.place) for profile in profiles)
    return Given(
        values={**{name: given.get(name) for name in _OF_THE_WHOLE_FILE}, **args},
        roots=tuple(places_of_args) or (root,),
        others={"verbs": _agreed_verbs(profiles), "scheduler_names": names},
    )


def _our_profile(place: Place) -> _Profile | None:
    configs = _our_entries(place.at("pluginConfig"))
    points = [
        point
        for point in EXTENSION_POINTS
        if _our_entries(place.at("plugins").at(point).at("enabled"))
    ]
    for point in points:
        if point not in VERBS:
            place.at("plugins").at(point).refuse(
                f"{PLUGIN} cannot be enabled here, only at {', '.join(VERBS)}"
            )
    if not configs and not points:
        return None
    return _Profile(place, tuple(points), configs[0].at("args") if configs else None)


def _our_entries(entries: Place) -> list[Place]:
    """The entries that name our plugin: one at most, and none with nearly its name."""
    ours = [entry for entry in entries.each() if entry.at("name").value == PLUGIN]
    for other in ours[1:]:
        other.at("name").refuse(f"duplicate of {ours[0].at('name')} ({quoted(PLUGIN)})")
    for name in _nearly_our_names(entries):
        # To a scheduler it is one more plugin; for us, settings would be silently ignored.
        name.refuse(f"unknown plugin {quoted(str(name.value))}; did you mean {quoted(PLUGIN)}?")
    return ours


def _nearly_our_names(entries: Place) -> Iterator[Place]:
    for name in (entry.at("name") for entry in entries.each()):
        if not isinstance(name.value, str) or name.value == PLUGIN:
            continue
        if nearest(name.value, [PLUGIN], likeness=_TOO_LIKE_OURS):
            yield name


def _check_scheduler_names(profiles: list[Place]) -> None:
    first_places: dict[str, Place] = {}
    for name in (profile.at("schedulerName") for profile in profiles):
        if isinstance(name.value, str):
            first = first_places.setdefault(name.value, name)
            if first is not name:
                name.refuse(f"duplicate of {first} ({quoted(name.value)})")
        elif name.value is None and len(profiles) > 1:
            # A single profile gets the default name; kube-scheduler refuses several without.
            name.refuse("required, as there are several profiles")


def _scheduler_name(profile: Place) -> str:
    name = profile.at("schedulerName").value
    return name if isinstance(name, str) else _DEFAULT_SCHEDULER_NAME


def _agreed_verbs(profiles: list[_Profile]) -> tuple[str, ...]:
    if not profiles:
        return ()
    first = profiles[0]
    for profile in profiles[1:]:
        if profile.points != first.points:
            there, here = (", ".join(each.points) or "none" for each in (first, profile))
            profile.place.at("plugins").refuse(
                f"contradicts {first.place.at('plugins')}: "
                f"{PLUGIN} is enabled at {there} there, at {here} here"
            )
    return tuple(each for each in VERBS if each in first.points)


def agreed(section: Section, places: Iterable[Place]) -> dict[str, object]:
    """The fields that any of the places gives; two that give the same field give it alike."""
    first_givers: dict[Path, tuple[Place, object]] = {}
    for place in places:
        for giver, value in _values(place, section.read(place) or {}):
            field = giver.path[len(place.path) :]
            first_giver, first_value = first_givers.setdefault(field, (giver, value))
            if value != first_value:
                giver.refuse(
                    f"contradicts {first_giver}: "
                    f"{shown(first_giver.value)} there, {shown(giver.value)} here"
                )
    return _nested({field: value for field, (_, value) in first_givers.items()})


def _values(place: Place, given: Mapping[str, object]) -> Iterator[tuple[Place, object]]:
    """The single values, wherever they are nested."""
    for name, value in given.items():
        if isinstance(value, Mapping):
            yield from _values(place.at(name), value)
        else:
            yield place.at(name), value


def _nested(values: Mapping[Path, object]) -> dict[str, object]:
    """As a section reads them: the opposite of taking the single values out."""
    nested: dict[str, Any] = {}
    for (*sections, name), value in values.items():
        target = nested
        for section in sections:
            target = target.setdefault(str(section), {})
        target[str(name)] = value
    return nested
