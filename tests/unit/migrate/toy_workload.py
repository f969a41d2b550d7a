"""One workload whose pods must not overlap, small enough to be driven through every order of
events: a StatefulSet, a Deployment with strategy Recreate, a bare ReplicaSet or a Job, its pods,
budgets, the record of a migration, and those who look after them. Pure: a tick is a second.

It does as Kubernetes does in matters of eviction, of budgets and of who makes which pod anew;
what the way Recreate cannot notice is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.facts import Intent, Owner, View
from rescheduler.migrate.deciding.records import MigrationStatus
from rescheduler.model import names
from tests.unit.migrate.toy_controllers import (
    BEGINNING,
    SECONDS_TO_READY,
    SOURCE,
    TARGET,
    ToyControllers,
)
from tests.unit.migrate.toy_objects import (
    BudgetRefused,
    Object,
    Refused,
    SeveralBudgets,
    clone,
    controller_of,
    is_active,
    labels_of,
    patch,
    selects,
    set_ready,
    touch,
)

VERSIONS = {"StatefulSet": "apps/v1", "ReplicaSet": "apps/v1", "Job": "batch/v1"}


@dataclass
class ToyWorkload(ToyControllers):
    def __post_init__(self) -> None:
        if self.kind == "Deployment":
            self.deployment = {
                "metadata": {"name": "web", "uid": "deployment", "generation": 1},
                "spec": {
                    "replicas": self.replicas,
                    "selector": {"matchLabels": {"app": "web"}},
                    "strategy": {"type": "Recreate"},
                    "revision": "1",
                },
                "status": {},
            }
        else:
            self.add_workload(self.kind, "web", self.replicas, "1")
        for _ in range((SECONDS_TO_READY + 2) * self.replicas + 2):
            self.tick()
        self.original_uid = min(self.pods)
        original = self.pods[self.original_uid]
        owner = next(iter(self.workloads.values()))
        self.owner_uid = owner["metadata"]["uid"]
        self.record: Object = {
            "metadata": {
                "name": "web-0-0123456789-1",
                "namespace": "shop",
                "labels": {},
                "generation": 1,
                "resourceVersion": 1,
            },
            "spec": {
                "pod": {"name": original["metadata"]["name"], "uid": self.original_uid},
                "source": SOURCE,
                "target": TARGET,
                "strategy": "NodeMaintenance",
            },
            "status": {},
        }
        self.other_records: list[Object] = []
        self.intent = Intent(
            record=self.record["metadata"]["name"],
            id="0123456789abcdef",
            namespace="shop",
            pod=original["metadata"]["name"],
            uid=self.original_uid,
            source=SOURCE,
            target=TARGET,
            strategy="NodeMaintenance",
            reason="a test",
            requested_at=BEGINNING,
            settings=self.settings,
            owner=Owner(
                VERSIONS[owner["kind"]], owner["kind"], owner["metadata"]["name"], self.owner_uid
            ),
            asked=self.unready,
            may_recreate=not self.unready,
        )
        if self.unready:
            self.turn_unready(self.original_uid)
            # As is written down when the way is chosen.
            self.record["status"] = {"unready": True}
        self.is_set_up = True

    # ------------------------------------------------------------------ what a migration sees

    def view(self) -> View:
        pods = clone(self.pods)
        owner = clone(self.workloads.get(self.owner_uid))
        kind = owner["kind"] if owner else ""
        all_workloads = tuple(clone(self.workloads).values())
        return View(
            original=pods.get(self.original_uid),
            copy=None,
            copy_name_taken=False,
            replica_set=owner if kind == "ReplicaSet" else None,
            stateful_set=owner if kind == "StatefulSet" else None,
            job=owner if kind == "Job" else None,
            deployment=clone(self.deployment) if owner else None,
            pods=tuple(pod for pod in pods.values() if controller_of(pod) == self.owner_uid),
            services=(),
            slices=(),
            budgets=tuple(clone(self.budgets).values()),
            network_policies=(),
            replica_sets=tuple(each for each in all_workloads if each["kind"] == "ReplicaSet"),
            neighbours=tuple(pods.values()),
            target=clone(self.target),
            source=None,
            records=(clone(self.record), *clone(self.other_records)),
        )

    @property
    def status(self) -> MigrationStatus:
        return records.read_status(self.record)

    @property
    def original(self) -> Object | None:
        return self.pods.get(self.original_uid)

    @property
    def siblings(self) -> list[Object]:
        return [pod for uid, pod in self.pods.items() if uid != self.original_uid]

    @property
    def temporary(self) -> list[Object]:
        return [each for each in self.budgets.values() if names.RECORD in labels_of(each)]

    @property
    def is_steering(self) -> bool:
        return names.STEERING in labels_of(self.record)

    def budgets_on(self, pod: Object) -> list[str]:
        return [name for name, each in self.budgets.items() if selects(each, pod)]

    # ------------------------------------------------------------------ what a migration may write

    def write_status(self, status: MigrationStatus) -> None:
        if status != self.status:
            self.record["status"] = records.status_document(self.record, status, self.now)
            self.steered_owner = status.owner.uid if status.owner else ""
            self.record["metadata"]["resourceVersion"] += 1

    def patch(self, uid: str, change: Mapping[str, Any]) -> None:
        patch(self._get(uid), change)

    def evict(self, uid: str, *, dry_run: bool) -> None:
        pod = self._get(uid)
        if is_active(pod) and pod["status"]["phase"] == "Running":
            self._ask_budgets(pod, dry_run=dry_run)
        if not dry_run:
            self.evicted.append(uid)
            self.stop(uid)

    def create_budget(self, body: Mapping[str, Any]) -> None:
        name = body["metadata"]["name"]
        if name in self.budgets:
            raise Refused("AlreadyExists")
        self.made += 1
        metadata = {"uid": f"budget-{self.made}", "resourceVersion": "1", "generation": 1}
        self.budgets[name] = {**clone(body), "status": {}}
        self.budgets[name]["metadata"] |= metadata

    def delete_budget(self, budget: Mapping[str, Any]) -> None:
        name, uid = budget["metadata"]["name"], budget["metadata"]["uid"]
        if name not in self.budgets or self.budgets[name]["metadata"]["uid"] != uid:
            raise Refused("NotFound")
        del self.budgets[name]

    def label_record(self, labels: Mapping[str, str | None]) -> None:
        self.record["metadata"]["resourceVersion"] += 1
        for key, value in labels.items():
            if value is None:
                self.record["metadata"]["labels"].pop(key, None)
                self.steering_since = None
            else:
                self.record["metadata"]["labels"][key] = value
                self.steering_since = self.time

    def probe(self, body: Mapping[str, Any]) -> Object:
        pod = clone(body)
        owned_by = [each["uid"] for each in pod["metadata"]["ownerReferences"]]
        self.admit(pod, owned_by[0])
        return dict(pod)

    def _ask_budgets(self, pod: Object, *, dry_run: bool) -> None:
        matching = [each for each in self.budgets.values() if selects(each, pod)]
        if len(matching) > 1:
            raise SeveralBudgets
        for budget in matching:
            status, metadata = budget["status"], budget["metadata"]
            if status.get("observedGeneration", 0) < metadata["generation"]:
                raise BudgetRefused
            if status["disruptionsAllowed"] <= 0:
                raise BudgetRefused
            status["disruptionsAllowed"] -= not dry_run

    # ------------------------------------------------------------------ what users and nodes do

    def scale(self, replicas: int) -> None:
        holder = self.deployment or self.workloads.get(self.owner_uid)
        if holder:
            key = "parallelism" if holder.get("kind") == "Job" else "replicas"
            holder["spec"][key] = replicas
            holder["metadata"]["generation"] += 1

    def roll_out(self) -> None:
        holder = self.deployment or self.workloads.get(self.owner_uid)
        if holder and holder.get("kind") in (None, "StatefulSet"):
            holder["spec"]["revision"] = "2"
            holder["metadata"]["generation"] += 1

    def delete_workload(self) -> None:
        self.deployment = None
        self.workloads.clear()

    def fail(self, uid: str) -> None:
        self.pods[uid]["status"]["phase"] = "Failed"
        set_ready(self.pods[uid], ready=False)
        touch(self.pods[uid])

    def turn_unready(self, uid: str) -> None:
        set_ready(self.pods[uid], ready=False)
        touch(self.pods[uid])

    def turn_ready(self, uid: str) -> None:
        set_ready(self.pods[uid], ready=True)
        touch(self.pods[uid])

    def add_budget(self, name: str, **rule: int | str) -> None:
        self.budgets[name] = {
            "metadata": {"name": name, "uid": name, "generation": 1, "labels": {}},
            "spec": {"selector": {"matchLabels": {"app": "web"}}, **rule},
            "status": {},
        }

    def _get(self, uid: str) -> Object:
        if uid not in self.pods:
            raise Refused("NotFound")
        return self.pods[uid]
