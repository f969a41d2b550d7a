"""The copy that takes the place of a pod: what it is made of, and how it is known again. Pure."""

import copy
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from rescheduler.migrate.deciding import marks
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.surge import likeness, resizing
from rescheduler.model import company, names, pins
from rescheduler.model.objects import Object
from rescheduler.model.selectors import Selector

_POD_TEMPLATE_HASH = "pod-template-hash"


def withheld_label(
    replica_set: Object,
    original: Mapping[str, str],
    selectors: Iterable[Selector],
    later: Iterable[Selector] = (),
) -> str | None:
    """A label that the ReplicaSet selects by and no one else misses: without it the copy serves and
    counts like the original, and yet the ReplicaSet does not see it. `later`: it is enough for
    these to select it once it has all labels.
    """
    wanted = replica_set["spec"]["selector"].get("matchLabels") or {}
    template = (replica_set["spec"]["template"].get("metadata") or {}).get("labels") or {}
    if any(each.matches(template) != each.matches(original) for each in later):
        return None
    all_selectors = tuple(selectors)
    # The Deployment's own hash first: it means nothing to anyone else.
    for key in sorted(wanted, key=lambda each: (each != _POD_TEMPLATE_HASH, each)):
        lacking = {name: value for name, value in template.items() if name != key}
        if all(each.matches(lacking) == each.matches(original) for each in all_selectors):
            return str(key)
    return None


def has_gates(replica_set: Object) -> bool:
    """Whether its pods are Ready only once somebody says so, as the controller of a load balancer
    does when they are endpoints of its Service.
    """
    return bool(replica_set["spec"]["template"]["spec"].get("readinessGates"))


def missing_labels(replica_set: Object, pod: Object) -> dict[str, str]:
    """The labels that this pod lacks for the ReplicaSet to adopt it."""
    wanted = replica_set["spec"]["selector"].get("matchLabels") or {}
    present = pod["metadata"].get("labels") or {}
    return {key: value for key, value in wanted.items() if present.get(key) != value}


def build(  # noqa: PLR0913
    intent: Intent,
    replica_set: Object,
    *,
    withheld: str,
    at: datetime,
    target: Object | None = None,
    answer: Object | None = None,
    original: Object | None = None,
    kept: Iterable[str] = (),
) -> dict[str, Any]:
    """From what the API server would make of the ReplicaSet's own pod, where that is known, else
    from its template; never from the live pod, whose fields filled in for that one would be
    refused, or be wrong, the second time. `target`: the node. `kept`: containers with the size
    that the original has.
    """
    owner, model = replica_set["metadata"], answer or replica_set["spec"]["template"]
    metadata = model.get("metadata") or {}
    spec = _spec_of(model, is_answer=answer is not None)
    if kept and original:
        resizing.keep(spec, original, kept)
    labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k != withheld}
    annotations = metadata.get("annotations") or {}
    history, lease = marks.history(intent, at), marks.lease(intent, target, annotations)
    sizes = {names.RESIZED: ",".join(kept)} if kept else {}
    in_progress = {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}
    # Not a controller yet. When the ReplicaSet adopts the copy, this very entry becomes its
    # controller reference; should the ReplicaSet be deleted before, the copy goes with it, even if
    # we are dead by then.
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner["name"]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": intent.copy,
            "namespace": intent.namespace,
            "labels": {**labels, **history["labels"], **in_progress},
            "annotations": {**annotations, **history["annotations"], **lease, **sizes},
            "finalizers": list(metadata.get("finalizers") or ()),
            "ownerReferences": [{**reference, "uid": owner["uid"]}],
        },
        "spec": _by_all_labels(
            pins.add(spec, intent.target), metadata.get("labels") or {}, withheld
        ),
    }


def _spec_of(model: Object, *, is_answer: bool) -> dict[str, Any]:
    spec: dict[str, Any] = copy.deepcopy(dict(model["spec"]))
    if is_answer:
        spec.pop("nodeName", None)
        likeness.take_out_merged(spec)
    return spec


def _by_all_labels(
    spec: dict[str, Any], labels: Mapping[str, str], withheld: str
) -> dict[str, Any]:
    """What the API server reads off a pod's labels once, as it is created, for good: for one that
    lacks a label, `matchLabelKeys` would say less than for its siblings, and keep others away.
    """
    for _, rule in company.rules(spec):
        for field, operator in company.LABEL_KEYS:
            if withheld not in (rule.get(field) or ()):
                continue
            rule[field] = [key for key in rule[field] if key != withheld]
            selector = rule["labelSelector"]
            said = {"key": withheld, "operator": operator, "values": [labels[withheld]]}
            selector["matchExpressions"] = [*(selector.get("matchExpressions") or ()), said]
    return spec


def is_copy_of(pod: Object, original_uid: str, migration: str, name: str) -> bool:
    """Labels alone could be anybody's: name, id and annotation must all agree."""
    metadata = pod["metadata"]
    return (
        metadata["name"] == name
        and (metadata.get("labels") or {}).get(names.MIGRATION_ID) == migration
        and (metadata.get("annotations") or {}).get(names.ORIGINAL_POD) == original_uid
    )
