"""Labels and annotations that are part of our interface, or of Kubernetes'."""

import hashlib

PREFIX = "scheduler.alpha.kubernetes.io/"

# On the moved pod; they stay there as its history.
MIGRATION_ID = PREFIX + "migration-id"
MIGRATION_STATUS = PREFIX + "migration-status"
MIGRATED_FROM = PREFIX + "migrated-from"
MIGRATION_REASON = PREFIX + "migration-reason"
MIGRATION_TIME = PREFIX + "migration-time"
ORIGINAL_POD = PREFIX + "original-pod"
ORIGINAL_POD_NAME = PREFIX + "original-pod-name"

# On a pod that its owner wants left alone.
RESCHEDULING = PREFIX + "rescheduling"

# On an original while its copy takes over: the deletion cost that its user had set.
PREVIOUS_DELETION_COST = PREFIX + "previous-deletion-cost"

STATUS_IN_PROGRESS = "in-progress"
STATUS_COMPLETED = "completed"

DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
LOWEST_DELETION_COST = "-2147483648"
MIRROR_POD = "kubernetes.io/config.mirror"
CONTROL_PLANE = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")

SYSTEM_CRITICAL_PRIORITY = 2_000_000_000

_LABEL_VALUE_LIMIT = 63


def label_value(text: str) -> str:
    """The text, cut with a hash where it is too long for a label."""
    if len(text) <= _LABEL_VALUE_LIMIT:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:10]
    # A label value must not end in a separator.
    return text[: _LABEL_VALUE_LIMIT - len(digest) - 1].rstrip("-._") + "-" + digest
