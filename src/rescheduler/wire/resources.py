"""The kinds of objects that we read or write, by the names that the API server has for them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Resource:
    group_version: str
    plural: str

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        """Of names as they may stand in an address: who sends requests sees to that."""
        parts = ["/api" if self.group_version == "v1" else "/apis", self.group_version]
        if namespace:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        if name:
            parts.append(name)
        return "/".join(parts)


NODES = Resource("v1", "nodes")
PODS = Resource("v1", "pods")
NAMESPACES = Resource("v1", "namespaces")
SERVICES = Resource("v1", "services")
PERSISTENT_VOLUME_CLAIMS = Resource("v1", "persistentvolumeclaims")
PERSISTENT_VOLUMES = Resource("v1", "persistentvolumes")
RESOURCE_QUOTAS = Resource("v1", "resourcequotas")
DEPLOYMENTS = Resource("apps/v1", "deployments")
REPLICA_SETS = Resource("apps/v1", "replicasets")
STATEFUL_SETS = Resource("apps/v1", "statefulsets")
DAEMON_SETS = Resource("apps/v1", "daemonsets")
JOBS = Resource("batch/v1", "jobs")
HORIZONTAL_POD_AUTOSCALERS = Resource("autoscaling/v2", "horizontalpodautoscalers")
POD_DISRUPTION_BUDGETS = Resource("policy/v1", "poddisruptionbudgets")
NETWORK_POLICIES = Resource("networking.k8s.io/v1", "networkpolicies")
ENDPOINT_SLICES = Resource("discovery.k8s.io/v1", "endpointslices")
STORAGE_CLASSES = Resource("storage.k8s.io/v1", "storageclasses")
CSI_NODES = Resource("storage.k8s.io/v1", "csinodes")
VOLUME_ATTACHMENTS = Resource("storage.k8s.io/v1", "volumeattachments")
PRIORITY_CLASSES = Resource("scheduling.k8s.io/v1", "priorityclasses")
RUNTIME_CLASSES = Resource("node.k8s.io/v1", "runtimeclasses")
EVENTS = Resource("v1", "events")
BINDINGS = Resource("v1", "bindings")
POD_MIGRATIONS = Resource("rescheduler.io/v1alpha1", "podmigrations")
RESCHEDULE_PLANS = Resource("rescheduler.io/v1alpha1", "rescheduleplans")
SECRETS = Resource("v1", "secrets")
LEASES = Resource("coordination.k8s.io/v1", "leases")
SELF_SUBJECT_ACCESS_REVIEWS = Resource("authorization.k8s.io/v1", "selfsubjectaccessreviews")
SELF_SUBJECT_REVIEWS = Resource("authentication.k8s.io/v1", "selfsubjectreviews")
VALIDATING_WEBHOOKS = Resource("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations")
NODE_METRICS = Resource("metrics.k8s.io/v1beta1", "nodes")
POD_METRICS = Resource("metrics.k8s.io/v1beta1", "pods")

ALL_RESOURCES = tuple(each for each in list(globals().values()) if isinstance(each, Resource))
