"""In which way a pod moves: as it is made for, or as its owner or the configuration wants it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.config.migration import AUTO, BY_NAME
from rescheduler.model import names, podmigration
from rescheduler.model.moves import Way


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    why_recreated: str
    """Why it has to end before its successor begins; empty: both can be there."""
    is_decided: bool = False
    """Whoever wants this way has decided about that, so `pods.recreate` does not."""
    reasons: tuple[str, ...] = ()
    """Why it stays."""

    @property
    def way(self) -> Way:
        return Way.RECREATE if self.why_recreated else Way.SURGE


_SETTING: Final = "migration.way"
_ANNOTATION: Final = f"its annotation {names.WAY}"


def choose(why_recreated: str, annotation: str, setting: str, *, is_bare: bool) -> Verdict:
    """`why_recreated` is why a pod such as this has to be recreated, if it has to be."""
    wanted, by = (annotation, _ANNOTATION) if annotation else (setting, _SETTING)
    if wanted == AUTO and not annotation:
        return Verdict(why_recreated=why_recreated)
    if wanted not in BY_NAME:
        problem = f"{by} is {wanted!r}: it can be {' or '.join(BY_NAME)}"
        return Verdict(why_recreated=why_recreated, is_decided=True, reasons=(problem,))
    says = f"{by} is {wanted}"
    if podmigration.Way(wanted).makes_a_copy:
        return _by_copy_only(why_recreated, says)
    return _recreated(why_recreated, says, is_bare=is_bare, is_told=bool(annotation))


def _by_copy_only(why_recreated: str, says: str) -> Verdict:
    if not why_recreated:
        return Verdict(why_recreated="")
    reason = f"its move would recreate it, and {says}: {why_recreated}"
    return Verdict(why_recreated=why_recreated, is_decided=True, reasons=(reason,))


def _recreated(why_recreated: str, says: str, *, is_bare: bool, is_told: bool) -> Verdict:
    if not is_bare:
        return Verdict(why_recreated=why_recreated or says, is_decided=True)
    if not is_told:
        return Verdict(why_recreated=why_recreated)  # the setting is about pods that are made anew
    reason = f"{says}, and nobody would make it anew"
    return Verdict(why_recreated=why_recreated, is_decided=True, reasons=(reason,))


def annotated(annotations: Mapping[str, str]) -> str:
    """What the pod itself asks for; empty: nothing."""
    return annotations.get(names.WAY, "")
