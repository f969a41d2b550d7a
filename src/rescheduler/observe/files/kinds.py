"""What files call the resources that we observe."""

from typing import Final

from rescheduler.wire import (
    CSI_NODES,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    HORIZONTAL_POD_AUTOSCALERS,
    JOBS,
    NAMESPACES,
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
)

KINDS: Final = {
    CSI_NODES: "CSINode",
    DAEMON_SETS: "DaemonSet",
    DEPLOYMENTS: "Deployment",
    ENDPOINT_SLICES: "EndpointSlice",
    HORIZONTAL_POD_AUTOSCALERS: "HorizontalPodAutoscaler",
    JOBS: "Job",
    NAMESPACES: "Namespace",
    NODES: "Node",
    PERSISTENT_VOLUME_CLAIMS: "PersistentVolumeClaim",
    PERSISTENT_VOLUMES: "PersistentVolume",
    POD_DISRUPTION_BUDGETS: "PodDisruptionBudget",
    POD_MIGRATIONS: "PodMigration",
    PODS: "Pod",
    PRIORITY_CLASSES: "PriorityClass",
    REPLICA_SETS: "ReplicaSet",
    RESOURCE_QUOTAS: "ResourceQuota",
    RUNTIME_CLASSES: "RuntimeClass",
    SERVICES: "Service",
    STATEFUL_SETS: "StatefulSet",
    STORAGE_CLASSES: "StorageClass",
    VOLUME_ATTACHMENTS: "VolumeAttachment",
}

BY_KIND: Final = {(resource.group_version, kind): resource for resource, kind in KINDS.items()}
"""By apiVersion and kind."""
