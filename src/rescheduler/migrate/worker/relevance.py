"""Which changes in a namespace concern a migration: it looks again for those only. Pure."""

from rescheduler.migrate.deciding import selecting
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import objects
from rescheduler.model.objects import Object
from rescheduler.wire import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    Resource,
)


class Relevance:
    def __init__(self, intent: Intent, original: Object | None = None) -> None:
        self._owner = intent.owner.uid if intent.owner else ""
        self._owner_name = intent.owner.name if intent.owner else ""
        self._pods = {intent.uid}
        self._copy = intent.copy
        self._labels = objects.labels(original) if original else None

    def is_about(self, resource: Resource, changed: Object) -> bool:
        if resource == PODS:
            return self._is_about_pod(changed)
        if resource in (REPLICA_SETS, STATEFUL_SETS):
            return bool(changed["metadata"]["uid"] == self._owner)
        if resource == DEPLOYMENTS:
            # The name of a ReplicaSet begins with that of its Deployment.
            return self._owner_name.startswith(changed["metadata"]["name"] + "-")
        if resource == ENDPOINT_SLICES:
            return any(
                (endpoint.get("targetRef") or {}).get("uid") in self._pods
                for endpoint in changed.get("endpoints") or ()
            )
        if resource == POD_DISRUPTION_BUDGETS and self._labels is not None:
            return bool(selecting.matching([changed], self._labels))
        return True

    def _is_about_pod(self, pod: Object) -> bool:
        metadata = pod["metadata"]
        if metadata["name"] == self._copy:
            self._pods.add(metadata["uid"])
            return True
        controller = objects.controller(pod)
        is_sibling = controller is not None and controller["uid"] == self._owner
        return metadata["uid"] in self._pods or is_sibling
