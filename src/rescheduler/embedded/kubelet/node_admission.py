"""What a kubelet asks of a pod that was bound to its node before it runs it.

Follows pkg/kubelet/lifecycle/predicate.go. The scheduler has asked the same; a pod that names its
node itself, or comes when the node has changed meanwhile, is refused here, for good.
"""

from collections.abc import Mapping
from typing import NamedTuple

from rescheduler.embedded.store import Key, key_of
from rescheduler.kube import Object
from rescheduler.model import node_affinity, resources, taints
from rescheduler.model.objects import labels
from rescheduler.model.resources import Resources


class Refusal(NamedTuple):
    reason: str
    message: str


class NodeRooms:
    """What the pods that each kubelet has let in hold of its node."""

    def __init__(self) -> None:
        self._held: dict[str, dict[Key, Resources]] = {}

    def admit(self, pod: Object, node: Object) -> Refusal | None:
        """None: it was let in, and holds its room from now on."""
        refused = _misplaced(pod, node) or self._too_large(pod, node)
        if refused is None:
            self.hold(pod)
        return refused

    def hold(self, pod: Object) -> None:
        place = self._held.setdefault(pod["spec"]["nodeName"], {})
        place[key_of(pod)] = resources.of_pod(pod["spec"])

    def release(self, pod: Object) -> None:
        place = self._held.get(pod["spec"].get("nodeName") or "")
        if place is not None:
            place.pop(key_of(pod), None)

    def _too_large(self, pod: Object, node: Object) -> Refusal | None:
        name = node["metadata"]["name"]
        others = [each for key, each in self._held.get(name, {}).items() if key != key_of(pod)]
        used = resources.add(*others)
        room = resources.read((node.get("status") or {}).get("allocatable"))
        for resource, asked in resources.of_pod(pod["spec"]).items():
            if asked and _is_kept_account_of(resource, room):
                has, taken = room.get(resource, 0), used.get(resource, 0)
                if asked > has - taken:
                    return Refusal(
                        f"OutOf{resource}",
                        f"Node didn't have enough resource: {resource}, requested: {asked}, "
                        f"used: {taken}, capacity: {has}",
                    )
        return None


def _is_kept_account_of(resource: str, room: Mapping[str, int]) -> bool:
    # An extended resource that the node does not know of is the scheduler's affair alone.
    return "/" not in resource or resource in room


def _misplaced(pod: Object, node: Object) -> Refusal | None:
    if not node_affinity.required(pod["spec"]).allows(labels(node), node["metadata"]["name"]):
        return _failed("NodeAffinity", "node(s) didn't match Pod's node affinity/selector")
    driving_out = [
        each
        for each in (node.get("spec") or {}).get("taints") or ()
        if each.get("effect") == "NoExecute"
    ]
    if taints.untolerated(driving_out, pod["spec"].get("tolerations") or ()):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def _failed(predicate: str, words: str) -> Refusal:
    return Refusal(predicate, f"Predicate {predicate} failed: {words}")
