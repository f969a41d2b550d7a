"""The ReschedulePlans. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from rescheduler.model import plan_documents, reschedule_plan
from rescheduler.model.objects import Object, is_terminating, spec
from rescheduler.model.reschedule_plan import Decision, Phase, Reason
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.answers.plan import planned_move
from rescheduler.serve.dashboard.documents.plans import (
    NodeBeforeAfter,
    PlanDocument,
    PlanList,
    PlanMove,
    PlanRow,
    Predicted,
    Successor,
)
from rescheduler.serve.dashboard.paging import Page
from rescheduler.serve.dashboard.refusing import not_found
from rescheduler.serve.dashboard.rights import Words

APPROVE, REJECT, UNDO = "approve", "reject", "undo"


def plans(asked: Asked) -> PlanList:
    page = Page.of(asked.given_all)
    youngest = sorted(asked.view.plans.values(), key=reschedule_plan.order_of, reverse=True)
    return PlanList(
        items=[row(each, asked.words) for each in page.cut(youngest)],
        continue_=page.next(len(youngest)),
        total=len(youngest),
    )


def row(plan: Object, words: Words) -> PlanRow:
    moved, failed, skipped = reschedule_plan.counts_of(plan)
    status = plan.get("status") or {}
    decision = reschedule_plan.decision_of(plan)
    return PlanRow(
        name=reschedule_plan.name_of(plan),
        uid=reschedule_plan.uid_of(plan),
        origin=reschedule_plan.origin_of(plan).value,
        mode=reschedule_plan.mode_of(plan),
        phase=reschedule_plan.phase_of(plan).value,
        reason=reschedule_plan.reason_of(plan),
        message=words(reschedule_plan.message_of(plan)),
        summary=words(reschedule_plan.summary_of(plan)),
        total=reschedule_plan.size_of(plan),
        moved=moved,
        failed=failed,
        skipped=skipped,
        created_at=reschedule_plan.created_at(plan),
        started_at=_time(status.get("startTime")),
        ended_at=reschedule_plan.ended_at(plan),
        expires_at=reschedule_plan.expiry_told(plan),
        decision=decision.value if decision else "",
        # The name of an account has the name of its namespace in it.
        decided_by=words(reschedule_plan.approved_by(plan) or reschedule_plan.decided_by(plan)),
        undoes=reschedule_plan.undoes(plan),
        superseded_by=reschedule_plan.superseded_by(plan),
        may=_may(plan),
    )


def _may(plan: Object) -> list[str]:
    phase, decision = reschedule_plan.phase_of(plan), reschedule_plan.decision_of(plan)
    if is_terminating(plan):
        return []
    if phase is Phase.WAITING:
        is_dry = reschedule_plan.reason_of(plan) == Reason.DRY_RUN
        return [
            *([APPROVE] if decision is not Decision.APPROVED and not is_dry else []),
            *([REJECT] if decision is not Decision.REJECTED else []),
        ]
    return [UNDO] if phase.is_over and reschedule_plan.counts_of(plan)[0] else []


def plan_by_name(asked: Asked) -> PlanDocument:
    """Raises Refused."""
    name = asked.named("name")
    plan = asked.view.plans.get(name)
    if plan is None:
        raise not_found(f"plan {name}")
    said = spec(plan)
    moves = _moves(plan, asked)
    overloaded = said.get("overloaded")
    return PlanDocument(
        plan=row(plan, asked.words),
        loads=str(said.get("loads") or ""),
        imbalance={
            str(each.get("resource")): _predicted(each) for each in said.get("imbalance") or ()
        },
        overloaded=_predicted(overloaded) if overloaded else None,
        nodes=[
            NodeBeforeAfter(
                name=str(each.get("name")),
                eligible=True,
                before=_figures(each.get("before")),
                after=_figures(each.get("after")),
            )
            for each in said.get("nodes") or ()
        ],
        moves=moves,
        hidden_moves=reschedule_plan.size_of(plan) - len(moves),
        observed=observed(plan, asked),
        commands=commands(name),
    )


def commands(name: str) -> dict[str, str]:
    return {
        "show": f"rescheduler get plans {name} -o yaml",
        **{each: f"rescheduler {each} {name}" for each in (APPROVE, REJECT, UNDO)},
    }


def observed(plan: Object, asked: Asked) -> dict[str, Any] | None:
    """As it was measured; what is said of single pods only to whoever sees all of them."""
    found = (plan.get("status") or {}).get("observed")
    if not isinstance(found, Mapping):
        return None
    if asked.rights.sees_everything:
        return dict(found)
    told = {key: each for key, each in found.items() if not isinstance(each, list)}
    return {**told, "message": asked.words(str(found.get("message") or ""))}


def _moves(plan: Object, asked: Asked) -> list[PlanMove]:
    try:
        moves = reschedule_plan.moves_of(plan)
    except (KeyError, TypeError, ValueError):
        return []  # of another version
    progress = reschedule_plan.progress_of(plan)
    found = []
    for each in moves:
        if not asked.rights.sees(each.namespace):
            continue
        known = progress.get(each.uid)
        found.append(
            PlanMove(
                move=planned_move(asked, each),
                state=known.state.value if known else "",
                migration=known.migration if known else "",
                reason=known.reason if known else "",
                message=asked.words(known.message) if known else "",
                successor=_successor(known.successor) if known else None,
            )
        )
    return found


def _successor(said: Mapping[str, str] | None) -> Successor | None:
    if not said:
        return None
    return Successor(**{name: str(said.get(name) or "") for name in ("name", "uid", "node")})


def _predicted(said: Mapping[str, Any]) -> Predicted:
    return Predicted(before=_number(said.get("before")), after=_number(said.get("after")))


def _figures(said: Mapping[str, Any] | None) -> dict[str, float | None]:
    return {name: _number(each) for name, each in (said or {}).items()}


def _number(said: object) -> float | None:
    try:
        return plan_documents.number(float(str(said)))
    except ValueError:
        return None


def _time(text: object) -> datetime | None:
    try:
        return msgspec.convert(text, datetime) if isinstance(text, str) else None
    except msgspec.ValidationError:
        return None
