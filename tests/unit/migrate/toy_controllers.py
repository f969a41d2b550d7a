"""Those who look after a toy workload: the controllers of its kind, the kubelets, the disruption
controller, the garbage collector and the admission policy. Pure: a tick is a second.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from rescheduler.config import Migration
from tests.unit.migrate.toy_objects import (
    Object,
    controller_of,
    is_active,
    is_ready,
    name_of,
    part_of,
    selects,
    set_ready,
    touch,
    wanted_of,
)

SECONDS_TO_READY = 2
SECONDS_TO_STOP = 2
SOURCE, TARGET, ELSEWHERE = "source", "target", "elsewhere"
BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REVISION = "deployment.kubernetes.io/revision"


@dataclass
class ToyControllers:
    kind: str = "StatefulSet"
    """Or: Deployment, ReplicaSet, Job."""
    replicas: int = 3
    lands: str = TARGET
    """Where the successor comes to when it is steered; empty: nowhere, it stays pending."""
    unsteered: str = ELSEWHERE
    becomes_ready: bool = True
    ends_on: str = ""
    """The node whose kubelet ends what comes there, having no room for it after all."""
    refuses_steered: bool = False
    """A policy of the user's refuses pods that prefer a node."""
    refuses_all: bool = False
    """It refuses whatever its workload would make by now."""
    policy_after: int | None = 1
    """Seconds after the label until the admission policy sees it; None: it is not installed."""
    extender_steers: bool = False
    """A scheduler asks us."""
    unready: bool = False
    """The original is not Ready, and somebody wants it away."""
    settings: Migration = field(default_factory=Migration)
    time: int = 0
    pods: dict[str, Object] = field(default_factory=dict)
    workloads: dict[str, Object] = field(default_factory=dict)
    """By UID: StatefulSets, ReplicaSets, Jobs."""
    deployment: Object | None = None
    budgets: dict[str, Object] = field(default_factory=dict)
    due: dict[str, int] = field(default_factory=dict)
    """When a pod is Ready, or gone."""
    evicted: list[str] = field(default_factory=list)
    target: Object | None = field(
        default_factory=lambda: {
            "metadata": {"name": TARGET},
            "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
    )
    steering_since: int | None = None
    made: int = 0
    is_set_up: bool = False
    """From then on pods fare as asked for."""
    steered_owner: str = ""
    """The UID that the record tells the admission policy."""

    @property
    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self.time)

    @property
    def wanted(self) -> int:
        if self.deployment:
            return int(self.deployment["spec"]["replicas"])
        return sum(wanted_of(each) for each in self.workloads.values())

    def stop(self, uid: str) -> None:
        metadata = self.pods[uid]["metadata"]
        if "deletionTimestamp" not in metadata:
            gone_at = self.now + timedelta(seconds=SECONDS_TO_STOP)
            metadata["deletionTimestamp"] = gone_at.isoformat()
            set_ready(self.pods[uid], ready=False)
            self.due[uid] = self.time + SECONDS_TO_STOP
            touch(self.pods[uid])

    # ------------------------------------------------------------------ what controllers do

    def tick(self) -> None:
        self.time += 1
        self._kubelets()
        self._collect_garbage()
        if self.deployment:
            self._sync_deployment(self.deployment)
        for workload in list(self.workloads.values()):
            if "deletionTimestamp" in workload["metadata"]:
                continue
            sync = {"StatefulSet": self._sync_stateful_set}.get(workload["kind"], self._sync_others)
            sync(workload)
            self._write_status(workload)
        for budget in self.budgets.values():
            self._count(budget)

    def _kubelets(self) -> None:
        for uid, pod in list(self.pods.items()):
            if uid in self.due and self.time >= self.due[uid]:
                del self.due[uid]
                if "deletionTimestamp" in pod["metadata"]:
                    del self.pods[uid]
                else:
                    self._start(pod)

    def _start(self, pod: Object) -> None:
        node = pod["wants"]
        if not node:
            return
        pod["spec"]["nodeName"] = node
        if self.is_set_up and node == self.ends_on:
            pod["status"] |= {"phase": "Failed", "reason": "OutOfcpu"}
            touch(pod)
            return
        pod["status"]["phase"] = "Running"
        set_ready(pod, ready=self.becomes_ready or not self.is_set_up)
        touch(pod)

    def _collect_garbage(self) -> None:
        for uid, each in list(self.workloads.items()):
            is_empty = not any(controller_of(pod) == uid for pod in self.pods.values())
            is_ending = "deletionTimestamp" in each["metadata"] and is_empty
            if is_ending or (controller_of(each) and self.deployment is None):
                del self.workloads[uid]
        alive = {
            *self.workloads,
            *([self.deployment["metadata"]["uid"]] if self.deployment else []),
        }
        for uid, pod in self.pods.items():
            if controller_of(pod) not in (None, *alive):
                self.stop(uid)
        for name, budget in list(self.budgets.items()):
            references = budget["metadata"].get("ownerReferences") or ()
            if references and not any(each["uid"] in alive for each in references):
                del self.budgets[name]

    def _sync_deployment(self, deployment: Object) -> None:
        revision = deployment["spec"]["revision"]
        mine = {each["metadata"]["name"]: each for each in self.workloads.values()}
        new = mine.get(f"web-{revision}")
        old = [each for each in mine.values() if each is not new]
        for each in old:
            self._set_replicas(each, 0)
        old_uids = {each["metadata"]["uid"] for each in old}
        if not any(controller_of(pod) in old_uids for pod in self.pods.values()):
            if new is None:
                new = self.add_workload("ReplicaSet", f"web-{revision}", 0, revision)
            self._set_replicas(new, deployment["spec"]["replicas"])
        if new is not None:
            deployment["metadata"]["annotations"] = {REVISION: revision}
        deployment["status"] = {"observedGeneration": deployment["metadata"]["generation"]}

    def _sync_stateful_set(self, stateful_set: Object) -> None:
        spec, uid = stateful_set["spec"], stateful_set["metadata"]["uid"]
        mine = {p["metadata"]["name"]: p for p in self.pods.values() if controller_of(p) == uid}
        for ordinal in range(spec["replicas"]):
            pod = mine.get(f"web-{ordinal}")
            if pod is None:
                self._add_pod(stateful_set, f"web-{ordinal}")
                return
            if not is_active(pod):
                self.stop(pod["metadata"]["uid"])
                return
            if not is_ready(pod):
                return
        for pod in sorted(mine.values(), key=name_of, reverse=True):
            is_old = pod["metadata"]["labels"]["revision"] != spec["revision"]
            beyond = int(name_of(pod).rpartition("-")[2]) >= spec["replicas"]
            if is_old or beyond:
                self.stop(pod["metadata"]["uid"])
                return

    def _sync_others(self, workload: Object) -> None:
        uid = workload["metadata"]["uid"]
        mine = [p for p in self.pods.values() if controller_of(p) == uid]
        active = [pod for pod in mine if is_active(pod)]
        for _ in range(wanted_of(workload) - len(active)):
            self._add_pod(workload, f"{name_of(workload)}-x{self.made}")
        for pod in active[wanted_of(workload) :]:
            self.stop(pod["metadata"]["uid"])

    def _write_status(self, workload: Object) -> None:
        uid, spec = workload["metadata"]["uid"], workload["spec"]
        active = [p for p in self.pods.values() if controller_of(p) == uid and is_active(p)]
        revisions = {pod["metadata"]["labels"]["revision"] for pod in active} - {spec["revision"]}
        workload["status"] |= {
            "observedGeneration": workload["metadata"]["generation"],
            "replicas": len(active),
            "readyReplicas": sum(is_ready(pod) for pod in active),
            "currentRevision": min(revisions, default=spec["revision"]),
            "updateRevision": spec["revision"],
        }

    def _count(self, budget: Object) -> None:
        """As the disruption controller does."""
        pods = [pod for pod in self.pods.values() if selects(budget, pod)]
        healthy = sum(is_ready(pod) and is_active(pod) for pod in pods)
        least, most = (budget["spec"].get(key) for key in ("minAvailable", "maxUnavailable"))
        expected = self.wanted if most is not None or isinstance(least, str) else len(pods)
        if most is not None:
            desired = max(0, expected - part_of(most, expected))
        else:
            desired = part_of(least, expected)
        budget["status"] = {
            "observedGeneration": budget["metadata"]["generation"],
            "disruptionsAllowed": max(0, healthy - desired) if expected > 0 else 0,
        }

    # ------------------------------------------------------------------ small things

    def admit(self, pod: Object, owner_uid: str) -> None:
        """The admission policy."""
        if self.policy_after is None or self.steering_since is None:
            return
        sees = self.time >= self.steering_since + self.policy_after
        if sees and self.steered_owner == owner_uid:
            wish = {"key": "metadata.name", "operator": "In", "values": [TARGET]}
            preferred = [{"weight": 100, "preference": {"matchFields": [wish]}}]
            pod["spec"]["affinity"] = {"nodeAffinity": {PREFERRED: preferred}}

    def add_workload(self, kind: str, name: str, replicas: int, revision: str) -> Object:
        uid = f"{kind}-{name}-{revision}"
        owner = [{"kind": "Deployment", "name": "web", "uid": "deployment", "controller": True}]
        count = "parallelism" if kind == "Job" else "replicas"
        labels = {"app": "web", "revision": revision}
        selector = {"app": "web"} | ({"revision": revision} if self.kind == "Deployment" else {})
        workload: Object = {
            "kind": kind,
            "metadata": {
                "name": name,
                "uid": uid,
                "generation": 1,
                "annotations": {REVISION: revision},
                "ownerReferences": owner if self.kind == "Deployment" else [],
            },
            "spec": {
                count: replicas,
                "revision": revision,
                "selector": {"matchLabels": selector},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": []}},
            },
            "status": {},
        }
        self.workloads[uid] = workload
        return workload

    def _set_replicas(self, workload: Object, replicas: int) -> None:
        if workload["spec"]["replicas"] != replicas:
            workload["spec"]["replicas"] = replicas
            workload["metadata"]["generation"] += 1

    def _add_pod(self, workload: Object, name: str) -> None:
        self.made += 1
        uid = f"pod-{self.made:03d}"
        metadata = workload["metadata"]
        reference = {"kind": workload["kind"], "name": metadata["name"], "uid": metadata["uid"]}
        pod: Object = {
            "metadata": {
                "name": name,
                "uid": uid,
                "resourceVersion": "1",
                "creationTimestamp": self.now.isoformat(),
                "labels": {"app": "web", "revision": workload["spec"]["revision"]},
                "annotations": {},
                "ownerReferences": [reference | {"controller": True}],
            },
            "spec": {"containers": []},
            "status": {"phase": "Pending", "conditions": []},
        }
        pod["wants"] = SOURCE
        if self.is_set_up:
            self.admit(pod, metadata["uid"])
            pod["wants"] = self.lands if "affinity" in pod["spec"] else self.unsteered
        self.pods[uid] = pod
        self.due[uid] = self.time + SECONDS_TO_READY
