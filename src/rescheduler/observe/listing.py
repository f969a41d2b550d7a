"""Lists what one pass needs and reads it into a snapshot."""

import asyncio

from rescheduler.kube import DEPLOYMENTS, NODES, PODS, REPLICA_SETS, KubeApi
from rescheduler.model.cluster import Snapshot
from rescheduler.observe import reading


async def observe(kube: KubeApi, *, node_selector: str = "") -> Snapshot:
    """Pods of every namespace are listed, for they all take room on the nodes in scope."""
    nodes, pods, replica_sets, deployments = await asyncio.gather(
        kube.list(NODES, labels=node_selector),
        kube.list(PODS),
        kube.list(REPLICA_SETS),
        kube.list(DEPLOYMENTS),
    )
    in_scope = {node["metadata"]["name"] for node in nodes}
    by_uid = {deployment["metadata"]["uid"]: deployment for deployment in deployments}
    workloads = (reading.workload(each, by_uid) for each in replica_sets)
    return Snapshot(
        nodes=tuple(reading.node(each) for each in nodes),
        pods=tuple(reading.pod(each) for each in pods if each["spec"].get("nodeName") in in_scope),
        workloads={workload.uid: workload for workload in workloads},
    )
