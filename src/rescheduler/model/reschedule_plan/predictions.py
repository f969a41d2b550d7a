"""How wrong the predictions of each strategy were, again and again, and what may be behind it."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from statistics import fmean
from typing import Any, Final

from rescheduler.model.objects import Object, spec
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.writing import RESOURCES, share
from rescheduler.model.usage_sources import REQUESTS

_CLOSE: Final = {REQUESTS: 1.0, "usage": 10.0}
"""By what loads are of: by so many points predictions may be wrong in the mean of the nodes. What
pods ask for is known; of what they use each sample is a draw.
"""
_SAME_DIRECTION: Final = 0.6
"""Of the mean error, without its sign: so much is the same error on all nodes."""
_MOST_STRATEGIES: Final = 16
"""That a status names: whoever wrote the plan may have named any."""
_LATEST: Final = 5
_MANY: Final = 3
"""So many of the latest plans have to fail, so that it is no accident."""


class Cause(StrEnum):
    """What may be behind it, when it does not come as predicted."""

    LOAD_CHANGED = "LoadChanged"
    """All nodes have changed alike, those that the plan left alone, too."""
    PODS_DIFFER = "PodsDiffer"
    """Nodes that gave pods lost less than was thought, or more, and those that took them gained so:
    the pods use something else than they were counted with.
    """
    UNCLEAR = "Unclear"


WORDS: Final = {
    Cause.LOAD_CHANGED: "the load of all nodes has changed meanwhile, as it does where usage moves "
    "with the time of day",
    Cause.PODS_DIFFER: "the pods use something else than they were counted with, as they do where "
    "requests are far from use",
    Cause.UNCLEAR: "why is not clear",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedNode:
    name: str
    predicted: Mapping[str, float]
    measured: Mapping[str, float]
    pods: tuple[int, int]
    disturbed: bool
    gone: bool = False
    gave: bool = False
    took: bool = False
    errors: Mapping[str, float] = field(default_factory=dict)
    """Measured minus predicted, in points, by resource."""

    @property
    def error(self) -> float:
        return max((abs(each) for each in self.errors.values()), default=0.0)


def by_strategy(
    plan: Object, counted: Sequence[JudgedNode], loads: str, others: Mapping[str, float]
) -> Iterable[dict[str, Any]]:
    limit = _CLOSE.get(loads, _CLOSE["usage"])
    for name in fields.strategies_of(plan)[:_MOST_STRATEGIES]:
        nodes = {
            node
            for each in spec(plan)["moves"]
            if (each.get("strategy") or "") == name
            for node in (each["from"], each["to"])
        }
        its_own = [each for each in counted if each.name in nodes]
        error = fmean([each.error for each in its_own]) if its_own else 0.0
        has_failed = error > limit
        yield {
            "name": name,
            "judged": len(its_own),
            "error": share(error),
            "failed": has_failed,
            **({"cause": _cause(its_own, others).value} if has_failed else {}),
        }


def _cause(nodes: Sequence[JudgedNode], others: Mapping[str, float]) -> Cause:
    worst = max(RESOURCES, key=lambda name: sum(abs(each.errors.get(name, 0.0)) for each in nodes))
    errors = [each.errors[worst] for each in nodes if worst in each.errors]
    mean, size = fmean(errors), fmean(map(abs, errors))
    # Where it has touched all nodes, there are no others to tell.
    changed = others.get(worst, mean)
    is_alike = mean * changed > 0 and abs(changed) >= abs(mean) / 2
    if is_alike and abs(mean) >= _SAME_DIRECTION * size:
        return Cause.LOAD_CHANGED
    gave = [each.errors[worst] for each in nodes if each.gave and not each.took]
    took = [each.errors[worst] for each in nodes if each.took and not each.gave]
    if gave and took and fmean(gave) * fmean(took) < 0:
        return Cause.PODS_DIFFER
    return Cause.UNCLEAR


@dataclass(frozen=True, slots=True, kw_only=True)
class Failing:
    """A strategy whose predictions fail again and again."""

    strategy: str
    failed: int
    of: int
    """Its latest plans."""
    cause: Cause

    def __str__(self) -> str:
        return (
            f"the predictions of {self.strategy} fail: {self.failed} of its last {self.of} plans "
            f"did not come as predicted; {WORDS[self.cause]}"
        )


def failing(plans: Iterable[Object]) -> dict[str, Failing]:
    """By strategy; whatever order the plans are in."""
    latest: dict[str, list[Mapping[str, Any]]] = {}
    for plan in sorted(plans, key=fields.order_of, reverse=True):
        for each in fields.observed_of(plan).get("strategies") or ():
            known = latest.setdefault(each["name"], [])
            if each.get("judged") and len(known) < _LATEST:
                known.append(each)
    found = {}
    for name, known in latest.items():
        wrong = [each for each in known if each.get("failed")]
        if len(wrong) >= _MANY:
            causes = Counter(_CAUSES.get(each.get("cause") or "", Cause.UNCLEAR) for each in wrong)
            found[name] = Failing(
                strategy=name,
                failed=len(wrong),
                of=len(known),
                cause=causes.most_common(1)[0][0],
            )
    return found


_CAUSES: Final = {each.value: each for each in Cause}
