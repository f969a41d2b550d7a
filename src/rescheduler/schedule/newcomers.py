"""A pod that a scheduler asks about: what is known of it before it has a node. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.model import names, resources
from rescheduler.model.objects import Object, annotations, controller
from rescheduler.schedule.table import NodeTable, Steering

_USUAL: Final = (100.0, float(200 * 2**20))
"""What a pod that asks for nothing is taken to need when nodes are compared: so does kube-scheduler
(100m and 200Mi). Else a burst of such pods would weigh nothing, and all go to one node.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Newcomer:
    uid: str
    namespace: str
    name: str
    owner_uid: str
    """Empty: nobody controls it."""
    asks: tuple[float, float]
    """Of cpu, in thousandths, and memory, in bytes."""
    belongs_to_its_node: bool
    """Of a DaemonSet: it is the same to it how loaded the node is, and what is to become of it."""
    is_copy: bool
    """Made by us for one node, which was judged when it was planned."""

    @property
    def weighs(self) -> tuple[float, float]:
        cpu, memory = self.asks
        return cpu or _USUAL[0], memory or _USUAL[1]

    def steering(self, table: NodeTable) -> Steering | None:
        """The migration that it is the successor of, if any."""
        found: Sequence[Steering] = table.steering.get(self.owner_uid) or ()
        fitting = [each for each in found if not each.keeps_name or each.pod == self.name]
        return fitting[0] if fitting else None


def newcomer(pod: Object) -> Newcomer:
    """Raises ValueError when it is no pod."""
    metadata, spec = _mapping(pod, "metadata"), _mapping(pod, "spec")
    asks = resources.of_pod(spec)
    owner = controller(pod) or {}
    return Newcomer(
        uid=str(metadata.get("uid") or ""),
        namespace=str(metadata.get("namespace") or ""),
        name=str(metadata.get("name") or ""),
        owner_uid=str(owner.get("uid") or ""),
        asks=(float(asks.get(resources.CPU, 0)), float(asks.get(resources.MEMORY, 0))),
        belongs_to_its_node=owner.get("kind") == "DaemonSet",
        is_copy=names.ORIGINAL_POD in annotations(pod),
    )


def _mapping(pod: Object, name: str) -> Mapping[str, Any]:
    found = pod.get(name)
    if not isinstance(found, Mapping):
        raise ValueError(f"{name}: a mapping is needed")  # noqa: TRY004 - the document is wrong
    return found
