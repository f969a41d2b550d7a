"""What the pods of a DaemonSet are, and on which nodes they may be."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from rescheduler.embedded.controllers import owning
from rescheduler.embedded.controllers.revisions import REVISION_OF_POD
from rescheduler.kube import Object
from rescheduler.model import daemons_to_come, taints
from rescheduler.model.daemons_to_come import Daemon
from rescheduler.model.objects import annotations

_NAME: Final = "metadata.name"
_STAYS_DESPITE: Final = "NoSchedule"
_GENERATION: Final = "deprecated.daemonset.template.generation"
_GENERATION_OF_POD: Final = "pod-template-generation"
"""From before there were revisions: still written, and of no use to anybody here."""


class Verdict(NamedTuple):
    """Of a node (NodeShouldRunDaemonPod)."""

    is_wanted: bool
    may_stay: bool
    """A pod that is there already: a taint that keeps others away drives none out."""


class Places:
    """Where one DaemonSet wants pods. It is asked often, and nodes change seldom."""

    def __init__(self, daemon_set: Object) -> None:
        self.template: Object = daemon_set["spec"]["template"]
        self.daemon = daemons_to_come.read(daemon_set)
        self._known: dict[str, tuple[object, object, Verdict]] = {}

    def verdict(self, node: Object) -> Verdict:
        metadata = node["metadata"]
        marks, tainted = metadata.get("labels"), (node.get("spec") or {}).get("taints")
        known = self._known.get(metadata["name"])
        # The store replaces what changes, so that the same object says the same.
        if known is not None and known[0] is marks and known[1] is tainted:
            return known[2]
        found = _verdict(self.daemon, metadata["name"], marks or {}, tainted or ())
        self._known[metadata["name"]] = (marks, tainted, found)
        return found


def _verdict(
    daemon: Daemon, name: str, marks: Mapping[str, str], tainted: tuple[Mapping[str, Any], ...]
) -> Verdict:
    if daemon.only_node not in ("", name) or not daemon.affinity.allows(marks, name):
        return Verdict(is_wanted=False, may_stay=False)
    driving_out = [each for each in tainted if each.get("effect") != _STAYS_DESPITE]
    return Verdict(
        is_wanted=taints.untolerated(tainted, daemon.tolerations) is None,
        may_stay=taints.untolerated(driving_out, daemon.tolerations) is None,
    )


def pod_of(daemon_set: Object, daemon: Daemon, revision: str, node: str) -> Object:
    """As it is to be created for a node."""
    metadata, template = daemon_set["metadata"], daemon_set["spec"]["template"]
    given, spec = template.get("metadata") or {}, template.get("spec") or {}
    marks = {**(given.get("labels") or {}), REVISION_OF_POD: revision}
    if generation := annotations(daemon_set).get(_GENERATION):
        marks[_GENERATION_OF_POD] = generation
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
            "labels": marks,
            "annotations": given.get("annotations"),
            "finalizers": given.get("finalizers"),
            "ownerReferences": [owning.reference(daemon_set)],
        },
        "spec": {
            **spec,
            "affinity": _pinned(spec.get("affinity") or {}, node),
            "tolerations": _merged(daemon.tolerations),
        },
    }


def _merged(tolerations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Of those about the same, the last: the controller's own have no end, and take the place of
    those that have one.
    """
    about: dict[tuple[Any, ...], Mapping[str, Any]] = {}
    for each in tolerations:
        about[tuple(each.get(key) for key in ("key", "operator", "value", "effect"))] = each
    return list(about.values())


def target_of(pod: Object) -> str:
    """The node that it is on, or is pinned to; empty where nobody can tell."""
    if bound := pod["spec"].get("nodeName"):
        return str(bound)
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    for term in required.get("nodeSelectorTerms") or ():
        for field in term.get("matchFields") or ():
            if field["key"] == _NAME and field["operator"] == "In":
                return str(field["values"][0]) if len(field["values"]) == 1 else ""
    return ""


def _pinned(affinity: Object, node: str) -> Object:
    """Its terms are replaced: the node was chosen by them."""
    field = {"key": _NAME, "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {
        **affinity,
        "nodeAffinity": {
            **(affinity.get("nodeAffinity") or {}),
            "requiredDuringSchedulingIgnoredDuringExecution": required,
        },
    }
