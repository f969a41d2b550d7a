"""What karpenter and we did to the same nodes and pods, and when."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from testbed.api import Object

FILLED_SECONDS = 600.0
_DISRUPTED = "karpenter.sh/disrupted"


@dataclass(slots=True, kw_only=True)
class Chronicle:
    """Times are seconds of whatever clock its owner has."""

    nodes: set[str] = field(default_factory=set)
    removed: dict[str, float] = field(default_factory=dict)
    """When karpenter began with it."""
    asked: dict[str, float] = field(default_factory=dict)
    records: dict[str, Object] = field(default_factory=dict)
    """The migrations by UID, as last seen; they are deleted after a while."""

    def note(self, now: float, records: Iterable[Object], nodes: Iterable[Object]) -> None:
        for record in records:
            self.records[record["metadata"]["uid"]] = record
            self.asked.setdefault(record["metadata"]["uid"], now)
        there = {each["metadata"]["name"]: each for each in nodes}
        self.nodes |= set(there)
        leaving = {name for name, node in there.items() if is_leaving(node)}
        for name in leaving | (self.nodes - set(there)):
            self.removed.setdefault(name, now)

    def moved(self) -> dict[str, Object]:
        """All that were begun and not taken back, by the pod's UID."""
        return {
            record["spec"]["pod"]["uid"]: record
            for record in self.records.values()
            if (record.get("status") or {}).get("phase") != "Failed"
        }

    def moved_twice(self) -> list[str]:
        moved = self.moved()
        successors = [(each.get("status") or {}).get("newPod") or {} for each in moved.values()]
        return [each["name"] for each in successors if each.get("uid") in moved]

    def filled_before_removal(self) -> list[str]:
        """Nodes that we brought a pod to, and that karpenter took away soon afterwards."""
        return [
            f"{each['spec']['target']}: {each['spec']['pod']['name']}"
            for uid, each in self.records.items()
            if (each.get("status") or {}).get("phase") != "Failed"
            and 0 <= self._removal_of(each["spec"]["target"]) - self.asked[uid] < FILLED_SECONDS
        ]

    def _removal_of(self, node: str) -> float:
        return self.removed.get(node, float("inf"))


def is_leaving(node: Object) -> bool:
    keys = [taint["key"] for taint in node["spec"].get("taints") or ()]
    return "deletionTimestamp" in node["metadata"] or _DISRUPTED in keys
