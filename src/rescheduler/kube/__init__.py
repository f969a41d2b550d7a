"""The only door to the API server.

In: requests of the stages, in the vocabulary of `api.KubeApi`. Out: raw JSON objects, and errors
named by what they mean for the caller. What does not belong here: any opinion about pods.
"""

from rescheduler.kube import errors
from rescheduler.kube.api import (
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    NETWORK_POLICIES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    REPLICA_SETS,
    SERVICES,
    Event,
    KubeApi,
    Object,
    Resource,
)
from rescheduler.kube.client import connect

__all__ = [
    "DEPLOYMENTS",
    "ENDPOINT_SLICES",
    "NETWORK_POLICIES",
    "NODES",
    "PODS",
    "POD_DISRUPTION_BUDGETS",
    "REPLICA_SETS",
    "SERVICES",
    "Event",
    "KubeApi",
    "Object",
    "Resource",
    "connect",
    "errors",
]
