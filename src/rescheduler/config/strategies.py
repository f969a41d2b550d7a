"""The sections that are named after a strategy: what is set for it alone."""

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.kinds import Amount, Flag, LabelSelector, Optional, Percentage
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.places import Place, quoted
from rescheduler.documents.settings import setting
from rescheduler.documents.shapes import Section
from rescheduler.model.selectors import EVERYTHING, Selector

STAY: Final = "Stay"
MOVE: Final = "Move"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeMaintenanceSettings:
    cordoned_nodes: bool = setting("cordonedNodes", Flag(), default=False)
    """Whether cordoned nodes are emptied too, not only those that are labelled for maintenance.
    Default false: nodes are cordoned for many reasons. A node that an autoscaler has cordoned to
    remove it is none of them: see `removedNodes`.
    """

    removed_nodes: bool = setting("removedNodes", Flag(), default=False)
    """Whether nodes that cluster-autoscaler or karpenter has begun to remove, as their taints say,
    are emptied with our help: pods that it has not evicted yet are moved, with their copy Ready
    before they go. Default false: it has room for them in mind, and two who empty a node at once
    take from each other's budgets.
    """

    excluded_namespaces: str = setting("excludedNamespaces", Choice((STAY, MOVE)), default=STAY)
    """Whether pods of `excludedNamespaces`, of kube-system and of system-critical priority `Stay`
    on a node that is to be emptied, or `Move` as the others do. Default Stay: the cluster itself
    may need them there.
    """


_TARGET: Final = Optional(Percentage(zero_allowed=False))


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceOptimizationSettings:
    """How far an overloaded node is relieved: at most to the threshold that it is above."""

    cpu_target_percent: float | None = setting("cpuTarget", _TARGET, default=None)
    """Default None: 10 points below cpuThreshold, but at least half of it."""

    memory_target_percent: float | None = setting("memoryTarget", _TARGET, default=None)
    """Default None: 10 points below memoryThreshold, but at least half of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """What each node with these labels costs, in any unit that is the same for all."""

    node_selector: Selector
    price: float


_SELECTOR: Final = LabelSelector(empty=EVERYTHING)
_AMOUNT: Final = Amount()
_PRICE: Final = Section({"nodeSelector": _SELECTOR, "price": _AMOUNT}, ("nodeSelector", "price"))


@dataclass(frozen=True, slots=True)
class Prices:
    """A list of `{nodeSelector, price}`, of which the first that matches a node counts."""

    def read(self, place: Place) -> tuple[Price, ...] | None:
        if not isinstance(place.value, list):
            place.expected("a list of nodeSelector and price")
            return None
        first_places: dict[Selector, Place] = {}
        prices = []
        for item in place.each():
            if item.value is None:
                item.expected("a mapping with nodeSelector and price")
                continue
            given = _PRICE.read(item) or {}
            selector, price = given.get("nodeSelector"), given.get("price")
            if not isinstance(selector, Selector):
                continue
            at = item.at("nodeSelector")
            if (first := first_places.setdefault(selector, at)) is not at:
                at.refuse(f"duplicate of {first} ({quoted(str(selector))}), which counts")
            elif isinstance(price, float):
                prices.append(Price(node_selector=selector, price=price))
        return tuple(prices)

    def write(self, value: tuple[Price, ...]) -> object:
        return [
            {"nodeSelector": _SELECTOR.write(each.node_selector), "price": each.price}
            for each in value
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class CostOptimizationSettings:
    prices: tuple[Price, ...] = setting("prices", Prices(), default=())
    """What nodes cost that have no annotation rescheduler.io/node-cost. Default none: nodes cost
    what their allocatable resources suggest.
    """

    move_cost_percent: float = setting("moveCost", Percentage(zero_allowed=True), default=0.25)
    """What one move costs, in per cent of the mean cost of a node. Default 0.25: four hundred moves
    are worth one node.
    """
