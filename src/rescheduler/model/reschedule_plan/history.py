"""What has become of plans that are over: of each one line that says all."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rescheduler.model.objects import Object, spec
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.observing import Verdict
from rescheduler.model.reschedule_plan.phases import Phase, Reason
from rescheduler.model.reschedule_plan.writing import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Imbalance:
    """Of one resource, in points, as text; empty: nobody knows."""

    resource: str
    before: str = ""
    predicted: str = ""
    observed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    name: str
    origin: str
    strategies: tuple[str, ...]
    phase: Phase
    reason: str
    message: str
    by: str
    """Who approved or rejected it."""
    moves: int
    moved: int
    failed: int
    skipped: int
    created: datetime | None
    started: datetime | None
    ended: datetime | None
    imbalance: tuple[Imbalance, ...]
    verdict: str
    """Empty: nobody has looked yet."""
    said: str
    """The same in words."""
    bounces: int | None
    """None: nobody has looked yet."""
    is_final: bool
    """Nothing is added to it any more."""

    @property
    def most_uneven(self) -> Imbalance | None:
        """Of its resources, before it."""
        return max(self.imbalance, key=lambda each: float(each.before or 0), default=None)

    @property
    def success(self) -> bool | None:
        """Every move was made, loads came as predicted, and no pod moved again; None: so far, and
        more is about to be known, or it cannot be known.
        """
        is_wrong = self.verdict == Verdict.NOT_AS_PREDICTED or bool(self.bounces)
        if self.phase is not Phase.COMPLETED or self.reason != Reason.ALL_MOVED or is_wrong:
            return False
        return True if self.is_final and self.verdict == Verdict.AS_PREDICTED else None


def history(plans: Iterable[Object], *, completed_only: bool = True) -> list[Entry]:
    """The oldest first. Of those that are over; else all of them, also those that nobody wanted."""
    over = [each for each in plans if fields.phase_of(each).is_over]
    kept = [each for each in over if not completed_only or fields.phase_of(each) is Phase.COMPLETED]
    return [entry_of(each) for each in sorted(kept, key=fields.order_of)]


def entry_of(plan: Object) -> Entry:
    moved, failed, skipped = fields.counts_of(plan)
    return Entry(
        name=fields.name_of(plan),
        origin=fields.origin_of(plan).value,
        strategies=tuple(filter(None, fields.strategies_of(plan))),
        phase=fields.phase_of(plan),
        reason=fields.reason_of(plan),
        message=fields.message_of(plan),
        by=fields.approved_by(plan) or fields.decided_by(plan),
        moves=fields.size_of(plan),
        moved=moved,
        failed=failed,
        skipped=skipped,
        created=fields.created_at(plan),
        started=fields.started_at(plan),
        ended=fields.ended_at(plan),
        imbalance=tuple(_imbalance(plan)),
        verdict=fields.verdict_of(plan),
        said=str(fields.observed_of(plan).get("message") or ""),
        bounces=fields.bounces_of(plan),
        is_final=bool(fields.observed_of(plan).get("final")),
    )


def _imbalance(plan: Object) -> Iterable[Imbalance]:
    measured = {
        each["resource"]: str(each.get("measured") or "")
        for each in fields.observed_of(plan).get("imbalance") or ()
    }
    for each in spec(plan).get("imbalance") or ():
        yield Imbalance(
            resource=each["resource"],
            before=str(each.get("before") or ""),
            predicted=str(each.get("after") or ""),
            observed=measured.get(each["resource"], ""),
        )


def document_of(entry: Entry) -> dict[str, Any]:
    """For machines; what is not known is null."""
    return {
        "name": entry.name,
        "origin": entry.origin,
        "strategies": list(entry.strategies),
        "phase": entry.phase.value,
        "reason": entry.reason,
        "message": entry.message,
        "approvedBy": entry.by or None,
        "createdAt": _time(entry.created),
        "startedAt": _time(entry.started),
        "endedAt": _time(entry.ended),
        "moves": entry.moves,
        "moved": entry.moved,
        "failed": entry.failed,
        "skipped": entry.skipped,
        "imbalance": [
            {
                "resource": each.resource,
                "before": _points(each.before),
                "predicted": _points(each.predicted),
                "observed": _points(each.observed),
            }
            for each in entry.imbalance
        ],
        "verdict": entry.verdict or None,
        "observed": entry.said or None,
        "bounces": entry.bounces,
        "final": entry.is_final,
        "success": entry.success,
    }


def _time(moment: datetime | None) -> str | None:
    return text_of(moment) if moment else None


def _points(text: str) -> float | None:
    return float(text) if text else None
