"""All rules about one pod, put together.

Asked about thousands of pods in every pass, so all that alike pods have in common is judged once:
by class, by labels of its own, and by owner.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

from rescheduler.config import Configuration
from rescheduler.model import controllers, names
from rescheduler.model.cluster import Owner
from rescheduler.model.columns import NONE, PHASES, Flag
from rescheduler.model.moves import Passing, Way
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import budgets, quotas, records
from rescheduler.plan.cooldowns import Cooldowns
from rescheduler.plan.fitting.nodes import who_removes
from rescheduler.plan.gaps import why_unknown
from rescheduler.plan.movable import annotations, claims, owners, specs, ways, withholding
from rescheduler.plan.movable.annotations import age_of
from rescheduler.plan.movable.holds import TAKE_OFF, Hold, Holds, always
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
WELCOME: Final = frozenset({records.SOURCE, withholding.SOURCE, withholding.POLICIES})
"""Looked at where they are to be had: who cannot see them plans without."""

# Plain numbers: the operators of an enumeration cost as much as all the rest.
_READY: Final = int(Flag.READY)
_TERMINATING: Final = int(Flag.TERMINATING)
_LEAVING: Final = int(Flag.LEAVING)
_ASSUMED: Final = int(Flag.ASSUMED)
_GOING: Final = _TERMINATING | _LEAVING | _ASSUMED
_ALL: Final = "*"
"""No volume can have this name."""
NOT_READY: Final = "it is not Ready"
"""Why it ends before its successor begins: nobody misses it."""
_PENDING: Final = PHASES.index("Pending")
_RUNNING: Final = PHASES.index("Running")


class Neighbours(Protocol):
    def why_stuck(self, row: int) -> tuple[str, ...]:
        """Rules of others that hold this pod where it is."""

    def why_no_copy(self, row: int) -> str:
        """Why the scheduler would not judge a copy of it as it judges the pod; empty: it would."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alike:
    """What holds for all pods of a class, with the same labels of their own and the same owner."""

    holds: tuple[Hold, ...]
    verdict: Verdict
    is_being_moved: bool


class Movable:
    def __init__(
        self, snapshot: Snapshot, configuration: Configuration, placement: Neighbours
    ) -> None:
        self.cooldowns = Cooldowns(snapshot, configuration.stability.cooldown)
        self._snapshot = snapshot
        self._configuration = configuration
        self._placement = placement
        self._holds = Holds(configuration)
        self._owners = owners.Owners(snapshot, self._holds)
        self._withholding = Withholding(snapshot)
        self._budgets = budgets.Budgets(snapshot)
        self.quotas = quotas.Quotas(snapshot)
        self.records = Records(snapshot, configuration)
        self._alike_pods: dict[tuple[int, int, int, int, str, str, str], _Alike] = {}
        self._facts_by_class: dict[int, SpecFacts] = {}
        self._facts_by_owner: dict[tuple[str, int], owners.OwnerFacts] = {}
        self._specs: dict[int, Object] = {}
        """By number of their template, decoded."""
        self._namespaces: dict[str, tuple[Hold, ...]] = {}

    def way(self, row: int) -> Way:
        return self._alike(row).verdict.way

    def is_ready(self, row: int) -> bool:
        """Else it serves nobody, and may go before its successor is there."""
        return self._health(row) == budgets.READY

    def _health(self, row: int) -> int:
        pods = self._snapshot.pods
        phase = pods.phase[row]
        if phase == _RUNNING and int(pods.flags[row]) & _READY:
            return budgets.READY
        return budgets.PENDING if phase == _PENDING else budgets.UNREADY

    def why_recreated(self, row: int) -> str:
        """Why it has to end before its successor begins; empty: both can be there."""
        return self._alike(row).verdict.why_recreated

    def budget_of(self, row: int) -> tuple[str, int]:
        """The name of its PodDisruptionBudget, and how many disruptions that allows; or none."""
        pod_class = self._snapshot.class_of(row)
        labels = {**pod_class.labels, **self._snapshot.own_labels_of(row)}
        return self._budgets.allowed(pod_class.namespace, labels)

    def why_it_stays(
        self, row: int, *, asked: bool = False, begun: bool = False
    ) -> tuple[str, ...]:
        """Every reason why this pod must not move, wherever to; none: it may.

        A move that somebody asked for waits for no cooldown and no age. One that is begun was not
        to wait for anything, and its own marks and records are no reason to end it.
        """
        alike = self._alike(row)
        reasons = [why for hold in alike.holds if (why := hold.why(asked=asked))]
        reasons += self._of_its_own(row, asked=asked)
        verdict = alike.verdict
        if verdict.why_recreated and verdict.why_recreated != NOT_READY and not verdict.is_decided:
            reasons += self._holds.recreate(verdict.why_recreated, asked=asked)
        if alike.is_being_moved and not begun:
            reasons.append(Passing("it is being moved already"))
        if self.records:
            if not begun:
                reasons += self.records.why_it_waits(row)
                reasons += self.records.why_it_would_come_back(row)
            reasons += self.records.why_its_workload_waits(row)
        if not asked and not begun:
            reasons += self._of_its_node(row)
            reasons += self._too_young(row)
            reasons += self.cooldowns.why_it_rests(row, recreates=bool(verdict.why_recreated))
        reasons += self._placement.why_stuck(row)
        return tuple(dict.fromkeys(reasons))

    # ------------------------------------------------------------------ one by one

    def _of_its_own(self, row: int, *, asked: bool) -> list[str]:
        pods = self._snapshot.pods
        reasons: list[str] = []
        flags = int(pods.flags[row])
        if flags & _GOING:
            reasons += _state(flags)
        elif not asked and not self.is_ready(row):
            reasons.append("it is not Running and Ready")
        elif pods.node[row] == NONE:
            reasons.append("it has no node yet")
        elif self._snapshot.node_of_pod[row] == NONE:
            reasons.append("its node is not there")
        if row in pods.annotations:
            holds = annotations.holds_by(self._snapshot, row)
            reasons += filter(None, (hold.why(asked=asked) for hold in holds))
        if row in pods.claims:
            namespace = self._snapshot.class_of(row).namespace
            reasons += claims.why_held(self._snapshot, namespace, self._claims(row))
        return reasons

    def _claims(self, row: int) -> tuple[str, ...]:
        return self._snapshot.lasting_claims_of(row)

    def _of_its_node(self, row: int) -> list[str]:
        node = int(self._snapshot.node_of_pod[row])
        remover = "" if node == NONE else self._removers.get(node, "")
        return [Passing(f"{remover} is removing its node, and empties it")] if remover else []

    @cached_property
    def _removers(self) -> Mapping[int, str]:
        """By node: the autoscaler that has begun to remove it."""
        found = ((number, who_removes(node)) for number, node in enumerate(self._snapshot.nodes))
        return {number: remover for number, remover in found if remover}

    def _too_young(self, row: int) -> list[str]:
        youngest = self._configuration.pods.min_pod_age_seconds
        age = age_of(self._snapshot, row) if youngest else None
        return [] if age is None or age >= youngest else ["it is younger than pods.minPodAge"]

    # ------------------------------------------------------------------ all alike

    def _alike(self, row: int) -> _Alike:
        pods = self._snapshot.pods
        exclusive = ""
        if row in pods.claims:
            namespace = self._snapshot.class_of(row).namespace
            exclusive = claims.why_exclusive(self._snapshot, namespace, self._claims(row))
        told = let_go = ""
        if row in pods.annotations:
            told = ways.annotated(pods.annotations[row])
            let_go = _volumes_let_go(pods.annotations[row])
        health = self._health(row)
        key = (
            int(pods.pod_class[row]),
            int(pods.own_labels[row]),
            int(pods.owner[row]),
            health,
            exclusive,
            told,
            let_go,
        )
        known = self._alike_pods.get(key)
        if known is None:
            known = self._judge(row, exclusive, told, let_go)
            self._alike_pods[key] = known
        return known

    def _judge(self, row: int, exclusive: str, told: str, let_go: str) -> _Alike:
        snapshot = self._snapshot
        pod_class = snapshot.class_of(row)
        labels = {**pod_class.labels, **snapshot.own_labels_of(row)}
        of_spec, of_owner = self._facts(row), self._of_owner(row)
        is_bare = bool(snapshot.pods.owner[row] == NONE)
        charged = self.charged(row)
        health = self._health(row)
        is_ready = health == budgets.READY
        verdict = ways.choose(
            ("" if is_ready or is_bare else NOT_READY)
            or of_owner.why_recreated
            or exclusive
            or of_spec.why_recreated
            or self._withholding.why_none(row)
            or self._placement.why_no_copy(row)
            or self.records.why_no_copy(row)
            or (self._no_second(row, charged) if charged and not is_bare else ""),
            told,
            self._configuration.migration.way,
            is_bare=is_bare,
        )
        holds = (
            *self._of_namespace(pod_class.namespace),
            *self._holds.priority(snapshot.template_of(row).priority),
            *self._of_labels(labels),
            *of_owner.holds,
            *(of_owner.of_serving if is_ready else ()),
            *self._of_work(row),
            *self._of_volumes(of_spec, let_go, is_bare=is_bare),
            *map(always, of_spec.reasons),
            *map(always, verdict.reasons),
            *map(always, self._budgets.why_held(pod_class.namespace, labels, verdict.way, health)),
            *map(always, self._of_quotas(pod_class.namespace, charged, verdict.way)),
        )
        return _Alike(
            holds=holds,
            verdict=verdict,
            is_being_moved=labels.get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS,
        )

    def _of_namespace(self, namespace: str) -> tuple[Hold, ...]:
        if namespace not in self._namespaces:
            self._namespaces[namespace] = tuple(self._judge_namespace(namespace))
        return self._namespaces[namespace]

    def _judge_namespace(self, namespace: str) -> Iterable[Hold]:
        if not self._configuration.scope.covers(namespace):
            yield always("its namespace is not in scope.namespaces", "add it there")
        yield from self._holds.namespace(namespace)
        if unknown := why_unknown(self._snapshot, "namespaces"):
            yield always(f"its namespace is not known: {unknown}")
        found = self._snapshot.find("namespaces", "", namespace)
        if found is not None:
            yield from owners.opted_out(found, "namespace")
            if (found.get("status") or {}).get("phase") == "Terminating":
                yield always("its namespace is being deleted")

    def _of_labels(self, labels: Mapping[str, str]) -> Iterable[Hold]:
        # Any value but a plain "enabled" keeps it out: who writes the label wants to be left alone.
        if labels.get(names.RESCHEDULING, "enabled") != "enabled":
            yield always(f"its label {names.RESCHEDULING} keeps it out", TAKE_OFF)
        if self._configuration.excluded_pod_selector.matches(labels):
            yield from self._holds.selected()

    def _of_volumes(self, found: SpecFacts, let_go: str, *, is_bare: bool) -> Iterable[Hold]:
        if let_go == _ALL:
            return
        # As cluster-autoscaler takes the list apart.
        kept = let_go.split(",")
        scratch = [each for each in found.scratch if each not in kept]
        local = [each for each in found.local if each not in kept]
        if scratch:
            listed = ", ".join(scratch)
            yield from self._holds.empty_dir(f"it would lose what is in its emptyDir {listed}")
        # Nobody has ever made a pod anew that has no controller: what is in it may be all there is.
        if local := [*(scratch if is_bare else ()), *local]:
            listed = ", ".join(local)
            yield from self._holds.local_storage(
                f"it has local storage, which would stay behind (volume {listed})"
            )

    def _of_quotas(self, namespace: str, charged: quotas.Asked | None, way: Way) -> Iterable[str]:
        return self.quotas.why_held(namespace, charged, way) if charged else ()

    def _of_owner(self, row: int) -> owners.OwnerFacts:
        key = self._snapshot.class_of(row).namespace, int(self._snapshot.pods.owner[row])
        if key not in self._facts_by_owner:
            owner = self._owner(row)
            is_foreign = owner is not None and controllers.is_foreign(owner.kind)
            rows = self._snapshot.rows_of_owner(key[1]) if is_foreign else ()
            self._facts_by_owner[key] = self._owners.facts(key[0], owner, rows)
        return self._facts_by_owner[key]

    def _owner(self, row: int) -> Owner | None:
        number = int(self._snapshot.pods.owner[row])
        return self._snapshot.owners[number] if number != NONE else None

    def _of_work(self, row: int) -> Iterable[Hold]:
        owner = self._owner(row)
        if owner is not None and not controllers.is_foreign(owner.kind):
            return
        policy = self._spec(row).get("restartPolicy") or "Always"
        if policy != "Always":
            yield from self._holds.job(f"its work would begin anew (restartPolicy {policy})")

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
        )

    def charged(self, row: int) -> quotas.Asked | None:
        """What quotas count of a second pod such as this; None: there are none."""
        if not self.quotas.apply_in(self._snapshot.class_of(row).namespace):
            return None
        template = self._snapshot.template_of(row)
        return quotas.Asked(
            # Of its template: the copy is made from it, whatever this pod was resized to.
            self._snapshot.request_sets[template.request_set] or {},
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


def _volumes_let_go(annotations: Mapping[str, str]) -> str:
    """Local volumes that may be left behind, whatever is configured: a list, or all of them."""
    if annotations.get(names.SAFE_TO_EVICT) == "true" or names.EVICT in annotations:
        return _ALL
    return annotations.get(names.SAFE_TO_EVICT_VOLUMES, "")


def _state(flags: int) -> Iterable[str]:
    if flags & _ASSUMED:
        yield Passing("it is a copy that is not there yet")
    elif flags & _TERMINATING:
        yield Passing("it is terminating")
    else:
        yield Passing("a copy is taking its place")
