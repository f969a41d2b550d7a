"""ResourceQuotas: whether there is room for a second pod while a pod is moved.

The copy is charged when it is created, and the pod that it replaces until it is gone. As
k8s.io/kubernetes/pkg/quota/v1/evaluator/core/pods.go counts.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rescheduler.model import quantities, resources, selectors
from rescheduler.model.moves import Passing, Way
from rescheduler.model.objects import Object
from rescheduler.model.resources import CPU, MEMORY, Resources
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.gaps import why_unknown

SOURCE: Final = "resourcequotas"

_NANOS: Final = 10**9
_PODS: Final = ("pods", "count/pods")
_REQUESTS: Final = "requests."
_LIMITS: Final = "limits."
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


class Asked:
    """What one more pod is charged, and what quotas tell pods apart by: read when it is asked."""

    def __init__(self, requests: Resources, spec: Object, *, may_have_deadline: bool) -> None:
        self._requests = requests
        self._spec = spec
        self.may_have_deadline = may_have_deadline
        """Of a ReplicaSet's pods none has one; of others it is not known."""

    def nanos(self, name: str) -> int:
        """In billionths, by the name that a quota has for it; 0: it takes nothing of it."""
        if name in _PODS:
            return _NANOS
        if name.startswith(_LIMITS):
            return _billionths(self._limits, name.removeprefix(_LIMITS))
        # `cpu` alone means requests, too; and a pod asks for no `services` or `requests.storage`.
        return _billionths(self._requests, name.removeprefix(_REQUESTS))

    @property
    def is_best_effort(self) -> bool:
        asked = (self._requests, self._limits)
        return not any(each.get(name) for each in asked for name in (CPU, MEMORY))

    @property
    def priority_class(self) -> str:
        return self._spec.get("priorityClassName") or ""

    @property
    def crosses_namespaces(self) -> bool:
        """Its affinity speaks of pods in other namespaces."""
        return any(
            term.get("namespaces") or term.get("namespaceSelector") is not None
            for term in _affinity_terms(self._spec)
        )

    @cached_property
    def _limits(self) -> Resources:
        """Limits add up as requests do."""
        spec = self._spec
        return resources.of_pod(
            {
                **spec,
                "containers": [_limited(each) for each in spec.get("containers") or ()],
                "initContainers": [_limited(each) for each in spec.get("initContainers") or ()],
                "resources": _limited(spec)["resources"],
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Quota:
    name: str
    scopes: tuple[tuple[str, str, tuple[str, ...]], ...]
    """Name, operator and values; all of them must hold for a pod to be counted."""
    left: Mapping[str, int | None]
    """By resource, in billionths; None: it was not counted yet, or nobody can read it."""
    raw: Object

    def why_no_room(self, asked: Asked, *, second: bool = True) -> str:
        """For a second pod, or else for one in place of another."""
        if not self.counts(asked):
            return ""
        short = [
            name
            for name, left in self.left.items()
            if (amount := asked.nanos(name)) and (left is None or second * amount > left)
        ]
        return "; ".join(map(self._words, short))

    def counts(self, asked: Asked) -> bool:
        return all(_is_in_scope(*each, asked) for each in self.scopes)

    def _words(self, name: str) -> str:
        if self.left[name] is None:
            return f"what is used of {name} is not known"
        used, hard = self.raw["status"]["used"][name], self.raw["spec"]["hard"][name]
        return f"{name}, {used} of {hard} used"


class Quotas:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    def apply_in(self, namespace: str) -> bool:
        return bool(self._unknown) or namespace in self._quotas

    def why_no_room(self, namespace: str, asked: Asked) -> tuple[str, ...]:
        """Every quota that is known to have no room for a second pod such as this."""
        return tuple(
            Passing(f"ResourceQuota {quota.name} has no room for a second pod: {problem}")
            for quota in self._quotas.get(namespace, ())
            if (problem := quota.why_no_room(asked))
        )

    def why_held(self, namespace: str, asked: Asked, way: Way) -> tuple[str, ...]:
        """Every quota that would not let its successor in. Who is gone by then has left its share,
        but a quota may have been cut since.
        """
        if way is Way.SURGE:
            if self._unknown:
                return (f"the ResourceQuotas of its namespace are not known: {self._unknown}",)
            return self.why_no_room(namespace, asked)
        return tuple(
            Passing(f"ResourceQuota {quota.name} would not let its successor in: {problem}")
            for quota in self._quotas.get(namespace, ())
            if (problem := quota.why_no_room(asked, second=False))
        )

    def ledger(self) -> "Ledger":
        return Ledger(self._quotas)

    @cached_property
    def _unknown(self) -> str:
        return why_unknown(self._snapshot, SOURCE)

    @cached_property
    def _quotas(self) -> Mapping[str, list[_Quota]]:
        """By namespace, in order of their names."""
        found: dict[str, list[_Quota]] = {}
        for (namespace, name), raw in sorted(self._snapshot.objects.get(SOURCE, {}).items()):
            if (raw.get("spec") or {}).get("hard"):
                found.setdefault(namespace, []).append(_read(name, raw))
        return found


class Ledger:
    """Second pods that are there at the same time, and what they leave of every quota."""

    def __init__(self, quotas: Mapping[str, list[_Quota]]) -> None:
        self._quotas = quotas
        self._taken: Counter[tuple[str, str, str]] = Counter()
        """By namespace, quota and resource, in billionths."""

    def copy(self) -> "Ledger":
        made = Ledger(self._quotas)
        made._taken = self._taken.copy()
        return made

    def has_room(self, namespace: str, asked: Asked) -> bool:
        return all(
            left is not None and self._taken[namespace, quota, name] + amount <= left
            for quota, name, left, amount in self._counted(namespace, asked)
        )

    def charge(self, namespace: str, asked: Asked) -> None:
        for quota, name, _, amount in self._counted(namespace, asked):
            self._taken[namespace, quota, name] += amount

    def _counted(self, namespace: str, asked: Asked) -> Iterable[tuple[str, str, int | None, int]]:
        for quota in self._quotas.get(namespace, ()):
            if quota.counts(asked):
                for name, left in quota.left.items():
                    if amount := asked.nanos(name):
                        yield quota.name, name, left, amount


def _read(quota: str, raw: Object) -> _Quota:
    spec, used = raw["spec"], (raw.get("status") or {}).get("used") or {}
    scopes = [(scope, "Exists", ()) for scope in spec.get("scopes") or ()]
    for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        values = tuple(each.get("values") or ())
        scopes.append((each.get("scopeName", ""), each.get("operator", ""), values))
    left = {name: _left(hard, used.get(name)) for name, hard in sorted(spec["hard"].items())}
    return _Quota(name=quota, scopes=tuple(scopes), left=left, raw=raw)


def _left(hard: str, used: str | None) -> int | None:
    if used is None:
        return None
    try:
        return quantities.nanos(hard) - quantities.nanos(used)
    except ValueError:
        return None


# ------------------------------------------------------------------ which pods a quota is about


def _is_in_scope(scope: str, operator: str, values: tuple[str, ...], asked: Asked) -> bool:
    match scope:
        case "Terminating":
            return asked.may_have_deadline
        case "BestEffort":
            return asked.is_best_effort
        case "NotBestEffort":
            return not asked.is_best_effort
        case "CrossNamespacePodAffinity":
            return asked.crosses_namespaces
        case "PriorityClass":
            return _is_of_class(asked.priority_class, operator, values)
    # NotTerminating, or one that we do not know: better one quota too many than one too few.
    return True


def _is_of_class(name: str, operator: str, values: tuple[str, ...]) -> bool:
    expression = {"key": "class", "operator": operator, "values": list(values)}
    try:
        selector = selectors.from_object({"matchExpressions": [expression]})
    except selectors.InvalidSelectorError:
        return True
    return selector.matches({"class": name} if name else {})


# ------------------------------------------------------------------ what a pod is charged


def _billionths(amounts: Resources, name: str) -> int:
    return amounts.get(name, 0) * (_NANOS // 1000 if name == CPU else _NANOS)


def _limited(holder: Object) -> dict[str, Any]:
    limits = (holder.get("resources") or {}).get("limits") or {}
    return {**holder, "resources": {"requests": limits}}


def _affinity_terms(spec: Object) -> Iterable[Object]:
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(kind) or {}
        yield from terms.get(_REQUIRED) or ()
        for each in terms.get(_PREFERRED) or ():
            yield each.get("podAffinityTerm") or {}
