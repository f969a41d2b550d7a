"""A cluster small enough to be driven through every order of events: one Deployment (or a bare
ReplicaSet, or a pod that nobody controls), its pods, a Service, budgets, and the controllers that
look after them; and the records of migrations. Pure: a tick is a second.

It does as Kubernetes does in matters of adoption, release, the order of scaling down, eviction
and garbage collection; what a surge cannot notice is left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from rescheduler.config import Migration
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.facts import Intent, Owner, View
from rescheduler.migrate.deciding.surge import copies
from rescheduler.model import conditions, names, pins
from rescheduler.model.moves import Move
from tests.unit.migrate.toy_objects import (
    BudgetRefused,
    Object,
    Refused,
    SeveralBudgets,
    clone,
    controller_of,
    is_active,
    is_ready,
    name_of,
    patch,
    selects,
    set_ready,
    touch,
    version_of,
)

READY_NODE = {
    "metadata": {"name": "target"},
    "spec": {},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
REVISION = "deployment.kubernetes.io/revision"
SETTINGS = Migration(
    ready_timeout_seconds=20,
    settle_seconds=0,
    budget_timeout_seconds=6,
    eviction_grace_period_seconds=1,
    linger_seconds=2,
)
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
SECONDS_TO_READY = 2
SECONDS_TO_STOP = 2
SECONDS_OF_A_KUBELET = 10
MANY_SECONDS = 10**6
"""After which it tells again how its pods are, whatever others have made of that."""
SOURCE, TARGET, ELSEWHERE = "source", "target", "elsewhere"


@dataclass
class ToyCluster:
    replicas: int = 3
    moving: int = 1
    """How many of them are to be moved."""
    bare: bool = False
    """Without a Deployment: a ReplicaSet that someone made by hand."""
    alone: bool = False
    """A single pod that nobody controls."""
    by_hash: bool = False
    """Its Service selects by all labels of the ReplicaSet, as those of Argo's blueGreen do."""
    asked: bool = False
    """By a person or a maintenance."""
    stuck: int = 0
    """Of its pods, so many are not Ready, and never will be."""
    own_cost: str = ""
    """What the user had set on the original."""
    settings: Migration = SETTINGS
    fate_of_copies: str = "ready"
    """Or: never ready, image, ended, elsewhere."""
    time: int = 0
    controllers_sleep: bool = False
    pods: dict[str, Object] = field(default_factory=dict)
    replica_sets: dict[str, Object] = field(default_factory=dict)
    deployment: Object | None = None
    budgets: dict[str, Object] = field(default_factory=dict)
    slices: list[Object] = field(default_factory=list)
    healing: dict[str, int] = field(default_factory=dict)
    """When a pod that turned unready is Ready again."""
    due: dict[str, int] = field(default_factory=dict)
    """When a pod is Ready, or gone."""
    removed_while_ready: list[str] = field(default_factory=list)
    """Pods that a ReplicaSet removed though they were Ready."""
    left: dict[str, int] = field(default_factory=dict)
    """When originals were taken out of their Services, whatever their kubelets said since."""
    cut_short: list[str] = field(default_factory=list)
    """Pods that a ReplicaSet removed before they had finished what they had."""
    evicted: list[str] = field(default_factory=list)
    target: Object | None = field(default_factory=lambda: clone(READY_NODE))
    source: Object | None = field(default_factory=lambda: clone(READY_NODE))
    made: int = 0
    intents: list[Intent] = field(default_factory=list)
    records: dict[str, Object] = field(default_factory=dict)
    """By name."""

    def __post_init__(self) -> None:
        if self.alone:
            self.add_bare_pod("db")
        elif not self.bare:
            self.deployment = {
                "metadata": {"name": "web", "uid": "deployment", "generation": 1},
                "spec": {"replicas": self.replicas, "template": self._template("1")},
                "status": {},
            }
        else:
            self.add_replica_set("1", self.replicas)
        for _ in range(SECONDS_TO_READY + 3):
            self.tick()
        self.original_uid = min(self.pods)
        if self.own_cost:
            annotations = self.pods[self.original_uid]["metadata"]["annotations"]
            annotations[names.DELETION_COST] = self.own_cost
        for uid in sorted(self.pods)[: self.moving]:
            self.ask_for(uid)
        for uid in sorted(self.pods)[self.replicas - self.stuck :]:
            self.turn_unready(uid, for_seconds=10**6)

    def ask_for(
        self,
        uid: str,
        *,
        source: str = SOURCE,
        target: str = TARGET,
        group: str = "",
        group_size: int = 0,
    ) -> None:
        """A migration of this pod."""
        move = Move(
            namespace="shop",
            pod=name_of(self.pods[uid]),
            uid=uid,
            source=source,
            target=target,
            strategy="LoadBalancing",
            reason="a test",
            asked=self.asked,
        )
        record = records.build(move, self.settings, attempt=1, group=group, group_size=group_size)
        record["metadata"] |= {"uid": f"record-{uid}", "creationTimestamp": self.now.isoformat()}
        self.records[record["metadata"]["name"]] = record
        owner = None if self.alone else Owner("apps/v1", "ReplicaSet", "web-1", "rs-1")
        self.intents.append(records.intent_of(record, self.settings, owner))

    @property
    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.time)

    @property
    def intent(self) -> Intent:
        return self.intents[0]

    @intent.setter
    def intent(self, intent: Intent) -> None:
        self.intents[0] = intent

    # ------------------------------------------------------------------ what a surge sees

    def view(self, intent: Intent | None = None) -> View:
        intent = intent or self.intent
        pods = clone(self.pods)
        replica_sets = clone(self.replica_sets)
        named = next((p for p in pods.values() if name_of(p) == intent.copy), None)
        ours = named is not None and copies.is_copy_of(named, intent.uid, intent.id, intent.copy)
        owner = intent.owner.uid if intent.owner else ""
        replica_set = replica_sets.get(owner)
        return View(
            original=pods.get(intent.uid),
            copy=named if ours else None,
            copy_name_taken=named is not None and not ours,
            replica_set=replica_set,
            deployment=clone(self.deployment) if replica_set else None,
            pods=tuple(p for p in pods.values() if controller_of(p) == owner),
            services=(self._service(),),
            slices=tuple(clone(self.slices)),
            budgets=tuple(clone(self.budgets).values()),
            network_policies=(),
            replica_sets=tuple(replica_sets.values()),
            neighbours=tuple(pods.values()),
            target=clone(self.target),
            source=clone(self.source),
            records=tuple(clone(self.records).values()),
        )

    @property
    def original(self) -> Object | None:
        return self.pods.get(self.original_uid)

    @property
    def copy(self) -> Object | None:
        return next((p for p in self.pods.values() if name_of(p) == self.intent.copy), None)

    @property
    def siblings(self) -> list[Object]:
        return [pod for pod in self.pods.values() if pod not in (self.original, self.copy)]

    @property
    def wanted(self) -> int:
        if self.deployment and not self.deployment["spec"].get("paused"):
            return int(self.deployment["spec"]["replicas"])
        return sum(each["spec"]["replicas"] for each in self.replica_sets.values())

    @property
    def is_changing(self) -> bool:
        """Rolled out, scaled or paused by its user."""
        deployment = self.deployment
        if deployment is None:
            return False
        observed = deployment["status"]["observedGeneration"]
        is_old = deployment["spec"]["template"] != self._template("1")
        paused = deployment["spec"].get("paused", False)
        return bool(is_old or paused or observed != deployment["metadata"]["generation"])

    # ------------------------------------------------------------------ what a surge may write

    def create(self, body: Mapping[str, Any]) -> None:
        if any(name_of(pod) == body["metadata"]["name"] for pod in self.pods.values()):
            raise Refused("AlreadyExists")
        pod = self._add_pod(clone(body))
        if self.fate_of_copies == "elsewhere":
            # An admission webhook adds a term: they are OR-ed, so the pin holds no longer.
            affinity = pod["spec"]["affinity"]["nodeAffinity"]
            (terms,) = (each["nodeSelectorTerms"] for each in affinity.values())
            terms.append({"matchExpressions": [{"key": "pool", "operator": "Exists"}]})

    def patch(self, uid: str, change: Mapping[str, Any]) -> None:
        patch(self._get(uid), change)

    def set_conditions(self, uid: str, version: str, told: Sequence[Mapping[str, Any]]) -> None:
        if version_of(self._get(uid)) != version:
            raise Refused("Conflict")
        self.pods[uid]["status"]["conditions"] = [dict(each) for each in told]
        touch(self.pods[uid])
        if is_ready(self.pods[uid]):
            self.left.pop(uid, None)
        else:
            self.left.setdefault(uid, self.time)

    def give_back(self, uid: str) -> None:
        """Its kubelet knows better, just now."""
        if uid in self.pods and _was_taken_out(self.pods[uid]):
            set_ready(self.pods[uid], ready=True)
            touch(self.pods[uid])

    def delete(self, uid: str, version: str) -> None:
        if version_of(self._get(uid)) != version:
            raise Refused("Conflict")
        self.stop(uid)

    def evict(self, uid: str, *, dry_run: bool) -> None:
        pod = self._get(uid)
        if is_active(pod) and pod["status"]["phase"] == "Running":
            self._ask_budgets(pod, dry_run=dry_run)
        if not dry_run:
            self.evicted.append(uid)
            self.stop(uid)

    def _ask_budgets(self, pod: Object, *, dry_run: bool) -> None:
        matching = [each for each in self.budgets.values() if selects(each, pod)]
        if len(matching) > 1:
            raise SeveralBudgets
        for budget in matching:
            if budget["status"]["disruptionsAllowed"] <= 0:
                raise BudgetRefused
            budget["status"]["disruptionsAllowed"] -= not dry_run

    # ------------------------------------------------------------------ what users and nodes do

    def stop(self, uid: str) -> None:
        metadata = self.pods[uid]["metadata"]
        if "deletionTimestamp" not in metadata:
            metadata["deletionTimestamp"] = "now"
            set_ready(self.pods[uid], ready=False)
            self.due[uid] = self.time + SECONDS_TO_STOP
            touch(self.pods[uid])

    def scale(self, replicas: int) -> None:
        holder = self.deployment or self.replica_sets.get("rs-1")
        if holder:
            holder["spec"]["replicas"] = replicas
            holder["metadata"]["generation"] += 1

    def roll_out(self) -> None:
        if self.deployment:
            self.deployment["spec"]["template"] = self._template("2")
            self.deployment["metadata"]["generation"] += 1

    def delete_replica_set(self, *, orphan: bool) -> None:
        self.replica_sets.pop("rs-1", None)
        for pod in self.pods.values() if orphan else ():
            references = pod["metadata"]["ownerReferences"]
            references[:] = [each for each in references if each["uid"] != "rs-1"]
            touch(pod)

    def fail(self, uid: str) -> None:
        pod = self.pods[uid]
        pod["status"]["phase"] = "Failed"
        set_ready(pod, ready=False)
        touch(pod)

    def turn_unready(self, uid: str, *, for_seconds: int) -> None:
        set_ready(self.pods[uid], ready=False)
        self.pods[uid]["status"]["conditions"][0]["lastTransitionTime"] = self.now.isoformat()
        touch(self.pods[uid])
        self.healing[uid] = self.time + for_seconds

    def add_budget(self, name: str, *, min_available: int) -> None:
        self.budgets[name] = {
            "metadata": {"name": name},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, "minAvailable": min_available},
            "status": {"disruptionsAllowed": 0},
        }

    # ------------------------------------------------------------------ what controllers do

    def tick(self) -> None:
        self.time += 1
        self._kubelets()
        if self.controllers_sleep:
            return
        self._collect_garbage()
        self._sync_deployment()
        for replica_set in list(self.replica_sets.values()):
            self._sync_replica_set(replica_set)
        self._write_statuses()

    def _kubelets(self) -> None:
        for uid, pod in list(self.pods.items()):
            if uid in self.due and self.time >= self.due[uid]:
                del self.due[uid]
                if "deletionTimestamp" in pod["metadata"]:
                    del self.pods[uid]
                else:
                    self._start(pod)
            if self.time % SECONDS_OF_A_KUBELET == 0:
                self.give_back(uid)
            if self.time >= self.healing.get(uid, self.time + 1):
                del self.healing[uid]
                if is_active(pod):
                    set_ready(pod, ready=True)
                    touch(pod)

    def _start(self, pod: Object) -> None:
        is_copy = names.ORIGINAL_POD in pod["metadata"]["annotations"]
        pod["spec"]["nodeName"] = SOURCE
        if is_copy:
            pinned = pins.target(pod["spec"]) or SOURCE
            pod["spec"]["nodeName"] = ELSEWHERE if self.fate_of_copies == "elsewhere" else pinned
        pod["status"]["phase"] = "Running"
        touch(pod)
        fate = self.fate_of_copies if is_copy else "ready"
        if fate in ("ready", "elsewhere"):
            set_ready(pod, ready=True)
        elif fate == "ended":
            pod["status"] |= {"phase": "Failed", "reason": "OutOfcpu"}
        elif fate == "image":
            state = {"waiting": {"reason": "ImagePullBackOff"}}
            statuses = [{"name": "app", "state": state}]
            pod["status"] |= {"phase": "Pending", "containerStatuses": statuses}

    def _collect_garbage(self) -> None:
        if self.deployment is None and not self.bare:
            for uid in [uid for uid, each in self.replica_sets.items() if controller_of(each)]:
                del self.replica_sets[uid]
        for pod in list(self.pods.values()):
            owners = [each["uid"] for each in pod["metadata"]["ownerReferences"]]
            if owners and not any(uid in self.replica_sets for uid in owners):
                self.stop(pod["metadata"]["uid"])

    def _sync_deployment(self) -> None:
        if self.deployment is None:
            return
        spec = self.deployment["spec"]
        revision = spec["template"]["metadata"]["labels"]["revision"]
        mine = [each for each in self.replica_sets.values() if controller_of(each)]
        if not any(name_of(each) == f"web-{revision}" for each in mine) and not spec.get("paused"):
            mine.append(self.add_replica_set(revision, spec["replicas"]))
        new = next((each for each in mine if name_of(each) == f"web-{revision}"), None)
        old = [each for each in mine if each is not new]
        if new:
            self.deployment["metadata"]["annotations"] = clone(new["metadata"]["annotations"])
            self._set_replicas(new, spec["replicas"])
            if sum(is_ready(pod) for pod in self._controlled(new)) >= spec["replicas"]:
                for each in old:
                    self._set_replicas(each, 0)
        self.deployment["status"] |= {
            "observedGeneration": self.deployment["metadata"]["generation"],
            "replicas": sum(len(self._active(each)) for each in mine),
            "updatedReplicas": len(self._active(new)) if new else 0,
        }

    def _sync_replica_set(self, replica_set: Object) -> None:
        uid = replica_set["metadata"]["uid"]
        for pod in self.pods.values():
            references = pod["metadata"]["ownerReferences"]
            if selects(replica_set, pod) and not controller_of(pod) and is_active(pod):
                others = [each for each in references if each["uid"] != uid]
                references[:] = [*others, _reference(replica_set, controller=True)]
                touch(pod)
            elif controller_of(pod) == uid and not selects(replica_set, pod):
                references[:] = [each for each in references if each["uid"] != uid]
                touch(pod)
        replica_set["metadata"]["observed"] = replica_set["metadata"]["generation"]
        active, wanted = self._active(replica_set), replica_set["spec"]["replicas"]
        for _ in range(wanted - len(active)):
            self._add_replica(replica_set)
        for pod in sorted(active, key=_first_to_go)[: max(0, len(active) - wanted)]:
            if is_ready(pod):
                self.removed_while_ready.append(pod["metadata"]["uid"])
            left = self.left.get(pod["metadata"]["uid"], -MANY_SECONDS)
            if self.time - left < self.settings.linger_seconds:
                self.cut_short.append(pod["metadata"]["uid"])
            self.stop(pod["metadata"]["uid"])

    def _write_statuses(self) -> None:
        for replica_set in self.replica_sets.values():
            active = self._active(replica_set)
            replica_set["status"] = {
                "observedGeneration": replica_set["metadata"]["observed"],
                "replicas": len(active),
                "readyReplicas": sum(is_ready(pod) for pod in active),
            }
        wanted = self._service()["spec"]["selector"].items()
        served = [pod for pod in self.pods.values() if wanted <= pod["metadata"]["labels"].items()]
        endpoints = [
            {"targetRef": {"uid": pod["metadata"]["uid"]}, "conditions": {"ready": is_serving(pod)}}
            for pod in served
            if pod["status"]["phase"] == "Running"
        ]
        labels = {"kubernetes.io/service-name": "web"}
        self.slices = [{"metadata": {"name": "web-x", "labels": labels}, "endpoints": endpoints}]
        for budget in self.budgets.values():
            healthy = sum(is_ready(pod) for pod in self.pods.values() if selects(budget, pod))
            allowed = max(0, healthy - budget["spec"]["minAvailable"])
            budget["status"]["disruptionsAllowed"] = allowed

    # ------------------------------------------------------------------ small things

    def _get(self, uid: str) -> Object:
        if uid not in self.pods:
            raise Refused("NotFound")
        return self.pods[uid]

    def _controlled(self, replica_set: Object) -> list[Object]:
        uid = replica_set["metadata"]["uid"]
        return [pod for pod in self.pods.values() if controller_of(pod) == uid]

    def _active(self, replica_set: Object) -> list[Object]:
        return [pod for pod in self._controlled(replica_set) if is_active(pod)]

    def _set_replicas(self, replica_set: Object, replicas: int) -> None:
        if replica_set["spec"]["replicas"] != replicas:
            replica_set["spec"]["replicas"] = replicas
            replica_set["metadata"]["generation"] += 1

    def _template(self, revision: str) -> Object:
        labels = {"app": "web", "revision": revision}
        if not self.bare:
            labels["pod-template-hash"] = f"hash-{revision}"
        return {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "app"}]}}

    def _service(self) -> Object:
        selector = self._template("1")["metadata"]["labels"] if self.by_hash else {"app": "web"}
        return {"metadata": {"name": "web"}, "spec": {"selector": selector}}

    def add_replica_set(self, revision: str, replicas: int) -> Object:
        template = self._template(revision)
        owner = [{"kind": "Deployment", "name": "web", "uid": "deployment", "controller": True}]
        uid = f"rs-{revision}" if self.time <= 1 else f"rs-{revision}-{self.time}"
        metadata = {"name": f"web-{revision}", "uid": uid, "namespace": "shop"}
        references = {"ownerReferences": [] if self.bare else owner}
        self.replica_sets[uid] = {
            "metadata": metadata
            | references
            | {"generation": 1, "observed": 0, "annotations": {REVISION: revision}},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": dict(template["metadata"]["labels"])},
                "template": template,
            },
            "status": {},
        }
        return self.replica_sets[uid]

    def _add_replica(self, replica_set: Object) -> None:
        template = clone(replica_set["spec"]["template"])
        metadata = {"name": f"web-{self.made}", "labels": template["metadata"]["labels"]}
        metadata |= {
            "annotations": {},
            "ownerReferences": [_reference(replica_set, controller=True)],
        }
        self._add_pod({"metadata": metadata, "spec": template["spec"]})

    def add_bare_pod(self, name: str) -> Object:
        metadata = {"name": name, "namespace": "shop", "labels": {"app": "web"}, "annotations": {}}
        return self._add_pod({"metadata": metadata, "spec": {"containers": [{"name": "app"}]}})

    def _add_pod(self, pod: Object) -> Object:
        self.made += 1
        uid = f"pod-{self.made:03d}"
        pod["metadata"] |= {"uid": uid, "resourceVersion": "1", "made": self.made}
        pod["metadata"]["creationTimestamp"] = self.now.isoformat()
        pod["metadata"].setdefault("ownerReferences", [])
        pod["status"] = {"phase": "Pending", "conditions": []}
        self.pods[uid] = pod
        self.due[uid] = self.time + SECONDS_TO_READY
        return pod


def is_serving(pod: Object) -> bool:
    return is_active(pod) and is_ready(pod)


def _was_taken_out(pod: Object) -> bool:
    """By our hand."""
    ready = conditions.find(pod, "Ready") or {}
    return is_active(pod) and ready.get("reason") == names.LEAVING


def is_marked(pod: Object) -> bool:
    """An original, by anything of ours."""
    metadata = pod["metadata"]
    ours = {names.PREVIOUS_DELETION_COST, names.PREVIOUS_MIGRATION, names.MIGRATION_TIME}
    if names.ORIGINAL_POD in metadata["annotations"]:
        ours -= {names.MIGRATION_TIME}
        return bool(metadata["annotations"].keys() & ours)
    labels = {names.MIGRATION_ID, names.MIGRATION_STATUS}
    return bool(metadata["annotations"].keys() & ours or metadata["labels"].keys() & labels)


def in_progress(pods: Mapping[str, Object]) -> Iterator[Object]:
    for pod in pods.values():
        if pod["metadata"]["labels"].get(names.MIGRATION_STATUS) == names.STATUS_IN_PROGRESS:
            yield pod


def _reference(replica_set: Object, *, controller: bool) -> Object:
    metadata = replica_set["metadata"]
    reference = {"kind": "ReplicaSet", "name": metadata["name"], "uid": metadata["uid"]}
    return reference | {"controller": controller}


def _first_to_go(pod: Object) -> tuple[bool, bool, bool, int, int]:
    cost = int(pod["metadata"]["annotations"].get(names.DELETION_COST, "0"))
    running = pod["status"]["phase"] == "Running"
    return ("nodeName" in pod["spec"], running, is_ready(pod), cost, -pod["metadata"]["made"])
