"""A plan as a document: what is written when it is made, and how it stands afterwards."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from statistics import fmean
from typing import Any, Final

from rescheduler.model import conditions, names
from rescheduler.model.moves import Move, NodeLoad, Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.fields import Progress
from rescheduler.model.reschedule_plan.phases import Decision, Origin, Phase, Reason, State

_LONG: Final = 1024
_LONGEST: Final = 4096
_SHORT: Final = 128
_OF_ALL_MOVES: Final = 100_000
"""So many characters all reasons of a plan may have together: what etcd takes is 1.5 MiB at most,
and one whose end cannot be written never ends.
"""
_MOST_NODES: Final = 750
"""Whose loads a plan predicts: what comes of it has to find room beside them."""
RESOURCES: Final = ("cpu", "memory")
"""What loads are told of."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gains:
    """What a plan is for: the cluster before and after it."""

    summary: str = ""
    loads: str = ""
    imbalance: Sequence[tuple[str, float, float]] = ()
    """Resource, before, after."""
    overloaded: tuple[int, int] | None = None
    nodes: Sequence[NodeLoad] = ()
    """Those that a move leaves or comes to."""
    others: Mapping[str, float] = field(default_factory=dict)
    """The mean load, by resource, of those that take part and that no move touches: what changes
    there, too, the plan has not done.
    """


def gains_of(decided: Plan, moves: Iterable[Move], thresholds: Mapping[str, float]) -> Gains:
    """`thresholds`: above which a node is overloaded, in per cent, by resource."""
    touched = {node for move in moves for node in (move.source, move.target)}

    def is_above(loads: Mapping[str, float]) -> bool:
        return any(loads.get(name, 0.0) > limit for name, limit in thresholds.items())

    return Gains(
        summary=decided.summary,
        loads=decided.word,
        imbalance=[(each.resource, each.before, each.after) for each in decided.imbalances],
        overloaded=(
            sum(is_above(each.before) for each in decided.nodes),
            sum(is_above(each.after) for each in decided.nodes),
        ),
        nodes=[each for each in decided.nodes if each.node in touched],
        others=others_of(decided.nodes, touched),
    )


def others_of(nodes: Iterable[NodeLoad], touched: Collection[str]) -> dict[str, float]:
    """Before the plan."""
    found = [each.before for each in nodes if each.eligible and each.node not in touched]
    loads = {name: [each[name] for each in found if name in each] for name in RESOURCES}
    return {name: fmean(each) for name, each in loads.items() if each}


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """How it comes about."""

    origin: Origin
    mode: str
    at: datetime
    """When the cluster was looked at."""
    approved_by: str | None = None
    """None: nobody has said yes yet."""
    undoes: str = ""
    all_or_nothing: bool = False
    number: int = 0
    """Of those that are alike, and made in the same second."""


def build(namespace: str, moves: Sequence[Move], gains: Gains, made: Made) -> Document:
    """The same moves, looked at in the same moment, give the same name: so a request whose answer
    was lost can be repeated.
    """
    kept = moves[: fields.MOST_MOVES]
    left = len(moves) - len(kept)
    spec: Document = {
        "origin": made.origin.value,
        "mode": made.mode,
        "decidedAt": text_of(made.at),
        "summary": cut(gains.summary, _LONGEST),
        **({"undoes": made.undoes} if made.undoes else {}),
        **({"allOrNothing": True} if made.all_or_nothing else {}),
        "total": len(kept),
        **({"leftOut": left} if left else {}),
        "moves": [_move(each, _room(len(kept))) for each in kept],
        **_gained(gains),
    }
    said = {}
    if made.approved_by is not None:
        said = approval(Decision.APPROVED, made.approved_by, made.at)
    return {
        "apiVersion": fields.API_VERSION,
        "kind": fields.KIND,
        "metadata": {
            "name": name(kept, made),
            "namespace": namespace,
            **({"annotations": said} if said else {}),
        },
        "spec": spec,
    }


def name(moves: Sequence[Move], made: Made) -> str:
    told = [f"{each.uid}/{each.source}/{each.target}" for each in moves]
    digest = hashlib.sha256(
        "\n".join([made.origin, made.undoes, str(made.number), *told]).encode()
    ).hexdigest()
    return f"{made.origin.lower()}-{made.at.astimezone(UTC):%Y%m%d-%H%M%S}-{digest[:6]}"


def approval(decision: Decision, by: str, now: datetime) -> dict[str, str]:
    """The annotations that say so."""
    return {
        names.APPROVAL: decision.value,
        names.APPROVAL_TIME: text_of(now),
        **({names.APPROVAL_BY: by} if by else {}),
    }


def _room(moves: int) -> int:
    """For what is said of each."""
    return max(_SHORT, min(_LONG, _OF_ALL_MOVES // max(moves, 1)))


def _move(move: Move, room: int) -> Document:
    return {
        "namespace": move.namespace,
        "pod": move.pod,
        "uid": move.uid,
        "from": move.source,
        "to": move.target,
        "strategy": move.strategy,
        "reason": cut(move.reason, room),
        "way": str(move.way),
        "wave": move.wave,
        **({"asked": True} if move.asked else {}),
        **({"group": move.group} if move.group else {}),
    }


def _gained(gains: Gains) -> Document:
    found: Document = {}
    if gains.loads:
        found["loads"] = gains.loads
    if gains.imbalance:
        found["imbalance"] = [
            {"resource": resource, "before": share(before), "after": share(after)}
            for resource, before, after in gains.imbalance
        ]
    if gains.overloaded is not None:
        before, after = gains.overloaded
        found["overloaded"] = {"before": before, "after": after}
    if gains.nodes:
        found["nodes"] = [_node(each) for each in gains.nodes[:_MOST_NODES]]
    if gains.others:
        found["others"] = shares(gains.others)
    return found


def _node(node: NodeLoad) -> Document:
    return {
        "name": node.node,
        "before": {**shares(node.before), "pods": node.pods_before},
        "after": {**shares(node.after), "pods": node.pods_after},
    }


def shares(loads: Mapping[str, float]) -> Document:
    return {name: share(loads[name]) for name in RESOURCES if name in loads}


def share(percent: float) -> str:
    """As text: numbers with a fraction have no place in the API of Kubernetes."""
    return f"{max(percent, 0.0):.1f}"


# ---------------------------------------------------------------------- status


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What of a status changes; the rest stays as it is."""

    phase: Phase
    reason: Reason | str
    message: str = ""
    superseded_by: str = ""
    expires_at: datetime | None = None
    moves: Collection[Progress] | None = None
    """None: as they were."""


def status_document(plan: Object, standing: Standing, now: datetime) -> Document:
    """None where nothing is to stand any more. The same when it is written again."""
    before = fields.status_of_plan(plan)
    moves = fields.progress_of(plan).values() if standing.moves is None else standing.moves
    counts = {state: sum(each.state is state for each in moves) for state in State}
    is_running = standing.phase is Phase.RUNNING
    has_started = is_running or (standing.phase is Phase.COMPLETED)
    is_waiting = standing.phase is Phase.WAITING
    return {
        "phase": standing.phase.value,
        "reason": str(standing.reason),
        "message": cut(standing.message, _LONGEST) or None,
        "approval": _approval(plan, now),
        "expiresAt": text_of(standing.expires_at) if standing.expires_at and is_waiting else None,
        "startTime": (before.get("startTime") or text_of(now)) if has_started else None,
        "completionTime": (before.get("completionTime") or text_of(now))
        if standing.phase.is_over
        else None,
        "supersededBy": standing.superseded_by or None,
        "moved": counts[State.MOVED],
        "failed": counts[State.FAILED],
        "skipped": counts[State.SKIPPED],
        "moves": [_progress(each, _room(fields.size_of(plan))) for each in moves] or None,
        "observedGeneration": plan["metadata"].get("generation", 1),
        "conditions": [_condition(plan, standing, now)],
    }


def _approval(plan: Object, now: datetime) -> Document | None:
    """Once it is taken up it stays, whatever becomes of the annotations."""
    kept: Document | None = fields.status_of_plan(plan).get("approval") or None
    decision = fields.decision_of(plan)
    if kept is not None or decision is None:
        return kept
    by = fields.decided_by(plan)
    return {"decision": decision.value, **({"by": by} if by else {}), "time": text_of(now)}


def _progress(each: Progress, room: int) -> Document:
    kept = {key: value for key, value in (each.successor or {}).items() if value}
    return {
        "uid": each.uid,
        "state": each.state.value,
        **({"migration": each.migration} if each.migration else {}),
        **({"reason": each.reason[:63]} if each.reason else {}),
        **({"message": cut(each.message, room)} if each.message else {}),
        **({"successor": kept} if kept else {}),
    }


def _condition(plan: Object, standing: Standing, now: datetime) -> Document:
    verdict = "Unknown"
    if standing.phase.is_over:
        verdict = "True" if standing.reason == Reason.ALL_MOVED else "False"
    before = conditions.find(plan, "Completed")
    is_same = before is not None and before["status"] == verdict
    return {
        "type": "Completed",
        "status": verdict,
        "reason": str(standing.reason) or standing.phase.value,
        "message": cut(standing.message, _LONGEST),
        "lastTransitionTime": before["lastTransitionTime"] if before and is_same else text_of(now),
        "observedGeneration": plan["metadata"].get("generation", 1),
    }


def says_the_same(plan: Object, document: Mapping[str, Any]) -> bool:
    """So that nobody writes what is there already."""
    before = fields.status_of_plan(plan)
    return all((before.get(key) or None) == (value or None) for key, value in document.items())


def text_of(time: datetime) -> str:
    """As Kubernetes writes times: whole seconds, UTC."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
