"""Rolls out templates: makes a ReplicaSet for each, and moves pods from the old to the new one
(pkg/controller/deployment). What a look at a Deployment does stands in `rollouts`.

It hears of no pods: that the last one has gone, for which it may wait, stands in the status of its
ReplicaSet.
"""

import random
from collections.abc import Callable
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import owning, templates
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.controllers.rollouts import Rollout
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object
from rescheduler.model.objects import controller, is_terminating, labels

KIND: Final = "Deployment"


class DeploymentController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._store = api.store
        self._indexes = Indexes.of(api.store)
        self._queue = Queue("deployment", self._sync, chance)
        self._canonical: dict[str, tuple[int, str]] = {}
        """By the UID of what has the template, and the generation that it is of."""
        self._deaf: list[Callable[[], None]] = []

    def start(self) -> None:
        self._deaf = [
            self._store.listen(wire.DEPLOYMENTS, self._hear_deployment),
            self._store.listen(wire.REPLICA_SETS, self._hear_replica_set),
        ]
        for deployment in self._store.all(wire.DEPLOYMENTS):
            self._queue.add(key_of(deployment))

    def end(self) -> None:
        for each in self._deaf:
            each()
        self._queue.end()

    # ------------------------------------------------------------------ hearing

    def _hear_deployment(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._canonical.pop(change.object["metadata"]["uid"], None)
        else:
            self._queue.add(key_of(change.object))

    def _hear_replica_set(self, change: Change) -> None:
        replica_set, before = change.object, change.before
        if change.kind == "DELETED":
            self._canonical.pop(replica_set["metadata"]["uid"], None)
        self._wake_manager(replica_set)
        has_another = before is None or controller(before) != controller(replica_set)
        if before is not None and has_another:
            self._wake_manager(before)
        is_to_be_had = controller(replica_set) is None and not is_terminating(replica_set)
        if change.kind == "DELETED" or not is_to_be_had or not labels(replica_set):
            return
        if before is None or has_another or labels(before) != labels(replica_set):
            for deployment in self._indexes.selecting(wire.DEPLOYMENTS, replica_set):
                self._queue.add(key_of(deployment))

    def _wake_manager(self, replica_set: Object) -> None:
        manager = owning.manager(self._store, replica_set, wire.DEPLOYMENTS, KIND)
        if manager is not None:
            self._queue.add(key_of(manager))

    # ------------------------------------------------------------------ looking

    def _sync(self, key: Key) -> None:
        deployment = self._store.find(wire.DEPLOYMENTS, *key)
        if deployment is None:
            return
        selector = selector_of(deployment)
        if not selector.requirements:
            # It selects everything: nobody can mean that.
            generation = deployment["metadata"]["generation"]
            status = {**(deployment.get("status") or {}), "observedGeneration": generation}
            self._api.set_status(wire.DEPLOYMENTS, deployment, status)
            return
        replica_sets = owning.claim_of(
            self._api,
            wire.REPLICA_SETS,
            deployment,
            lambda replica_set: selector.matches(labels(replica_set)),
        )
        after = Rollout(self._api, deployment, replica_sets, self._canonical_of).advance()
        if after is not None:
            self._queue.add(key, after=after)

    def _canonical_of(self, item: Object) -> str:
        metadata = item["metadata"]
        known = self._canonical.get(metadata["uid"])
        if known is None or known[0] != metadata["generation"]:
            known = metadata["generation"], templates.canonical(item["spec"]["template"])
            self._canonical[metadata["uid"]] = known
        return known[1]
