"""What came of what a plan promised: loads as predicted and as measured, and pods that moved again.

A node is judged when all that changed on it is what the plan has done. Where other pods came or
left meanwhile, a move of it was not made, or it is gone, the prediction was not of what there is.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import fmean
from typing import Any, Final

from rescheduler.model import conditions
from rescheduler.model.moves import NodeLoad
from rescheduler.model.objects import Object, is_terminating, spec
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.phases import Phase, State
from rescheduler.model.reschedule_plan.predictions import WORDS, JudgedNode, by_strategy
from rescheduler.model.reschedule_plan.writing import (
    RESOURCES,
    cut,
    others_of,
    share,
    shares,
    text_of,
)
from rescheduler.model.usage_sources import REQUESTS

HORIZON_SECONDS: Final = 3600.0
"""After its end: a pod that moves again within it was moved in vain, and what is measured later
says nothing about the plan.
"""
MOST_NODES: Final = 100
"""That a status names: those that were furthest from what was predicted."""
_SETTLED_SECONDS: Final = 2.0
"""Before that it may be that not all of what it did is seen yet."""
_TEXT: Final = 1024
_NAMED: Final = 3


class Verdict(StrEnum):
    AS_PREDICTED = "AsPredicted"
    NOT_AS_PREDICTED = "NotAsPredicted"
    DISTURBED = "Disturbed"
    """Nothing can be said: each of its nodes is gone, or something else happened on it."""
    NOT_COVERED = "NotCovered"
    """Nothing can be said: no fresh figures came within the hour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """The cluster as a later pass sees it, before it does anything."""

    at: datetime
    loads: str
    """What they are of, as in a plan."""
    nodes: Mapping[str, NodeLoad]
    """What counts is `before`."""
    imbalance: Mapping[str, float]
    since: Mapping[str, float]
    """By node, in Unix seconds: all that is known of it was measured later. Not there: unknown."""
    strangers: Collection[str] = ()
    """Nodes with pods that are younger than the plan, and none of its own."""


# ---------------------------------------------------------------------- whether it is time


def awaits_loads(plan: Object) -> bool:
    return _counts(plan) and not fields.observed_of(plan)


def awaits_bounces(plan: Object) -> bool:
    found = fields.observed_of(plan)
    return _counts(plan) and not found.get("final")


def _counts(plan: Object) -> bool:
    is_completed = fields.phase_of(plan) is Phase.COMPLETED and not is_terminating(plan)
    return is_completed and fields.counts_of(plan)[0] > 0


def touched(plan: Object) -> frozenset[str]:
    return frozenset(each["name"] for each in spec(plan).get("nodes") or ())


def successors_of(plan: Object) -> frozenset[str]:
    """UIDs of the pods that its moves have made."""
    found: Sequence[Mapping[str, Any]] = fields.status_of_plan(plan).get("moves") or ()
    uids = (str((each.get("successor") or {}).get("uid") or "") for each in found)
    return frozenset(filter(None, uids))


def decided_at(plan: Object) -> datetime | None:
    return fields.time_of(spec(plan).get("decidedAt")) or fields.created_at(plan)


# ---------------------------------------------------------------------- predicted and measured


def look(plan: Object, seen: Seen) -> dict[str, Any] | None:
    """What its status says from now on; None: it is too early to tell."""
    ended = fields.ended_at(plan)
    if ended is None:
        return None
    names, until = touched(plan), ended + timedelta(seconds=HORIZON_SECONDS)
    # Of one that is gone no figures come any more: whoever empties nodes has them taken away.
    missing = [each for each in names & seen.nodes.keys() if not _is_covered(each, ended, seen)]
    if seen.at < until and (missing or not names):
        # Of plans that predict nothing, bounces are all that there is to say.
        return None if names else _nothing(seen, until, "the plan predicts no loads")
    is_late = seen.at >= until and seen.loads != REQUESTS
    if missing or not names or is_late or seen.loads != spec(plan).get("loads"):
        return _nothing(seen, until, _why_not_covered(plan, missing, seen))
    roles = _roles(plan)
    judged = [_judged(each, roles[each["name"]], seen) for each in spec(plan)["nodes"]]
    counted = [each for each in judged if not each.disturbed]
    if len(counted) < len(judged) and (seen.at - ended).total_seconds() < _SETTLED_SECONDS:
        return None
    others = _others_changed(plan, seen)
    strategies = list(by_strategy(plan, counted, seen.loads, others))
    failed = [each for each in strategies if each["failed"]]
    verdict = Verdict.NOT_AS_PREDICTED if failed else Verdict.AS_PREDICTED
    if not counted:
        verdict = Verdict.DISTURBED
    worst = sorted(judged, key=lambda each: (each.disturbed, -each.error, each.name))
    found: dict[str, Any] = {
        "time": text_of(seen.at),
        "verdict": verdict.value,
        "message": _in_words(verdict, counted, len(judged), failed),
        "loads": seen.loads,
        "imbalance": [
            {"resource": each["resource"], "predicted": each["after"], "measured": share(measured)}
            for each in spec(plan).get("imbalance") or ()
            if (measured := seen.imbalance.get(each["resource"])) is not None
        ],
        "error": _errors(counted, fmean),
        "largestError": _errors(counted, max),
        "othersChanged": {name: signed(points) for name, points in others.items()},
        "judged": len(counted),
        "disturbed": len(judged) - len(counted),
        "nodes": [_node(each) for each in worst[:MOST_NODES]],
        "strategies": strategies,
        "bounces": 0,
        "bouncesUntil": text_of(until),
    }
    return {key: value for key, value in found.items() if value or key in _ALWAYS}


_ALWAYS: Final = ("judged", "disturbed", "bounces")


def _is_covered(node: str, ended: datetime, seen: Seen) -> bool:
    known = seen.since.get(node)
    # Times of objects are cut to whole seconds. Who counts requests counts the pods that are there.
    cut_off = 0.0 if seen.loads == REQUESTS else 1.0
    return known is not None and known >= ended.timestamp() + cut_off


def _nothing(seen: Seen, until: datetime, why: str) -> dict[str, Any]:
    return {
        "time": text_of(seen.at),
        "verdict": Verdict.NOT_COVERED.value,
        "message": why,
        "judged": 0,
        "disturbed": 0,
        "bounces": 0,
        "bouncesUntil": text_of(until),
    }


def _why_not_covered(plan: Object, missing: Collection[str], seen: Seen) -> str:
    predicted = spec(plan).get("loads") or REQUESTS
    if not missing and predicted != seen.loads:
        return f"it was predicted by {predicted}, and is seen by {seen.loads}"
    if not missing:
        return "nobody looked within an hour after its end"
    named = ", ".join(sorted(missing)[:_NAMED])
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    return cut(f"within an hour after its end no fresh figures came of {named}{more}", _TEXT)


@dataclass(slots=True)
class _Role:
    """Of a node in a plan."""

    gave: bool = False
    took: bool = False
    is_broken: bool = False
    """A pod has left it or come to it otherwise than was planned."""


def _roles(plan: Object) -> Mapping[str, _Role]:
    progress, found = fields.progress_of(plan), defaultdict[str, _Role](_Role)
    for each in spec(plan)["moves"]:
        source, target, known = each["from"], each["to"], progress.get(each["uid"])
        found[source].gave = found[target].took = True
        if known is None or known.state is not State.MOVED:
            found[source].is_broken = found[target].is_broken = True
        elif (landed := (known.successor or {}).get("node") or target) != target:
            found[landed].is_broken = found[target].is_broken = True
    return found


def _judged(node: Mapping[str, Any], role: _Role, seen: Seen) -> JudgedNode:
    name, after = node["name"], node.get("after") or {}
    now = seen.nodes.get(name)
    found = now.before if now is not None else {}
    predicted = {each: float(after[each]) for each in RESOURCES if each in after}
    measured = {each: found[each] for each in RESOURCES if each in found}
    pods = (int(after.get("pods") or 0), now.pods_before if now is not None else 0)
    is_other = now is None or name in seen.strangers or pods[0] != pods[1]
    return JudgedNode(
        name=name,
        predicted=predicted,
        measured=measured,
        pods=pods,
        disturbed=role.is_broken or is_other or not predicted,
        gone=now is None,
        gave=role.gave,
        took=role.took,
        # As they are written: what was predicted has one digit, and what is right has no error.
        errors={
            each: round(round(measured[each], 1) - predicted[each], 1)
            for each in predicted.keys() & measured.keys()
        },
    )


def _node(each: JudgedNode) -> dict[str, Any]:
    return {
        "name": each.name,
        "predicted": {**shares(each.predicted), "pods": each.pods[0]},
        **({} if each.gone else {"measured": {**shares(each.measured), "pods": each.pods[1]}}),
        **({"disturbed": True} if each.disturbed else {}),
    }


def _errors(counted: Sequence[JudgedNode], of: Any) -> dict[str, str]:  # noqa: ANN401 - max, or a mean
    by_resource = {
        name: [abs(each.errors[name]) for each in counted if name in each.errors]
        for name in RESOURCES
    }
    return {name: share(of(errors)) for name, errors in by_resource.items() if errors}


def signed(points: float) -> str:
    return f"{points:+.1f}"


def _in_words(
    verdict: Verdict,
    counted: Sequence[JudgedNode],
    number: int,
    failed: Sequence[Mapping[str, Any]],
) -> str:
    if verdict is Verdict.DISTURBED:
        return (
            f"each of its {number} nodes is gone, or other pods came or left there, or a move was "
            "not made"
        )
    errors = _errors(counted, fmean)
    told = ", ".join(f"{name} {points}" for name, points in errors.items())
    words = f"{len(counted)} of {number} nodes: {told} points from what was predicted, in the mean"
    for each in failed:
        words += f"; {each['name']}: {WORDS[each['cause']]}"
    return cut(words, _TEXT)


def _others_changed(plan: Object, seen: Seen) -> dict[str, float]:
    """In points, by resource: nodes that the plan has left alone, in the mean."""
    before: Mapping[str, str] = spec(plan).get("others") or {}
    now = others_of(seen.nodes.values(), touched(plan))
    return {
        name: now[name] - float(before[name]) for name in RESOURCES if name in {*before} & {*now}
    }


# ---------------------------------------------------------------------- again within the hour


def with_bounces(plan: Object, bounces: int, now: datetime) -> dict[str, Any]:
    """What its status says from now on. What was counted once stays so: records are deleted."""
    found, ended = dict(fields.observed_of(plan)), fields.ended_at(plan)
    found["bounces"] = max(int(found.get("bounces") or 0), bounces)
    if ended is None or now >= ended + timedelta(seconds=HORIZON_SECONDS):
        found["final"] = True
    return found


def is_bounce(plan: Object, moved_at: datetime | None) -> bool:
    """Of a pod that it has moved: that it was moved again then."""
    ended = fields.ended_at(plan)
    if moved_at is None or ended is None:
        return False
    return moved_at <= ended + timedelta(seconds=HORIZON_SECONDS)


# ---------------------------------------------------------------------- as a status


_CAME_TRUE: Final = {Verdict.AS_PREDICTED.value: "True", Verdict.NOT_AS_PREDICTED.value: "False"}


def observed_status(plan: Object, observed: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """What of the status changes."""
    verdict = str(observed["verdict"])
    status = _CAME_TRUE.get(verdict, "Unknown")
    before = conditions.find(plan, "Predicted")
    is_same = before is not None and before["status"] == status
    predicted = {
        "type": "Predicted",
        "status": status,
        "reason": verdict,
        "message": observed.get("message") or "",
        "lastTransitionTime": before["lastTransitionTime"] if before and is_same else text_of(now),
        "observedGeneration": plan["metadata"].get("generation", 1),
    }
    kept = [
        each
        for each in fields.status_of_plan(plan).get("conditions") or ()
        if each["type"] != "Predicted"
    ]
    return {"observed": dict(observed), "conditions": [*kept, predicted]}
