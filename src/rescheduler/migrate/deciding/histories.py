"""What a moved pod carries as its history. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import names
from rescheduler.model.objects import Object, labels


def of(intent: Intent, at: datetime) -> Mapping[str, Any]:
    """The change to the metadata of a successor that the workload itself has made. What may be too
    long for a label stands in full in an annotation.
    """
    return {
        "labels": {
            names.MIGRATION_ID: intent.id,
            names.MIGRATION_STATUS: names.STATUS_COMPLETED,
            names.MIGRATED_FROM: names.label_value(intent.source),
            names.MIGRATION_REASON: names.label_value(intent.strategy),
        },
        "annotations": {
            names.MIGRATION_TIME: at.isoformat(timespec="seconds"),
            names.ORIGINAL_POD: intent.uid,
            names.ORIGINAL_POD_NAME: intent.pod,
            names.MIGRATED_FROM: intent.source,
            names.MIGRATION_REASON: intent.strategy,
        },
    }


def is_on(pod: Object, intent: Intent) -> bool:
    told = labels(pod)
    is_ours = told.get(names.MIGRATION_ID) == intent.id
    return is_ours and told.get(names.MIGRATION_STATUS) == names.STATUS_COMPLETED
