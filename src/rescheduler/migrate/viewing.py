"""Reads what a surge needs to see: live, in one go, by quorum reads."""

import asyncio

from rescheduler.kube import KubeApi, Object, errors
from rescheduler.migrate.deciding import copies
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.model import objects
from rescheduler.wire import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NETWORK_POLICIES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Resource,
)


async def view(kube: KubeApi, intent: Intent) -> View:
    # One list of the pods, so that the original, the copy and the siblings are of one moment.
    pods, replica_sets, services, slices, budgets, policies = await asyncio.gather(
        *(
            kube.list(resource, namespace=intent.namespace)
            for resource in (
                PODS,
                REPLICA_SETS,
                SERVICES,
                ENDPOINT_SLICES,
                POD_DISRUPTION_BUDGETS,
                NETWORK_POLICIES,
            )
        )
    )
    by_uid = {each["metadata"]["uid"]: each for each in (*pods, *replica_sets)}
    named = next((pod for pod in pods if pod["metadata"]["name"] == intent.copy), None)
    ours = named is not None and copies.is_copy_of(named, intent.uid)
    replica_set = by_uid.get(intent.replica_set_uid)
    return View(
        original=by_uid.get(intent.uid),
        copy=named if ours else None,
        copy_name_taken=named is not None and not ours,
        replica_set=replica_set,
        deployment=await _deployment(kube, replica_set),
        pods=tuple(pod for pod in pods if _is_controlled(pod, intent.replica_set_uid)),
        services=tuple(services),
        slices=tuple(slices),
        budgets=tuple(budgets),
        network_policies=tuple(policies),
        replica_sets=tuple(replica_sets),
        neighbours=tuple(pods),
        target=await find(kube, NODES, None, intent.target),
    )


async def _deployment(kube: KubeApi, replica_set: Object | None) -> Object | None:
    owner = objects.controller(replica_set) if replica_set else None
    if replica_set is None or owner is None or owner["kind"] != "Deployment":
        return None
    return await find(kube, DEPLOYMENTS, replica_set["metadata"]["namespace"], owner["name"])


async def find(
    kube: KubeApi, resource: Resource, namespace: str | None, name: str
) -> Object | None:
    try:
        return await kube.get(resource, namespace, name)
    except errors.NotFound:
        return None


def _is_controlled(pod: Object, replica_set_uid: str) -> bool:
    owner = objects.controller(pod)
    return owner is not None and owner["uid"] == replica_set_uid
