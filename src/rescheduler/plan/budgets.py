"""PodDisruptionBudgets: whether one holds a pod where it is.

A surge asks less of a budget than an eviction does: the copy is healthy before the pod goes, so a
budget that allows no disruption lets it pass as long as it has all that it wants.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from rescheduler.model import conditions, selectors
from rescheduler.model.moves import Passing, Way
from rescheduler.model.objects import Object, spec
from rescheduler.model.selectors import Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.gaps import why_unknown

SOURCE: Final = "poddisruptionbudgets"

# How a pod is, as far as budgets go by it. Plain numbers: asked of every pod.
READY: Final = 0
UNREADY: Final = 1
PENDING: Final = 2
"""No budget is asked about it."""

_Pair = tuple[str, str]
"""Name and value of a label."""


class _Budget:
    def __init__(self, name: str, raw: Object) -> None:
        self.name = name
        self.raw = raw

    def matches(self, labels: Mapping[str, str]) -> bool:
        selector = spec(self.raw).get("selector")
        if selector and not selector.get("matchExpressions"):
            # As most are: to parse it would take longer than all the rest.
            asked = selector.get("matchLabels") or {}
            return all(labels.get(key) == value for key, value in asked.items())
        return self._selector.matches(labels)

    @cached_property
    def _selector(self) -> Selector:
        try:
            return selectors.from_object(spec(self.raw).get("selector"))
        except selectors.InvalidSelectorError:
            return selectors.NOTHING  # as the server has it when it is asked to evict


class Budgets:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._indexed: dict[str, Mapping[_Pair | None, list[_Budget]]] = {}
        """By namespace, of those that were asked about."""

    def why_held(
        self,
        namespace: str,
        labels: Mapping[str, str],
        way: Way,
        health: int = READY,
    ) -> tuple[str, ...]:
        if self._unknown:
            return (f"its PodDisruptionBudgets are not known: {self._unknown}",)
        found = self._matching(namespace, labels)
        if len(found) > 1:
            names = ", ".join(each.name for each in found)
            return (f"no eviction passes more than one PodDisruptionBudget: {names}",)
        if found and (problem := _problem(found[0].raw, way, health)):
            return (_named(found[0].name, problem),)
        return ()

    def allowed(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, int]:
        """The name of the budget of such pods, and how many may be missing; none: no budget."""
        found = self._matching(namespace, labels)
        if not found:
            return "", 0
        return found[0].name, (found[0].raw.get("status") or {}).get("disruptionsAllowed", 0)

    def names(self, namespace: str, labels: Mapping[str, str]) -> list[str]:
        """Of all that select such pods."""
        return [each.name for each in self._matching(namespace, labels)]

    @cached_property
    def _unknown(self) -> str:
        return why_unknown(self._snapshot, SOURCE)

    def _matching(self, namespace: str, labels: Mapping[str, str]) -> list[_Budget]:
        """In order of their names."""
        if namespace not in self._all:
            return []
        if namespace not in self._indexed:
            self._indexed[namespace] = _index(self._all[namespace])
        indexed = self._indexed[namespace]
        found = [
            each
            for key in (None, *labels.items())
            for each in indexed.get(key, ())
            if each.matches(labels)
        ]
        return sorted(found, key=lambda each: each.name)

    @cached_property
    def _all(self) -> Mapping[str, list[tuple[str, Object]]]:
        """By namespace, with their names."""
        found: defaultdict[str, list[tuple[str, Object]]] = defaultdict(list)
        for (namespace, name), raw in self._snapshot.objects.get(SOURCE, {}).items():
            found[namespace].append((name, raw))
        return found


def _index(budgets: Iterable[tuple[str, Object]]) -> Mapping[_Pair | None, list[_Budget]]:
    """By a label that their pods must have: there may be thousands of them, each for one workload.
    None: of those that ask for no single label.
    """
    found: dict[_Pair | None, list[_Budget]] = {}
    for name, raw in budgets:
        asked = (spec(raw).get("selector") or {}).get("matchLabels") or {}
        found.setdefault(next(iter(asked.items()), None), []).append(_Budget(name, raw))
    return found


def _problem(raw: Object, way: Way, health: int) -> str:
    status = raw.get("status") or {}
    if health == PENDING or (health == UNREADY and _lets_unready_go(raw)):
        return ""
    if status.get("observedGeneration", 0) < raw["metadata"].get("generation", 0):
        return Passing("it is new or changed, and not counted yet")
    verdict = conditions.find(raw, "DisruptionAllowed")
    if verdict is not None and verdict.get("reason") == "SyncFailed":
        return "its controller cannot count its pods"
    if status.get("disruptionsAllowed", 0) > 0:
        return ""
    healthy, wanted = status.get("currentHealthy", 0), status.get("desiredHealthy", 0)
    if status.get("expectedPods", 0) <= 0:
        return "it counts no pods, and so allows no disruption ever"
    if healthy < wanted:
        act = f" (or {_ALWAYS})" if health == UNREADY else ""
        return Passing(f"{healthy} of {wanted} healthy, a move needs {wanted}{act}")
    if way is Way.RECREATE:
        return Passing(f"{healthy} of {wanted} healthy, to recreate one needs {wanted + 1}")
    return ""


def _named(name: str, problem: str) -> str:
    words = f"its PodDisruptionBudget {name}: {problem}"
    return Passing(words) if isinstance(problem, Passing) else words


_POLICY: Final = "unhealthyPodEvictionPolicy"
_ALWAYS: Final = f"{_POLICY}: AlwaysAllow"


def _lets_unready_go(raw: Object) -> bool:
    """As the API server asks it when such a pod is to be evicted."""
    status = raw.get("status") or {}
    if spec(raw).get(_POLICY) == "AlwaysAllow":
        return True
    return bool(status.get("currentHealthy", 0) >= status.get("desiredHealthy", 0) > 0)
