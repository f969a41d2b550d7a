"""In which way a pod moves: as it is made for, or as its owner or the configuration wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.config.migration import AUTO, STEER, SURGE
from rescheduler.model import names
from rescheduler.model.moves import Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    interrupts: str
    """Why it has to end before its successor begins; empty: both can be there."""
    is_decided: bool = False
    """Whoever wants this way has decided about interruptions, so `pods.interruptions` does not."""
    reasons: tuple[str, ...] = ()
    """Why it stays."""

    @property
    def way(self) -> Way:
        return Way.RESTART if self.interrupts else Way.SURGE


_SETTING: Final = "migration.way"
_ANNOTATION: Final = f"its annotation {names.WAY}"


def choose(interrupts: str, annotation: str, setting: str, *, is_bare: bool) -> Verdict:
    """`interrupts` is why a pod such as this has to be interrupted, if it has to be."""
    wanted, by = (annotation, _ANNOTATION) if annotation else (setting, _SETTING)
    if wanted == SURGE:
        return _by_surge_only(interrupts, by)
    if wanted == STEER:
        return _steered(interrupts, by, is_bare=is_bare, is_told=bool(annotation))
    if wanted == AUTO and not annotation:
        return Verdict(interrupts=interrupts)
    problem = f"{by} is {wanted!r}: it can be {SURGE} or {STEER}"
    return Verdict(interrupts=interrupts, is_decided=True, reasons=(problem,))


def _by_surge_only(interrupts: str, by: str) -> Verdict:
    if not interrupts:
        return Verdict(interrupts="")
    reason = f"its move would interrupt it, and {by} is {SURGE}: {interrupts}"
    return Verdict(interrupts=interrupts, is_decided=True, reasons=(reason,))


def _steered(interrupts: str, by: str, *, is_bare: bool, is_told: bool) -> Verdict:
    if not is_bare:
        return Verdict(interrupts=interrupts or f"{by} is {STEER}", is_decided=True)
    if not is_told:
        return Verdict(interrupts=interrupts)  # the setting is about pods that are made anew
    reason = f"{by} is {STEER}, and nobody would make it anew"
    return Verdict(interrupts=interrupts, is_decided=True, reasons=(reason,))


def annotated(annotations: Mapping[str, str]) -> str:
    """What the pod itself asks for; empty: nothing."""
    return annotations.get(names.WAY, "")
