"""From the objects of a namespace to what one migration sees of them; and which changes concern it:
it looks again for those only. Pure.
"""

from collections.abc import Iterable, Mapping

from rescheduler.migrate.deciding import selecting
from rescheduler.migrate.deciding.facts import Intent, Owner, View
from rescheduler.migrate.deciding.surge import copies
from rescheduler.model import objects
from rescheduler.model.objects import Object
from rescheduler.wire import (
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    NETWORK_POLICIES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    Resource,
)

WATCHED = (
    PODS,
    REPLICA_SETS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    ENDPOINT_SLICES,
    POD_DISRUPTION_BUDGETS,
)
"""What may change while a migration waits, and matters to it."""
READ_ONCE = (SERVICES, NETWORK_POLICIES, DAEMON_SETS, JOBS, PERSISTENT_VOLUME_CLAIMS)
"""What only its beginning depends on."""

Objects = Mapping[Resource, Iterable[Object]]


def owner_of(pod: Object) -> Owner | None:
    reference = objects.controller(pod)
    if reference is None:
        return None
    return Owner(reference["apiVersion"], reference["kind"], reference["name"], reference["uid"])


def find_original(found: Objects, intent: Intent) -> Object | None:
    return next((pod for pod in found[PODS] if pod["metadata"]["uid"] == intent.uid), None)


def view(
    found: Objects,
    intent: Intent,
    *,
    target: Object | None,
    source: Object | None,
    is_live: bool,
) -> View:
    pods = tuple(found[PODS])
    named = next((pod for pod in pods if pod["metadata"]["name"] == intent.copy), None)
    is_ours = named is not None and copies.is_copy_of(named, intent.uid, intent.id, intent.copy)
    owner = intent.owner.uid if intent.owner else ""
    replica_set = _with_uid(found[REPLICA_SETS], owner)
    return View(
        original=_with_uid(pods, intent.uid),
        copy=named if is_ours else None,
        copy_name_taken=named is not None and not is_ours,
        replica_set=replica_set,
        stateful_set=_with_uid(found[STATEFUL_SETS], owner),
        job=_with_uid(found.get(JOBS, ()), owner),
        deployment=_deployment(found[DEPLOYMENTS], replica_set),
        pods=tuple(pod for pod in pods if _is_controlled(pod, owner)),
        services=tuple(found.get(SERVICES, ())),
        slices=tuple(found[ENDPOINT_SLICES]),
        budgets=tuple(found[POD_DISRUPTION_BUDGETS]),
        network_policies=tuple(found.get(NETWORK_POLICIES, ())),
        replica_sets=tuple(found[REPLICA_SETS]),
        stateful_sets=tuple(found[STATEFUL_SETS]),
        daemon_sets=tuple(found.get(DAEMON_SETS, ())),
        claims=tuple(found.get(PERSISTENT_VOLUME_CLAIMS, ())),
        neighbours=pods,
        target=target,
        source=source,
        is_live=is_live,
    )


def _with_uid(candidates: Iterable[Object], uid: str) -> Object | None:
    return next((each for each in candidates if uid and each["metadata"]["uid"] == uid), None)


def _deployment(deployments: Iterable[Object], replica_set: Object | None) -> Object | None:
    owner = objects.controller(replica_set) if replica_set else None
    if owner is None or owner["kind"] != "Deployment":
        return None
    return _with_uid(deployments, owner["uid"])


def _is_controlled(pod: Object, owner: str) -> bool:
    reference = objects.controller(pod)
    return bool(owner) and reference is not None and reference["uid"] == owner


# ---------------------------------------------------------------------- changes


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
