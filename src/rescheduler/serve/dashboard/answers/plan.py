"""What the last pass decided. Pure."""

import msgspec

from rescheduler.model import plan_documents, refusal_kinds, reschedule_plan
from rescheduler.model.moves import Move, NodeLoad, Refusal
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.documents.plans import (
    Curve,
    ImbalanceNote,
    NodeBeforeAfter,
    Plan,
    PlannedMove,
    RefusalGroup,
    StrategyReport,
)

_MOST_NAMED = 100
"""Pods of a group; the others are in `refusals`."""
COMMAND = "rescheduler plan"


def plan(asked: Asked) -> Plan:
    decided, words = asked.view.decided, asked.words
    found = decided.plan if decided else None
    moves = [each for each in found.moves if asked.rights.sees(each.namespace)] if found else []
    name = plan_name(asked)
    written = asked.view.plans.get(name)
    return Plan(
        decided_at=decided.at if decided else None,
        loads=found.word if found else asked.loads.word,
        moves=[planned_move(asked, each) for each in moves],
        strategies=[
            StrategyReport(
                name=each.strategy,
                acted=each.acted,
                summary=words(each.summary),
                figures=plan_documents.numbers(each.figures),
            )
            for each in (found.reports if found else ())
        ],
        imbalance={
            each.resource: ImbalanceNote(
                before=plan_documents.number(each.before),
                after=plan_documents.number(each.after),
                most=each.most,
                least=each.least,
            )
            for each in (found.imbalances if found else ())
        },
        nodes=[node(each) for each in (found.nodes if found else ())],
        refusals=refusal_groups(asked, found.refusals if found else ()),
        notes=words.all(found.notes if found else ()),
        steps=found.steps if found else 0,
        seed=found.seed if found else 0,
        name=name,
        phase=reschedule_plan.phase_of(written).value if written else "",
        command=f"rescheduler get plans {name} -o yaml" if name else COMMAND,
        hidden_moves=len(found.moves) - len(moves) if found else 0,
    )


def plan_name(asked: Asked) -> str:
    """Of the ReschedulePlan of the last pass: the youngest with the same moves."""
    view = asked.view
    if view.decided is None or not view.decided.plan.moves:
        return ""
    if view.decided.name:
        return view.decided.name
    uids = {each.uid for each in view.decided.plan.moves}
    alike = [each for each in view.plans.values() if reschedule_plan.uids_of(each) & uids]
    youngest = max(alike, key=reschedule_plan.order_of, default=None)
    return reschedule_plan.name_of(youngest) if youngest else ""


def planned_move(asked: Asked, move: Move) -> PlannedMove:
    said = plan_documents.move(move)
    found = msgspec.convert({"group": "", **said}, PlannedMove)
    found.reason = asked.words(found.reason)
    return found


def node(each: NodeLoad) -> NodeBeforeAfter:
    return msgspec.convert(plan_documents.node(each), NodeBeforeAfter)


def refusal_groups(asked: Asked, refusals: "tuple[Refusal, ...]") -> list[RefusalGroup]:
    """By reason, those of the most pods first."""
    pods: dict[str, list[str]] = {}
    kinds: dict[str, str] = {}
    for each in refusals:
        if not asked.rights.sees(each.namespace):
            continue
        for reason in each.reasons:
            said = asked.words(reason)
            pods.setdefault(said, []).append(each.full_name)
            if said not in kinds:
                kinds[said] = refusal_kinds.kind_of(Refusal.of(each.full_name, [reason])).value
    return [
        RefusalGroup(
            reason=reason,
            kind=kinds[reason],
            count=len(pods[reason]),
            pods=pods[reason][:_MOST_NAMED],
        )
        for reason in sorted(pods, key=lambda each: (-len(pods[each]), each))
    ]


def curve(asked: Asked) -> Curve:
    """Takes as long as a plan for each of its points."""
    said = asked.questions.curve(asked.view)
    ours = {
        "now": {"limit": 0, **said["now"]},
        "decidedAt": None,
        "command": "rescheduler plan --curve",
    }
    found = msgspec.convert({**said, **ours}, Curve)
    found.decided_at = asked.view.at
    return found
