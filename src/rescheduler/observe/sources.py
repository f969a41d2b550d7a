"""Everything that can be observed, and what it is needed for.

Only what somebody asks for is followed: some kinds are as many as pods (EndpointSlices), and some
clusters have none of the others.
"""

from typing import Final

from rescheduler.wire import (
    CSI_NODES,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    NAMESPACES,
    NETWORK_POLICIES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    POD_MIGRATIONS,
    PODS,
    PRIORITY_CLASSES,
    REPLICA_SETS,
    RESOURCE_QUOTAS,
    RUNTIME_CLASSES,
    SERVICES,
    STATEFUL_SETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Resource,
)

ALL: Final = (
    NODES,
    PODS,
    NAMESPACES,
    # Who owns the pods, and what may be asked of them at once.
    REPLICA_SETS,
    DEPLOYMENTS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    POD_DISRUPTION_BUDGETS,
    HORIZONTAL_POD_AUTOSCALERS,
    RESOURCE_QUOTAS,
    PRIORITY_CLASSES,
    RUNTIME_CLASSES,
    # Who talks to them.
    SERVICES,
    NETWORK_POLICIES,
    ENDPOINT_SLICES,
    # Where their data is.
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    STORAGE_CLASSES,
    CSI_NODES,
    VOLUME_ATTACHMENTS,
    # What we have done with them.
    POD_MIGRATIONS,
)

BY_NAME: Final = {resource.plural: resource for resource in ALL}

_FIELDS: Final = {PODS: "status.phase!=Succeeded,status.phase!=Failed"}


def fields_of(resource: Resource) -> str:
    """What the server is asked to leave out: finished pods hold nothing, and may be many."""
    return _FIELDS.get(resource, "")
