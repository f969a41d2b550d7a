"""The kinds of objects that the embedded cluster serves, and what its API server must know of each.

A kind that stands here and has no controller is kept, listed and watched, and that is all.
"""

from dataclasses import dataclass
from typing import Final

from rescheduler import wire
from rescheduler.wire import Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    resource: Resource
    name: str
    namespaced: bool = True
    has_status: bool = True
    """Its status is changed by the subresource only."""
    counts_generations: bool = True
    """A change of its spec, or of all but its metadata where it has none, is another generation."""


CONFIG_MAPS: Final = Resource("v1", "configmaps")
SERVICE_ACCOUNTS: Final = Resource("v1", "serviceaccounts")
CONTROLLER_REVISIONS: Final = Resource("apps/v1", "controllerrevisions")


def _plain(resource: Resource, name: str, *, namespaced: bool = True) -> Kind:
    return Kind(
        resource=resource,
        name=name,
        namespaced=namespaced,
        has_status=False,
        counts_generations=False,
    )


def _with_status(resource: Resource, name: str, *, namespaced: bool = True) -> Kind:
    return Kind(resource=resource, name=name, namespaced=namespaced, counts_generations=False)


KINDS: Final = (
    _with_status(wire.NODES, "Node", namespaced=False),
    _with_status(wire.NAMESPACES, "Namespace", namespaced=False),
    # Pods count generations since 1.34; nothing here looks at them, and they are counted all the
    # same, so that a real cluster and this one show alike objects.
    Kind(resource=wire.PODS, name="Pod"),
    _with_status(wire.SERVICES, "Service"),
    _with_status(wire.PERSISTENT_VOLUME_CLAIMS, "PersistentVolumeClaim"),
    _with_status(wire.PERSISTENT_VOLUMES, "PersistentVolume", namespaced=False),
    _with_status(wire.RESOURCE_QUOTAS, "ResourceQuota"),
    Kind(resource=wire.DEPLOYMENTS, name="Deployment"),
    Kind(resource=wire.REPLICA_SETS, name="ReplicaSet"),
    Kind(resource=wire.STATEFUL_SETS, name="StatefulSet"),
    Kind(resource=wire.DAEMON_SETS, name="DaemonSet"),
    Kind(resource=wire.JOBS, name="Job"),
    _with_status(wire.HORIZONTAL_POD_AUTOSCALERS, "HorizontalPodAutoscaler"),
    Kind(resource=wire.POD_DISRUPTION_BUDGETS, name="PodDisruptionBudget"),
    Kind(resource=wire.POD_MIGRATIONS, name="PodMigration"),
    Kind(resource=wire.RESCHEDULE_PLANS, name="ReschedulePlan"),
    Kind(
        resource=wire.NETWORK_POLICIES,
        name="NetworkPolicy",
        has_status=False,
    ),
    Kind(resource=wire.ENDPOINT_SLICES, name="EndpointSlice", has_status=False),
    _plain(wire.STORAGE_CLASSES, "StorageClass", namespaced=False),
    _plain(wire.CSI_NODES, "CSINode", namespaced=False),
    _with_status(wire.VOLUME_ATTACHMENTS, "VolumeAttachment", namespaced=False),
    # Of the first generation, for ever.
    Kind(resource=wire.PRIORITY_CLASSES, name="PriorityClass", namespaced=False, has_status=False),
    _plain(wire.RUNTIME_CLASSES, "RuntimeClass", namespaced=False),
    _plain(wire.LEASES, "Lease"),
    _plain(wire.EVENTS, "Event"),
    _plain(CONFIG_MAPS, "ConfigMap"),
    _plain(wire.SECRETS, "Secret"),
    # Kept, but nobody is asked: evictions have a guard of their own here.
    Kind(
        resource=wire.VALIDATING_WEBHOOKS,
        name="ValidatingWebhookConfiguration",
        namespaced=False,
        has_status=False,
    ),
    _plain(SERVICE_ACCOUNTS, "ServiceAccount"),
    _plain(CONTROLLER_REVISIONS, "ControllerRevision"),
)
BY_RESOURCE: Final = {kind.resource: kind for kind in KINDS}
BY_NAME: Final = {kind.name: kind for kind in KINDS}
