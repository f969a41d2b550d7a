"""All rules about one pod, put together.

Asked about thousands of pods in every pass, so all that alike pods have in common is judged once:
by class, by labels of its own, and by owner.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from rescheduler.config import NEVER, WHEN_ASKED, Configuration, durations
from rescheduler.model import names
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import NONE, PHASES, Flag
from rescheduler.model.moves import Way
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import budgets, quotas, records
from rescheduler.plan.gaps import why_unknown
from rescheduler.plan.history import History
from rescheduler.plan.movable import claims, owners, specs, ways, withholding
from rescheduler.plan.movable.specs import SpecFacts
from rescheduler.plan.movable.ways import Verdict
from rescheduler.plan.movable.withholding import Withholding
from rescheduler.plan.records import Records

NEEDS: Final = frozenset(
    {
        "namespaces",
        "replicasets",
        "deployments",
        "statefulsets",
        "jobs",
        owners.AUTOSCALERS,
        budgets.SOURCE,
        quotas.SOURCE,
        claims.SOURCE,
    }
)
"""The resources that these rules look at. What of it is not known keeps those where they are whom
it may concern.
"""
WELCOME: Final = frozenset({records.SOURCE, withholding.SOURCE})
"""Looked at where they are to be had: who cannot see them plans without."""

# Plain numbers: the operators of an enumeration cost as much as all the rest.
_READY: Final = int(Flag.READY)
_TERMINATING: Final = int(Flag.TERMINATING)
_LEAVING: Final = int(Flag.LEAVING)
_ASSUMED: Final = int(Flag.ASSUMED)
_STATE: Final = _READY | _TERMINATING | _LEAVING | _ASSUMED
_RUNNING: Final = PHASES.index("Running")


class Neighbours(Protocol):
    def why_stuck(self, row: int) -> tuple[str, ...]:
        """Rules of others that hold this pod where it is."""

    def why_no_copy(self, row: int) -> str:
        """Why the scheduler would not judge a copy of it as it judges the pod; empty: it would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """What holds for all pods of a class, with the same labels of their own and the same owner."""

    reasons: tuple[str, ...]
    verdict: Verdict
    is_being_moved: bool


class Movable:
    def __init__(
        self, snapshot: Snapshot, configuration: Configuration, placement: Neighbours
    ) -> None:
        self.history = History(snapshot, configuration.stability.cooldown)
        self._snapshot = snapshot
        self._configuration = configuration
        self._placement = placement
        self._owners = owners.Owners(snapshot, configuration)
        self._withholding = Withholding(snapshot)
        self._budgets = budgets.Budgets(snapshot)
        self.quotas = quotas.Quotas(snapshot)
        self.records = Records(snapshot, configuration)
        self._alike_pods: dict[tuple[int, int, int, str, str], _Alike] = {}
        self._facts_by_class: dict[int, SpecFacts] = {}
        self._facts_by_owner: dict[tuple[str, int], owners.OwnerFacts] = {}
        self._specs: dict[int, Object] = {}
        """By number of their template, decoded."""
        self._namespaces: dict[str, tuple[str, ...]] = {}

    def way(self, row: int) -> Way:
        return self._alike(row).verdict.way

    def why_interrupted(self, row: int) -> str:
        """Why it has to end before its successor begins; empty: both can be there."""
        return self._alike(row).verdict.interrupts

    def why_it_stays(
        self, row: int, *, asked: bool = False, begun: bool = False
    ) -> tuple[str, ...]:
        """Every reason why this pod must not move, wherever to; none: it may.

        A move that somebody asked for waits for no cooldown and no age. One that is begun was not
        to wait for anything, and its own marks and records are no reason to end it.
        """
        alike = self._alike(row)
        reasons = [*alike.reasons, *self._of_its_own(row)]
        verdict = alike.verdict
        if verdict.interrupts and not verdict.is_decided:
            reasons += self._interruption(verdict.interrupts, asked=asked)
        if alike.is_being_moved and not begun:
            reasons.append("it is being moved already")
        if self.records:
            reasons += () if begun else self.records.why_it_waits(row)
            reasons += self.records.why_its_workload_waits(row)
        if not asked and not begun:
            reasons += self._too_young(row)
            reasons += self.history.why_it_rests(row, interrupts=bool(verdict.interrupts))
        reasons += self._placement.why_stuck(row)
        return tuple(dict.fromkeys(reasons))

    # ------------------------------------------------------------------ one by one

    def _of_its_own(self, row: int) -> list[str]:
        pods = self._snapshot.pods
        reasons: list[str] = []
        flags = int(pods.flags[row])
        if flags & _STATE != _READY or pods.phase[row] != _RUNNING:
            reasons += _state(flags)
        elif self._snapshot.node_of_pod[row] == NONE:
            reasons.append("its node is not there")
        if row in pods.annotations:
            reasons += self._annotations(row, pods.annotations[row])
        if row in pods.claims:
            namespace = self._snapshot.class_of(row).namespace
            reasons += claims.why_held(self._snapshot, namespace, self._claims(row))
        return reasons

    def _annotations(self, row: int, annotations: Mapping[str, str]) -> Iterable[str]:
        if names.MIRROR_POD in annotations:
            yield "it is a static pod"
        if annotations.get(names.SAFE_TO_EVICT) == "false":
            yield f"its annotation {names.SAFE_TO_EVICT} keeps it out"
        if self._is_undisturbed(row, annotations.get(names.DO_NOT_DISRUPT, "")):
            yield f"its annotation {names.DO_NOT_DISRUPT} keeps it out"

    def _is_undisturbed(self, row: int, told: str) -> bool:
        """For ever, or for some time since it began, as karpenter reads it."""
        if told == "true":
            return True
        try:
            seconds = durations.parse_nanoseconds(told) / durations.SECOND
        except ValueError:
            return False
        age = self._age(row)
        return seconds > 0 and (age is None or age < seconds)

    def _claims(self, row: int) -> tuple[str, ...]:
        return self._snapshot.lasting_claims_of(row)

    def _interruption(self, why: str, *, asked: bool) -> list[str]:
        setting = self._configuration.pods.interruptions
        if setting == NEVER or (setting == WHEN_ASKED and not asked):
            return [f"its move would interrupt it, and pods.interruptions is {setting}: {why}"]
        return []

    def _too_young(self, row: int) -> list[str]:
        youngest = self._configuration.pods.min_pod_age_seconds
        age = self._age(row) if youngest else None
        return [] if age is None or age >= youngest else ["it is younger than pods.minPodAge"]

    def _age(self, row: int) -> float | None:
        """In seconds; None: nobody knows."""
        began = int(self._snapshot.pods.started[row] or self._snapshot.pods.created[row])
        return self._snapshot.taken_at - began if self._snapshot.taken_at and began else None

    # ------------------------------------------------------------------ all alike

    def _alike(self, row: int) -> _Alike:
        pods = self._snapshot.pods
        exclusive = ""
        if row in pods.claims:
            namespace = self._snapshot.class_of(row).namespace
            exclusive = claims.why_exclusive(self._snapshot, namespace, self._claims(row))
        told = ways.annotated(pods.annotations[row]) if row in pods.annotations else ""
        key = (
            int(pods.pod_class[row]),
            int(pods.own_labels[row]),
            int(pods.owner[row]),
            exclusive,
            told,
        )
        known = self._alike_pods.get(key)
        if known is None:
            known = self._judge(row, exclusive, told)
            self._alike_pods[key] = known
        return known

    def _judge(self, row: int, exclusive: str, told: str) -> _Alike:
        snapshot = self._snapshot
        pod_class = snapshot.class_of(row)
        labels = {**pod_class.labels, **snapshot.own_labels_of(row)}
        of_spec, of_owner = self._facts(row), self._of_owner(row)
        is_bare = bool(snapshot.pods.owner[row] == NONE)
        charged = self.charged(row)
        verdict = ways.choose(
            of_owner.interrupts
            or exclusive
            or of_spec.interrupts
            or self._withholding.why_none(row)
            or self._placement.why_no_copy(row)
            or (self._no_second(row, charged) if charged and not is_bare else ""),
            told,
            self._configuration.migration.way,
            is_bare=is_bare,
        )
        reasons = [
            *self._of_namespace(pod_class.namespace),
            *self._priority(row),
            *self._of_labels(labels),
            *of_owner.reasons,
            *self._of_bare(row),
            *of_spec.reasons,
            *verdict.reasons,
            *self._budgets.why_held(pod_class.namespace, labels, verdict.way),
            *(self.quotas.why_held(pod_class.namespace, charged, verdict.way) if charged else ()),
        ]
        return _Alike(
            reasons=tuple(reasons),
            verdict=verdict,
            is_being_moved=labels.get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS,
        )

    def _of_namespace(self, namespace: str) -> tuple[str, ...]:
        if namespace not in self._namespaces:
            self._namespaces[namespace] = tuple(self._judge_namespace(namespace))
        return self._namespaces[namespace]

    def _judge_namespace(self, namespace: str) -> Iterable[str]:
        if not self._configuration.scope.covers(namespace):
            yield "its namespace is not in scope.namespaces"
        if namespace in self._configuration.excluded_namespaces:
            yield "its namespace is in excludedNamespaces"
        if unknown := why_unknown(self._snapshot, "namespaces"):
            yield f"its namespace is not known: {unknown}"
        found = self._snapshot.find("namespaces", "", namespace)
        if found is not None:
            yield from owners.opted_out(found, "namespace")
            if (found.get("status") or {}).get("phase") == "Terminating":
                yield "its namespace is being deleted"

    def _priority(self, row: int) -> Iterable[str]:
        priority = self._snapshot.template_of(row).priority
        threshold = self._configuration.pods.priority_threshold
        if priority >= names.SYSTEM_CRITICAL_PRIORITY:
            yield "it is critical to the system"
        if threshold is not None and priority >= threshold:
            yield f"its priority is not below pods.priorityThreshold: {priority}"

    def _of_labels(self, labels: Mapping[str, str]) -> Iterable[str]:
        # Any value but a plain "enabled" keeps it out: who writes the label wants to be left alone.
        if labels.get(names.RESCHEDULING, "enabled") != "enabled":
            yield f"its label {names.RESCHEDULING} keeps it out"
        if self._configuration.excluded_pod_selector.matches(labels):
            yield "excludedPodSelector matches it"

    def _of_owner(self, row: int) -> owners.OwnerFacts:
        key = self._snapshot.class_of(row).namespace, int(self._snapshot.pods.owner[row])
        if key not in self._facts_by_owner:
            self._facts_by_owner[key] = self._owners.facts(key[0], self._owner(row))
        return self._facts_by_owner[key]

    def _owner(self, row: int) -> Owner | None:
        number = int(self._snapshot.pods.owner[row])
        return self._snapshot.owners[number] if number != NONE else None

    def _of_bare(self, row: int) -> Iterable[str]:
        if self._snapshot.pods.owner[row] != NONE or self._configuration.pods.jobs:
            return
        policy = self._spec(row).get("restartPolicy") or "Always"
        if policy != "Always":
            yield f"its work would begin anew, and pods.jobs is off: restartPolicy {policy}"

    def _facts(self, row: int) -> SpecFacts:
        number = int(self._snapshot.pods.pod_class[row])
        if number not in self._facts_by_class:
            self._facts_by_class[number] = self._read_spec(row)
        return self._facts_by_class[number]

    def _read_spec(self, row: int) -> SpecFacts:
        if specs.is_plain(self._snapshot.template_of(row)):
            return specs.NOTHING_SPECIAL
        return specs.read(
            self._spec(row),
            schedulers=self._configuration.scheduler_names,
            local_storage=self._configuration.pods.local_storage,
        )

    def charged(self, row: int) -> quotas.Asked | None:
        """What quotas count of a second pod such as this; None: there are none."""
        if not self.quotas.apply_in(self._snapshot.class_of(row).namespace):
            return None
        template = self._snapshot.template_of(row)
        return quotas.Asked(
            # Of its template: the copy is made from it, whatever this pod was resized to.
            self._snapshot.request_sets[template.asks] or {},
            self._spec(row),
            may_have_deadline=bool(self._snapshot.pods.owner[row] == NONE),
        )

    def _no_second(self, row: int, charged: quotas.Asked) -> str:
        return "; ".join(self.quotas.why_no_room(self._snapshot.class_of(row).namespace, charged))

    def _spec(self, row: int) -> Object:
        number = self._snapshot.class_of(row).template
        if number not in self._specs:
            self._specs[number] = self._snapshot.template_of(row).spec()
        return self._specs[number]


def _state(flags: int) -> Iterable[str]:
    if flags & _ASSUMED:
        yield "it is a copy that is not there yet"
    elif flags & _TERMINATING:
        yield "it is terminating"
    elif flags & _LEAVING:
        yield "a copy is taking its place"
    else:
        yield "it is not Running and Ready"
