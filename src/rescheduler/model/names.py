"""Labels and annotations that are part of our interface, or of Kubernetes'."""

import hashlib
import re

PREFIX = "scheduler.alpha.kubernetes.io/"

# On the moved pod; they stay there as its history.
MIGRATION_ID = PREFIX + "migration-id"
MIGRATION_STATUS = PREFIX + "migration-status"
MIGRATED_FROM = PREFIX + "migrated-from"
MIGRATION_REASON = PREFIX + "migration-reason"
MIGRATION_TIME = PREFIX + "migration-time"
ORIGINAL_POD = PREFIX + "original-pod"
ORIGINAL_POD_NAME = PREFIX + "original-pod-name"
# As DO_NOT_DISRUPT beside it says: by that we, and not its user, asked karpenter to spare it.
OWN_DO_NOT_DISRUPT = "rescheduler.io/do-not-disrupt"
# The containers whose size was changed while the pod ran, and kept when it was moved.
RESIZED = "rescheduler.io/resized"

# On a pod that its owner wants left alone.
RESCHEDULING = PREFIX + "rescheduling"

# On a node that is to be emptied.
MAINTENANCE = PREFIX + "maintenance"

# On an original while its copy takes over: the deletion cost that its user had set.
PREVIOUS_DELETION_COST = PREFIX + "previous-deletion-cost"

# On an original that was moved before, while it is moved again: its history, to be given back.
PREVIOUS_MIGRATION = PREFIX + "previous-migration"

STATUS_IN_PROGRESS = "in-progress"
STATUS_COMPLETED = "completed"

# On a pod whose owner wants it moved in one way only: "Surge" or "Recreate".
WAY = "rescheduler.io/way"

# On a pod whose owner knows how long its requests last: counts before `migration.linger`.
LINGER = "rescheduler.io/linger"

# Why an original is not Ready that leaves its Services before it is told to end: in its condition.
LEAVING = "LeavingItsServices"

# On a node that we cordoned, and will uncordon.
CORDONED = "rescheduler.io/cordoned"

# On a node that is being emptied: which pods are left on it, and why.
MAINTENANCE_STATUS = "rescheduler.io/maintenance-status"

# On the record of a migration: whose it is, with whom it moves, and that pods are steered by it.
POD_UID = "rescheduler.io/pod-uid"
GROUP = "rescheduler.io/group"
STEERING = "rescheduler.io/steering"
# And the pass that decided it, by when it began: of one pass some are asked for minutes later.
PLANNED_IN = "rescheduler.io/pass"

# On a temporary PodDisruptionBudget: the name of the record that it belongs to.
RECORD = "rescheduler.io/migration"

# And who wanted the pod evicted, where that is why it moves.
EVICTED_BY = "rescheduler.io/evicted-by"

# On a pod, a namespace or a node: with the value "off" evictions pass at once. And on a pod or a
# namespace: for how long one is held at most.
GUARD = "rescheduler.io/guard"
GUARD_PATIENCE = "rescheduler.io/guard-patience"

# On the Lease: why nothing new is begun, since when, and by whom.
PAUSED = "rescheduler.io/paused"
PAUSED_SINCE = "rescheduler.io/paused-since"
PAUSED_BY = "rescheduler.io/paused-by"

# On a plan: what somebody says to it ("approved" or "rejected"), who, and when. On the record of a
# migration: the name of the plan that it is of.
APPROVAL = "rescheduler.io/approval"
APPROVAL_BY = "rescheduler.io/approval-by"
APPROVAL_TIME = "rescheduler.io/approval-time"
PLAN = "rescheduler.io/plan"

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
LOWEST_DELETION_COST = "-2147483648"
MIRROR_POD = "kubernetes.io/config.mirror"
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

# What other programs read and write, and we respect.
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
SAFE_TO_EVICT_VOLUMES = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
SCALE_DOWN_DISABLED = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
DO_NOT_DISRUPT = "karpenter.sh/do-not-disrupt"
NODE_POOL = "karpenter.sh/nodepool"
PREFER_NO_EVICTION = "descheduler.alpha.kubernetes.io/prefer-no-eviction"
EVICT = "descheduler.alpha.kubernetes.io/evict"
NODE_COST = "rescheduler.io/node-cost"
REVISION = "deployment.kubernetes.io/revision"
GROUPS = (
    "scheduling.x-k8s.io/pod-group",
    "pod-group.scheduling.sigs.k8s.io",
    "pod-group.scheduling.sigs.k8s.io/name",
    "kueue.x-k8s.io/pod-group-name",
)
"""Labels by which the coscheduling plugin (three names since it began) and Kueue tell which pods
belong together.
"""

READ_ON_PODS = frozenset(
    {
        MIRROR_POD,
        DELETION_COST,
        PREVIOUS_DELETION_COST,
        PREVIOUS_MIGRATION,
        MIGRATION_TIME,
        MIGRATED_FROM,
        ORIGINAL_POD,
        ORIGINAL_POD_NAME,
        SAFE_TO_EVICT,
        SAFE_TO_EVICT_VOLUMES,
        DO_NOT_DISRUPT,
        OWN_DO_NOT_DISRUPT,
        PREFER_NO_EVICTION,
        EVICT,
        WAY,
        GUARD,
        GUARD_PATIENCE,
    }
)
"""The annotations that we keep. All others stay with the server: some are large, or secret."""
READ_ON_NODES = frozenset(
    {NODE_COST, SCALE_DOWN_DISABLED, DO_NOT_DISRUPT, CORDONED, MAINTENANCE_STATUS, GUARD}
)
READ_ON_OTHERS = frozenset(
    {REVISION, RESCHEDULING, DO_NOT_DISRUPT, GUARD, GUARD_PATIENCE, EVICTED_BY}
)

OF_ONE_POD = frozenset(
    {
        "statefulset.kubernetes.io/pod-name",
        "apps.kubernetes.io/pod-index",
        "batch.kubernetes.io/job-completion-index",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid",
        "job-name",
        "controller-uid",
        MIGRATION_ID,
        MIGRATION_STATUS,
        MIGRATION_REASON,
        MIGRATED_FROM,
    }
)
"""Labels that differ between pods which are alike otherwise: with them every pod, or every run of a
CronJob, would be a class of its own.
"""
OF_ONE_PLACE = frozenset({"topology.kubernetes.io/zone", "topology.kubernetes.io/region"})
"""Labels that a pod gets from the node to which it is bound, since Kubernetes 1.35."""

SYSTEM_NAMESPACE = "kube-system"
SYSTEM_CRITICAL_PRIORITY = 2_000_000_000

_LABEL_VALUE_LIMIT = 63
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_NOT_IN_LABELS = re.compile(r"[^-A-Za-z0-9_.]+")


def label_value(text: str) -> str:
    """The text, cut with a hash where it is too long for a label, or not allowed in one."""
    if len(text) <= _LABEL_VALUE_LIMIT and _LABEL_VALUE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    kept = _NOT_IN_LABELS.sub("-", text)[: _LABEL_VALUE_LIMIT - len(digest) - 1]
    # A label value must neither begin nor end in a separator.
    return f"{kept.strip('-._')}-{digest}".lstrip("-")
