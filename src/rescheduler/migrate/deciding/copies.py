"""The copy that takes the place of a pod: what it is made of, and how it is known again. Pure.

The copy is also the record of its migration: whoever finds it can tell what it stands for, and
finish or undo it. It is made from the ReplicaSet's template, never from the live pod, whose fields
filled in by admission would be refused, or be wrong, the second time.
"""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rescheduler.model import names, pins
from rescheduler.model.objects import Object
from rescheduler.model.selectors import Selector

_POD_TEMPLATE_HASH = "pod-template-hash"
_SUFFIX_LENGTH = 10
# A pod's name becomes its host name, which is cut at 63.
_NAME_LIMIT = 63


def migration_id(original_uid: str) -> str:
    """The same for every try to move this pod, so that a repeated request is one migration."""
    return hashlib.sha256(original_uid.encode()).hexdigest()[:16]


def copy_name(replica_set: str, original_uid: str) -> str:
    """Known before the copy exists: a create whose answer was lost is found again under it."""
    suffix = "-" + migration_id(original_uid)[:_SUFFIX_LENGTH]
    return replica_set[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix


def withheld_label(
    replica_set: Object, original: Mapping[str, str], selectors: Iterable[Selector]
) -> str | None:
    """A label that the ReplicaSet selects by and no one else misses: without it the copy serves and
    counts like the original, and yet the ReplicaSet does not see it.
    """
    wanted = replica_set["spec"]["selector"].get("matchLabels") or {}
    template = (replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    all_selectors = tuple(selectors)
    # The Deployment's own hash first: it means nothing to anyone else.
    for key in sorted(wanted, key=lambda each: (each != _POD_TEMPLATE_HASH, each)):
        copy = {name: value for name, value in template.items() if name != key}
        if all(each.matches(copy) == each.matches(original) for each in all_selectors):
            return str(key)
    return None


def missing_labels(replica_set: Object, pod: Object) -> dict[str, str]:
    """The labels that this pod lacks for the ReplicaSet to adopt it."""
    wanted = replica_set["spec"]["selector"].get("matchLabels") or {}
    present = pod["metadata"].get("labels") or {}
    return {key: value for key, value in wanted.items() if present.get(key) != value}


def build(
    replica_set: Object,
    original: Object,
    *,
    target: str,
    strategy: str,
    withheld: str,
    at: datetime,
) -> dict[str, Any]:
    owner, template = replica_set["metadata"], replica_set["spec"]["template"]
    uid, source = original["metadata"]["uid"], original["spec"]["nodeName"]
    metadata = template.get("metadata") or {}
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != withheld}
    history = {
        names.MIGRATION_ID: migration_id(uid),
        names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS,
        names.MIGRATED_FROM: names.label_value(source),
        names.MIGRATION_REASON: names.label_value(strategy),
    }
    annotations = {
        names.ORIGINAL_POD: uid,
        names.ORIGINAL_POD_NAME: original["metadata"]["name"],
        names.MIGRATED_FROM: source,
        names.MIGRATION_TIME: at.isoformat(timespec="seconds"),
    }
    # Not a controller yet. When the ReplicaSet adopts the copy, this very entry becomes its
    # controller reference; should the ReplicaSet be deleted before, the copy goes with it, even if
    # we are dead by then.
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["name"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": copy_name(owner["name"], uid),
            "namespace": owner["namespace"],
            "labels": labels | history,
            "annotations": {**(metadata.get("annotations") or {}), **annotations},
            "finalizers": list(metadata.get("finalizers") or ()),
            "ownerReferences": [{**reference, "uid": owner["uid"]}],
        },
        "spec": pins.add(template["spec"], target),
    }


def is_copy_of(pod: Object, original_uid: str) -> bool:
    """Labels alone could be anybody's: name, id and annotation must all agree."""
    metadata = pod["metadata"]
    identity = migration_id(original_uid)
    return (
        (metadata.get("labels") or {}).get(names.MIGRATION_ID) == identity
        and (metadata.get("annotations") or {}).get(names.ORIGINAL_POD) == original_uid
        and metadata["name"].endswith("-" + identity[:_SUFFIX_LENGTH])
    )
