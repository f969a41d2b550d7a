"""Who has to go so that a pod of higher priority can come: kube-scheduler's default preemption."""

import random
from collections.abc import Iterable
from typing import Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.scheduler.fitting import Examination, Verdicts, in_words, tally
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.kube import Object
from rescheduler.model import conditions, selectors
from rescheduler.model.objects import is_terminating

BY_SCHEDULER: Final = "PreemptionByScheduler"
_NOT_HELPFUL: Final = "Preemption is not helpful for scheduling"
_BEFORE: Final = "no new claims to deallocate, preemption: "
_NOBODY: Final = "No preemption victims found for incoming pod"
_CANDIDATES: Final = 100
"""So many are always compared; of more nodes, a tenth if that is more."""
_LOWEST: Final = 2**31


class Victims(NamedTuple):
    node: str
    pods: list[Pod]
    """The most important first."""
    violations: int
    """How many of them a PodDisruptionBudget would not let go."""


class Outcome(NamedTuple):
    victims: Victims | None
    words: str
    """What the pod is told."""
    forgets_promise: bool = False
    """The node that was promised to it is of no use any more."""


def preempt(pod: Pod, verdicts: Verdicts, state: State, chance: random.Random) -> Outcome:
    """Nobody is harmed yet."""
    count = len(state.order)
    if verdicts.nowhere:
        # As it is: a plugin that was not asked fails when it is to help, and nobody else is.
        return Outcome(None, in_words(verdicts, count, "not found"))
    problem = _not_eligible(pod, verdicts, state)
    if problem:
        return Outcome(None, in_words(verdicts, count, _BEFORE + problem))
    nodes = [
        node
        for node in state.order
        if (refusal := verdicts.refused.get(node.name)) is not None and not refusal.is_final
    ]
    reasons: dict[str, tuple[str, ...]] = {}
    found = _candidates(pod, nodes, state, chance, reasons)
    if found:
        return Outcome(min(found, key=_cost), in_words(verdicts, count, ""))
    words = tally([*reasons.values(), *([(_NOT_HELPFUL,)] * (count - len(reasons)))])
    after = f"{_BEFORE}0/{count} nodes are available: {words}."
    return Outcome(None, in_words(verdicts, count, after), forgets_promise=True)


def _not_eligible(pod: Pod, verdicts: Verdicts, state: State) -> str:
    if pod.spec.get("preemptionPolicy") == "Never":
        return "not eligible due to preemptionPolicy=Never."
    refusal = verdicts.refused.get(pod.nominated)
    node = state.nodes.get(pod.nominated)
    if node is None or (refusal is not None and refusal.is_final):
        return ""
    for other in node.pods.values():
        if other.priority < pod.priority and _goes_already(other):
            return "not eligible due to a terminating pod on the nominated node."
    return ""


def _goes_already(pod: Pod) -> bool:
    told = conditions.find(pod.raw, "DisruptionTarget")
    return (
        is_terminating(pod.raw)
        and told is not None
        and told["status"] == "True"
        and told.get("reason") == BY_SCHEDULER
    )


def _candidates(
    pod: Pod,
    nodes: list[Node],
    state: State,
    chance: random.Random,
    reasons: dict[str, tuple[str, ...]],
) -> list[Victims]:
    """`reasons`: is told why not, by node."""
    if not nodes:
        return []
    enough = min(max(len(nodes) // 10, _CANDIDATES), len(nodes))
    first = chance.randrange(len(nodes))
    budgets = list(state.store.all(wire.POD_DISRUPTION_BUDGETS))
    found: list[Victims] = []
    unharmful = 0
    for node in (*nodes[first:], *nodes[:first]):
        victims = _victims_on(node, pod, state, budgets, reasons)
        if victims is None:
            continue
        found.append(victims)
        unharmful += not victims.violations
        if unharmful and len(found) >= enough:
            break
    return found


def _victims_on(
    node: Node,
    pod: Pod,
    state: State,
    budgets: list[Object],
    reasons: dict[str, tuple[str, ...]],
) -> Victims | None:
    lower = [each for each in node.pods.values() if each.priority < pod.priority]
    if not lower:
        reasons[node.name] = (_NOBODY,)
        return None
    for each in lower:
        state.take_out(each)
    away = {each.key: each for each in lower}
    try:
        problem = _why_not(pod, node, state)
        if problem is not None:
            reasons[node.name] = problem
            return None
        # As many as possible stay, the most important first; but before all of them those whose
        # budget would be violated.
        guarded, others = _guarded(sorted(lower, key=_importance), budgets)
        victims, violations = [], 0
        for each in (*guarded, *others):
            state.add(each, node.name)
            del away[each.key]
            if _why_not(pod, node, state) is not None:
                state.take_out(each)
                away[each.key] = each
                victims.append(each)
                violations += each in guarded
        if not victims:
            # An extender refuses the node: it is no matter of room.
            reasons[node.name] = (_NOBODY,)
            return None
        return Victims(node.name, sorted(victims, key=_importance), violations)
    finally:
        for each in away.values():
            state.add(each, node.name)


def _why_not(pod: Pod, node: Node, state: State) -> tuple[str, ...] | None:
    examination = Examination(pod, state)
    problem = examination.nowhere or examination.why_not(node)
    return None if problem is None else problem.reasons


def _importance(pod: Pod) -> tuple[int, str]:
    """The smaller, the more important: by priority, then by how long it has run."""
    return -pod.priority, (pod.raw.get("status") or {}).get("startTime") or "9"


def _guarded(pods: Iterable[Pod], budgets: list[Object]) -> tuple[list[Pod], list[Pod]]:
    """Those whose going a budget does not allow, one after the other, and the others."""
    left = [(each.get("status") or {}).get("disruptionsAllowed") or 0 for each in budgets]
    guarded: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        is_violated = False
        for place, budget in enumerate(budgets):
            if not _covers(budget, pod):
                continue
            left[place] -= 1
            is_violated = is_violated or left[place] < 0
        (guarded if is_violated else others).append(pod)
    return guarded, others


def _covers(budget: Object, pod: Pod) -> bool:
    status = budget.get("status") or {}
    if budget["metadata"]["namespace"] != pod.namespace or not pod.labels:
        return False
    if pod.key[1] in (status.get("disruptedPods") or {}):
        return False
    selector = selectors.from_object(budget["spec"].get("selector"))
    return bool(selector.requirements) and selector.matches(pod.labels)


def _cost(victims: Victims) -> tuple[int, int, int, int, str]:
    pods = victims.pods
    highest = pods[0].priority if pods else -_LOWEST
    started = min((_importance(each)[1] for each in pods if each.priority == highest), default="")
    return (
        victims.violations,
        highest,
        sum(each.priority + _LOWEST for each in pods),
        len(pods),
        # The latest is the best.
        "".join(chr(0x7F - ord(letter)) for letter in started),
    )
