"""In which way a pod moves: as it is made for, or as its owner or the configuration wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.config.migration import AUTO, BY_NAME
from rescheduler.model import names
from rescheduler.model.moves import Way
from rescheduler.model.podmigration import Method


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
    if wanted == AUTO and not annotation:
        return Verdict(interrupts=interrupts)
    if wanted not in BY_NAME:
        problem = f"{by} is {wanted!r}: it can be {' or '.join(BY_NAME)}"
        return Verdict(interrupts=interrupts, is_decided=True, reasons=(problem,))
    says = f"{by} is {wanted}"
    if Method(wanted).makes_a_copy:
        return _by_copy_only(interrupts, says)
    return _original_first(interrupts, says, is_bare=is_bare, is_told=bool(annotation))


def _by_copy_only(interrupts: str, says: str) -> Verdict:
    if not interrupts:
        return Verdict(interrupts="")
    reason = f"its move would interrupt it, and {says}: {interrupts}"
    return Verdict(interrupts=interrupts, is_decided=True, reasons=(reason,))


def _original_first(interrupts: str, says: str, *, is_bare: bool, is_told: bool) -> Verdict:
    if not is_bare:
        return Verdict(interrupts=interrupts or says, is_decided=True)
    if not is_told:
        return Verdict(interrupts=interrupts)  # the setting is about pods that are made anew
    reason = f"{says}, and nobody would make it anew"
    return Verdict(interrupts=interrupts, is_decided=True, reasons=(reason,))


def annotated(annotations: Mapping[str, str]) -> str:
    """What the pod itself asks for; empty: nothing."""
    return annotations.get(names.WAY, "")
