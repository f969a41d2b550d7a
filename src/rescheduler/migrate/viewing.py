"""Reads what a surge needs to see: live, in one go, by quorum reads."""

import asyncio
from collections.abc import Mapping
from typing import Any

from rescheduler.kube import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NETWORK_POLICIES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    KubeApi,
    Object,
    Resource,
    errors,
)
from rescheduler.migrate import copies
from rescheduler.migrate.facts import Intent, View


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
        pods=tuple(pod for pod in pods if _controller_uid(pod) == intent.replica_set_uid),
        services=tuple(services),
        slices=tuple(slices),
        budgets=tuple(budgets),
        network_policies=tuple(policies),
        replica_sets=tuple(replica_sets),
    )


async def _deployment(kube: KubeApi, replica_set: Object | None) -> Object | None:
    if replica_set is None:
        return None
    for reference in _owners(replica_set):
        if reference.get("controller") and reference["kind"] == "Deployment":
            namespace = replica_set["metadata"]["namespace"]
            return await find(kube, DEPLOYMENTS, namespace, reference["name"])
    return None


async def find(kube: KubeApi, resource: Resource, namespace: str, name: str) -> Object | None:
    try:
        return await kube.get(resource, namespace, name)
    except errors.NotFound:
        return None


def _controller_uid(raw: Mapping[str, Any]) -> str | None:
    return next((each["uid"] for each in _owners(raw) if each.get("controller")), None)


def _owners(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (raw.get("metadata") or {}).get("ownerReferences") or []
