"""What becomes of a plan next: who said what to it, how old it is, how its moves stand."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

from rescheduler.model import podmigration
from rescheduler.model.objects import Object, is_terminating
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.fields import Progress
from rescheduler.model.reschedule_plan.phases import Decision, Origin, Phase, Reason, State
from rescheduler.model.reschedule_plan.writing import Standing, text_of

DELETED: Final = "its record was deleted"
NOT_BEGUN: Final = "it was not begun before this plan ended; what is left to do is planned anew"

_NOT_EVEN_BEGUN: Final = (
    podmigration.Reason.NOT_NOW,
    podmigration.Reason.NOT_MOVABLE,
    podmigration.Reason.NO_TARGET,
    podmigration.Reason.INVALID,
)


def expires_at(plan: Object, expire_after_seconds: float) -> datetime | None:
    created = fields.created_at(plan)
    return None if created is None else created + timedelta(seconds=expire_after_seconds)


def is_expired(plan: Object, expire_after_seconds: float, now: datetime) -> bool:
    end = expires_at(plan, expire_after_seconds)
    return end is not None and now >= end


def is_to_begin(plan: Object, expire_after_seconds: float, now: datetime) -> bool:
    """Somebody has said yes to it in time, and nothing of it has begun."""
    return (
        fields.phase_of(plan) is Phase.WAITING
        and not is_terminating(plan)
        and fields.decision_of(plan) is Decision.APPROVED
        and not is_expired(plan, expire_after_seconds, now)
    )


def is_to_go_on(plan: Object) -> bool:
    """It was approved and begun; a later leader goes on with it. One that nobody had to approve is
    rather planned anew.
    """
    is_running = fields.phase_of(plan) is Phase.RUNNING and not is_terminating(plan)
    return is_running and fields.was_approved(plan)


def standing_proposal(plans: Iterable[Object]) -> Object | None:
    """The youngest of those that wait for somebody's word."""
    return max((each for each in plans if is_open(each)), key=fields.order_of, default=None)


def is_open(plan: Object) -> bool:
    """Proposed by a pass, and nobody has said anything to it."""
    is_waiting = fields.phase_of(plan) is Phase.WAITING and not is_terminating(plan)
    said = fields.decision_of(plan)
    return is_waiting and said is None and fields.origin_of(plan) is Origin.PASS


def refused_uids(
    plans: Iterable[Object], expire_after_seconds: float, now: datetime
) -> frozenset[str]:
    """Of pods that somebody wants to stay: not to be proposed again for a while. Nor are those of a
    plan that somebody has decided about just now, and nobody has taken that up yet.
    """
    found: set[str] = set()
    for each in plans:
        if fields.phase_of(each) is Phase.WAITING and fields.decision_of(each) is not None:
            found |= fields.uids_of(each)
        ended = fields.ended_at(each)
        is_so = fields.phase_of(each) is Phase.REJECTED and ended is not None
        if is_so and ended is not None and (now - ended).total_seconds() < expire_after_seconds:
            found |= fields.uids_of(each)
    return frozenset(found)


# ---------------------------------------------------------------------- that waits


def of_waiting(
    plan: Object,
    *,
    now: datetime,
    expire_after_seconds: float,
    newest: Object | None,
    moves_pods: bool,
    waits_for: tuple[Reason | str, str] | None = None,
) -> Standing:
    """`newest`: the proposal that stands. `waits_for`: why it is not carried out, in one word and
    in many, as whoever proposed it just now knows; None: as its status says.
    """
    said, by = fields.decision_of(plan), fields.decided_by(plan)
    if said is Decision.REJECTED:
        words = f"rejected by {by}" if by else "rejected"
        return Standing(phase=Phase.REJECTED, reason=Reason.REJECTED, message=words)
    if is_expired(plan, expire_after_seconds, now):
        return _expired(plan, expire_after_seconds)
    if is_open(plan) and newest is not None and fields.order_of(newest) > fields.order_of(plan):
        younger = fields.name_of(newest)
        return Standing(
            phase=Phase.SUPERSEDED,
            reason=Reason.NEWER_PLAN,
            message=f"a later pass has planned otherwise: see {younger}",
            superseded_by=younger,
        )
    reason, words = waits_for or _as_it_waits(plan)
    if said is Decision.APPROVED and not moves_pods:
        words = "approved, but in mode DryRun nothing is moved"
    elif other := fields.misunderstood(plan):
        words = f"its annotation says {other!r}: write approved or rejected"
    end = expires_at(plan, expire_after_seconds)
    return Standing(phase=Phase.WAITING, reason=reason, message=words, expires_at=end)


def _expired(plan: Object, expire_after_seconds: float) -> Standing:
    end = expires_at(plan, expire_after_seconds)
    when = f" at {text_of(end)}" if end else ""
    words = f"nobody approved it before it expired{when}"
    if fields.decision_of(plan) is Decision.APPROVED:
        words = f"it expired{when}, before anybody carried it out"
    return Standing(phase=Phase.EXPIRED, reason=Reason.EXPIRED, message=words)


def _as_it_waits(plan: Object) -> tuple[Reason | str, str]:
    reason = fields.reason_of(plan)
    if reason and fields.phase_of(plan) is Phase.WAITING:
        kept = "" if fields.misunderstood(plan) else fields.message_of(plan)
        return reason, kept
    return Reason.NEEDS_APPROVAL, f"rescheduler approve {fields.name_of(plan)}, or reject"


def not_needed() -> Standing:
    return Standing(
        phase=Phase.SUPERSEDED,
        reason=Reason.NOT_NEEDED,
        message="a later pass found nothing to move",
    )


# ---------------------------------------------------------------------- that runs


def of_running(
    plan: Object,
    records: Mapping[str, Object],
    *,
    skipped: Mapping[str, str],
    goes_on: bool,
) -> Standing:
    """`records`: PodMigrations by the UID of their pod. `skipped`: why moves were not begun, by the
    same. `goes_on`: what has not begun still may.
    """
    known = fields.progress_of(plan)
    found: list[Progress] = []
    for uid in (each["uid"] for each in plan["spec"]["moves"]):
        before, record = known.get(uid), records.get(uid)
        if before is not None and before.state.is_over:
            found.append(before)
        elif record is not None:
            found.append(_of_record(uid, record))
        elif before is not None:
            found.append(Progress(uid=uid, state=State.FAILED, message=DELETED))
        elif uid in skipped:
            found.append(Progress(uid=uid, state=State.SKIPPED, message=skipped[uid]))
        elif not goes_on:
            found.append(Progress(uid=uid, state=State.SKIPPED, message=NOT_BEGUN))
    is_over = len(found) == fields.size_of(plan) and all(each.state.is_over for each in found)
    return _ended(found) if is_over else _under_way(plan, found)


def _under_way(plan: Object, found: list[Progress]) -> Standing:
    is_approved = fields.decision_of(plan) is Decision.APPROVED or fields.was_approved(plan)
    reason = Reason.APPROVED if is_approved else Reason.BY_ITSELF
    by = fields.approved_by(plan) or fields.decided_by(plan)
    said = f"approved by {by}" if by and is_approved else ""
    return Standing(phase=Phase.RUNNING, reason=reason, message=said, moves=found)


def _ended(found: list[Progress]) -> Standing:
    counts = {state: sum(each.state is state for each in found) for state in State}
    moved = counts[State.MOVED]
    reason = Reason.SOME_MOVED if moved else Reason.NONE_MOVED
    if moved == len(found):
        reason = Reason.ALL_MOVED
    words = f"{moved} of {len(found)} moved"
    if counts[State.FAILED]:
        words += f", {counts[State.FAILED]} failed"
    if counts[State.SKIPPED]:
        words += f", {counts[State.SKIPPED]} not made"
    return Standing(phase=Phase.COMPLETED, reason=reason, message=words, moves=found)


def _of_record(uid: str, record: Object) -> Progress:
    successor = podmigration.new_pod_of(record)
    state = State.RUNNING
    if podmigration.is_over(record):
        state = State.FAILED if podmigration.has_failed(record) else State.MOVED
    if podmigration.reason_of(record) in _NOT_EVEN_BEGUN and state is State.FAILED:
        state = State.SKIPPED
    return Progress(
        uid=uid,
        state=state,
        migration=str(record["metadata"]["name"]),
        reason=podmigration.reason_of(record) if state.is_over else "",
        message="" if state in (State.RUNNING, State.MOVED) else podmigration.message_of(record),
        successor={key: str(successor.get(key) or "") for key in ("name", "uid", "node")}
        if successor and state is State.MOVED
        else None,
    )


# ---------------------------------------------------------------------- that is over


def outdated(plans: Iterable[Object], keep: int) -> list[Object]:
    """Those that have ended beyond the number that is kept, the oldest."""
    ended = [each for each in plans if fields.phase_of(each).is_over and not is_terminating(each)]
    ended.sort(key=fields.order_of, reverse=True)
    return ended[keep:]
