"""NodeMaintenance: empties the nodes that a person wants emptied, as far as pods may leave them."""

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from rescheduler.model.cluster import Node
from rescheduler.model.columns import Flag
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.moves import Emptying, Refusal, Report
from rescheduler.model.strategies import NODE_MAINTENANCE
from rescheduler.plan import emptying
from rescheduler.plan.desk import Desk
from rescheduler.plan.fitting.nodes import is_cordoned, who_removes
from rescheduler.plan.relocating import after_the_move, relocate
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = NODE_MAINTENANCE

_NAMED: Final = 10
"""Pods that a note names; the plan lists every one of them among its refusals."""


def decide(desk: Desk) -> Report:
    nodes = _nodes_to_empty(desk)
    if not nodes:
        return Report(strategy=NAME, acted=False, summary="no node is in maintenance")
    present = {node: desk.placement.rows_on(node) for node in nodes}
    free = [row for node in nodes for row in desk.movable_on(node, asked=True)]
    units = emptying.units(desk, free)
    start = desk.mark()
    reason = _reasons(desk, nodes, units)
    for unit in emptying.place_most(desk, units, reason):
        if why := relocate(desk, unit.row, reason, asked=True):
            _refuse(desk, unit, nodes, why)
    moved = {move.row for move in desk.moves[start:]}
    farewells = [_Farewell.of(desk, nodes[node], present[node], moved) for node in nodes]
    for node, farewell in zip(nodes, farewells, strict=True):
        told = farewell.as_told(desk, desk.nodes[node].name)
        desk.emptying.append(told)
        desk.note(told.note)
    return _report(desk, farewells)


def _nodes_to_empty(desk: Desk) -> dict[int, str]:
    """By number: why."""
    found = {}
    for number, node in enumerate(desk.nodes):
        why = _why_emptied(desk, node)
        if why and desk.in_scope[number]:
            found[number] = f"{node.name} {why}"
        elif why:
            desk.note(f"{node.name} {why}, but not in scope.nodeSelector: its pods stay")
    return found


def _why_emptied(desk: Desk, node: Node) -> str:
    if is_in_maintenance(node.labels):
        return "is in maintenance"
    settings = desk.configuration.node_maintenance
    if settings.removed_nodes and (remover := who_removes(node)):
        return f"is about to be removed by {remover}"
    if settings.cordoned_nodes and is_cordoned(node):
        return "is cordoned"
    return ""


def _reasons(
    desk: Desk, nodes: dict[int, str], units: Iterable[emptying.Unit]
) -> Callable[[int, int], str]:
    leader = {member: unit.row for unit in units for member in unit.members}

    def reason(row: int, target: int) -> str:
        why = nodes.get(int(desk.placement.place[row]))
        if why is None:
            why = f"its group moves with {desk.name(leader[row])}"
        return f"{why}; {after_the_move(desk, row, target)}"

    return reason


def _refuse(desk: Desk, unit: emptying.Unit, nodes: Container[int], why: str) -> None:
    for member in unit.members:
        if desk.placement.place[member] in nodes:
            desk.refuse(member, [why])


# ---------------------------------------------------------------------- what becomes of a node


@dataclass(frozen=True, slots=True, kw_only=True)
class _Farewell:
    """The pods of one node: who leaves it, and who does not."""

    node: str
    """Its name, and why it is emptied."""
    leave: int
    on_their_way: int
    """They were leaving before anybody planned it."""
    end_with_it: int
    """Of DaemonSets, and static ones: they are part of the node."""
    stay: Sequence[int]

    @classmethod
    def of(cls, desk: Desk, node: str, rows: Sequence[int], moved: Container[int]) -> Self:
        flags = desk.snapshot.pods.flags
        others = [row for row in rows if not desk.is_part_of_its_node(row)]
        staying = [row for row in others if row not in moved]
        gone = [row for row in staying if flags[row] & (Flag.TERMINATING | Flag.LEAVING)]
        return cls(
            node=node,
            leave=len(others) - len(staying),
            on_their_way=len(gone),
            end_with_it=len(rows) - len(others),
            stay=sorted(set(staying).difference(gone), key=desk.name),
        )

    def as_told(self, desk: Desk, node: str) -> Emptying:
        return Emptying(
            node=node,
            left=self.leave + self.on_their_way + len(self.stay),
            stay=tuple(_refusal(desk, row) for row in self.stay),
            note=self._note(desk),
        )

    def _note(self, desk: Desk) -> str:
        words = f"{self.node}: {self.leave} of {self.leave + len(self.stay)} pods leave"
        if self.on_their_way:
            words += f", {self.on_their_way} are on their way out already"
        if self.stay:
            named = [f"{desk.name(row)} ({_why(desk, row)})" for row in self.stay[:_NAMED]]
            more = len(self.stay) - len(named)
            words += "; stay: " + ", ".join(named) + (f" and {more} more" if more else "")
        if self.end_with_it:
            words += f"; {self.end_with_it} of DaemonSets or static end with the node"
        return words


def _refusal(desk: Desk, row: int) -> Refusal:
    return Refusal.of(desk.name(row), desk.refused.get(row, {}))


def _why(desk: Desk, row: int) -> str:
    return "; ".join(desk.refused.get(row, ()))


def _report(desk: Desk, farewells: Sequence[_Farewell]) -> Report:
    nodes, leave = len(farewells), sum(each.leave for each in farewells)
    stay = sum(len(each.stay) for each in farewells)
    on_their_way = sum(each.on_their_way for each in farewells)
    summary = f"{nodes} {'node' if nodes == 1 else 'nodes'} to empty: "
    if leave + stay == 0:
        summary += "no pod is left to move"
    else:
        summary += f"{leave} of {leave + stay} pods leave"
        summary += f", {stay} {'stays' if stay == 1 else 'stay'}" if stay else ""
    summary += f", {on_their_way} on their way out already" if on_their_way else ""
    summary += f"; {desk.ended}" if desk.ended else ""
    figures = {"nodes": nodes, "leave": leave, "stay": stay, "onTheirWay": on_their_way}
    return Report(strategy=NAME, acted=leave > 0, summary=summary, figures=figures)


STRATEGY: Final = Strategy(name=NAME, decide=decide, is_asked=True)
