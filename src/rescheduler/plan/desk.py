"""What strategies work at: the cluster as it will be when all moves planned so far are done.

They share one desk, one after the other, so that no pod moves twice and no strategy undoes what
another has just decided.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model import names, podmigration
from rescheduler.model.cluster import Node, is_part_of_its_node
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Denial, Emptying, Passing, Way
from rescheduler.model.selectors import EVERYTHING
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.adopting import as_adopted
from rescheduler.plan.fitting import Memory, Placement
from rescheduler.plan.groups import Groups
from rescheduler.plan.loads import Loads, Mask
from rescheduler.plan.movable import Movable
from rescheduler.plan.spare import kept_nodes, packed_nodes, spare_nodes
from rescheduler.plan.vacated import Vacated

NO_LIMIT: Final = 2**31


def never() -> bool:
    return False


def nobody(_: str) -> None:
    """Nobody measures it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """How long a strategy that searches may go on, and from where it starts."""

    seed: int = 0
    steps: int = 200_000
    """Counted by the search itself: the same number gives the same plan."""
    stop: Callable[[], bool] = never
    """Asked between steps: a time limit, from whoever has a clock."""
    lap: Callable[[str], None] = nobody
    """Told when strategies begin (by an empty name) and when each has decided: for the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    row: int
    source: int
    target: int
    strategy: str
    reason: str
    way: Way
    asked: bool
    group: str


class Desk:
    def __init__(
        self,
        snapshot: Snapshot,
        configuration: Configuration,
        *,
        search: Search | None = None,
        memory: Memory | None = None,
    ) -> None:
        snapshot = as_adopted(snapshot)
        self.snapshot = snapshot
        self.configuration = configuration
        self.search = search or Search()
        self.placement = Placement(snapshot, memory)
        self.loads = Loads(snapshot)
        self.groups = Groups(snapshot, configuration)
        self.movable = Movable(snapshot, configuration, self.placement)
        self.strategy = ""
        """Whose turn it is."""
        self.is_asked = False
        """It does what a person asked for: it may use nodes that rest after a move."""
        self.steps = 0
        """Taken so far by searches."""
        self.ended = ""
        """Once a step was refused, as time or steps were used up: so in words."""
        self.in_vain: dict[str, int] = {}
        """By group: steps that were taken for it beyond those that its moves need."""
        self._asked_at = -1
        self.moves: list[Planned] = []
        self.refused: dict[int, dict[str, None]] = {}
        """By row: reasons, in the order in which they were found."""
        self.notes: dict[str, None] = {}
        self.emptying: list[Emptying] = []
        self.denials: list[Denial] = []
        self._moved: set[int] = set()
        self._vacated = Vacated(self.placement)
        self.in_scope: Mask = np.ones(len(snapshot.nodes), np.bool_)
        selector = configuration.scope.node_selector
        if selector != EVERYTHING:
            self.in_scope[:] = [selector.matches(node.labels) for node in snapshot.nodes]
        self.closed: Mask = np.zeros(len(snapshot.nodes), np.bool_)
        """Nodes that take no more pods in this plan: who emptied them has a reason."""

    # ------------------------------------------------------------------ who and where

    @property
    def nodes(self) -> tuple[Node, ...]:
        return self.snapshot.nodes

    @property
    def eligible(self) -> Mask:
        """Nodes between which load is balanced: in scope, open, and of known load."""
        return self.in_scope & self.placement.nodes_open & self.loads.known & ~self.closed

    @property
    def usable(self) -> Mask:
        """Nodes to which we may move something at all, whatever the rules of the scheduler say."""
        found = self.in_scope & ~self.closed
        return found if self.is_asked else found & ~self.movable.cooldowns.resting_nodes

    @cached_property
    def spare(self) -> Mask:
        """Nodes that an autoscaler would remove soon, as the snapshot has them."""
        settings = self.configuration.node_autoscaler
        return spare_nodes(self.snapshot, self.placement, settings, self.packed)

    @cached_property
    def packed(self) -> Mask:
        """Nodes that their autoscaler packs by requests: they are relieved, but not evened out."""
        return packed_nodes(self.snapshot, self.configuration.node_autoscaler)

    @cached_property
    def kept(self) -> Mask:
        """Of these, those that karpenter keeps for a while if it is asked to: when others are
        measured to be overloaded, not to move what pods ask for.
        """
        can_ask = bool(self.configuration.migration.do_not_disrupt_seconds)
        return kept_nodes(self.snapshot, self.packed & can_ask & (self.loads.word == "usage"))

    @property
    def left_alone(self) -> Mask:
        """Nodes that are not filled for load."""
        return self.spare & ~self.kept

    def way(self, row: int) -> Way:
        return self.movable.way(row)

    def why_it_stays(self, row: int, *, asked: bool = False) -> tuple[str, ...]:
        """Every reason why this pod must not move, wherever to; none: it may.

        One of a group stays if any of the group has to.
        """
        members = self.unit(row)
        reasons: list[str] = []
        for member in members:
            found = list(self.movable.why_it_stays(member, asked=asked))
            if member in self._moved:
                found.append("it moves already in this plan")
            source = self.placement.place[member]
            if source != NONE and not self.in_scope[source]:
                found.append("its node is not in scope.nodeSelector")
            if found and member != row:
                words = f"{self.name(member)} of its group stays: {found[0]}"
                is_passing = all(isinstance(each, Passing) for each in found)
                found = [Passing(words) if is_passing else words]
            reasons += found
        if not reasons and len(members) > 1:
            reasons = self._why_group_stays(members)
        return tuple(reasons)

    def _why_group_stays(self, members: tuple[int, ...]) -> list[str]:
        """All copies are to be Ready before the first of the group goes."""
        namespace = self.name(members[0]).split("/", 1)[0]
        copies = self.movable.quotas.ledger()
        for member in members:
            why, charged = self.movable.why_recreated(member), self.movable.charged(member)
            if why and not self.configuration.groups.allow_recreate:
                who = f"{self.name(member)} of its group would be recreated"
                return [f"{who}, and groups.allowRecreate is off: {why}"]
            if charged and not why:
                if not copies.has_room(namespace, charged):
                    where = f"the ResourceQuotas of {namespace}"
                    return [Passing(f"{where} have no room for all copies of its group")]
                copies.charge(namespace, charged)
        return []

    def movable_on(self, node: int, *, asked: bool = False) -> list[int]:
        """Rows that may leave this node, low priority first, then by name; the others are noted
        as refused.
        """
        free = []
        for row in self.placement.rows_on(node):
            if reasons := self.why_it_stays(row, asked=asked):
                self.refuse(row, reasons)
            else:
                free.append(row)
        return sorted(free, key=lambda row: (self.priority(row), self.name(row)))

    def targets(self, row: int) -> Mask:
        """Nodes that would take this pod now, by every hard rule, and that we may use."""
        found = self.placement.targets(row, self.way(row)) & self.usable
        if self._vacated and (group := self.groups.name(row)):
            found[self._vacated.closed_to(row, group)] = False
        return found

    def unit(self, row: int) -> tuple[int, ...]:
        """The rows that move together with this one, itself among them."""
        return self.groups.members(row)

    def is_part_of_its_node(self, row: int) -> bool:
        pods = self.snapshot.pods
        owner = self.snapshot.owners[pods.owner[row]] if pods.owner[row] != NONE else None
        return is_part_of_its_node(owner, pods.annotations.get(row, {}))

    def name(self, row: int) -> str:
        return self.snapshot.pods.names[row]

    def priority(self, row: int) -> int:
        return self.snapshot.template_of(row).priority

    # ------------------------------------------------------------------ deciding

    @property
    def left(self) -> int:
        """How many moves that nobody asked for this pass may still take."""
        if self.limit == NO_LIMIT:
            return NO_LIMIT
        planned = sum(not each.asked for each in self.moves)
        return max(self.limit - self.in_flight - planned, 0)

    @cached_property
    def limit(self) -> int:
        """How many moves that nobody asked for a pass may take."""
        told = self.configuration.max_reschedule_pods
        if isinstance(told, str):
            return self.share_of_pods(int(told.removesuffix("%")))
        return told or NO_LIMIT

    def share_of_pods(self, percent: int) -> int:
        """Of those in scope; at least one."""
        return max(math.ceil(self._pods_in_scope * percent / 100), 1)

    @cached_property
    def _pods_in_scope(self) -> int:
        snapshot, scope = self.snapshot, self.configuration.scope
        places = snapshot.node_of_pod[snapshot.rows]
        rows = snapshot.rows[(places != NONE) & self.in_scope[places]]
        if scope.namespaces is None:
            return len(rows)
        return sum(scope.covers(snapshot.class_of(row).namespace) for row in rows.tolist())

    @cached_property
    def in_flight(self) -> int:
        """Moves of earlier passes that nobody asked for and that are not done: those with a record
        that is not finished, and those that are assumed, of which no record is seen yet. Originals
        that are only ending are none of them.
        """
        # Those elsewhere are somebody else's, who has a limit of his own.
        unfinished = {
            uid: record
            for uid, record in self.movable.records.unfinished.items()
            if self.configuration.scope.covers(record["metadata"].get("namespace", ""))
        }
        pods, rows = self.snapshot.pods, self.snapshot.rows
        assumed = rows[pods.flags[rows] & int(Flag.ASSUMED) != 0].tolist()
        moved = {pods.annotations[row][names.ORIGINAL_POD] for row in assumed}
        others = {
            uid
            for uid, each in unfinished.items()
            if podmigration.is_asked(each) or podmigration.is_taken_over(each)
        }
        return len((moved | unfinished.keys()) - others)

    def move(self, row: int, target: int, reason: str, *, asked: bool = False) -> None:
        """Whoever calls has asked `why_it_stays` and `targets` (or `placement.fits`)."""
        if row in self._moved:
            raise ValueError(f"{self.name(row)} moves already in this plan")
        source = int(self.placement.place[row])
        planned = Planned(
            row=row,
            source=source,
            target=target,
            strategy=self.strategy,
            reason=reason,
            way=self.way(row),
            asked=asked,
            group=self.groups.name(row),
        )
        self.placement.move(row, target)
        self.loads.move(row, source, target)
        self._vacated.note(planned.group, source, row, 1)
        self.moves.append(planned)
        self._moved.add(row)

    def refuse(self, row: int, reasons: Iterable[str]) -> None:
        self.refused.setdefault(row, {}).update(dict.fromkeys(reasons))

    def note(self, words: str) -> None:
        self.notes[words] = None

    # ------------------------------------------------------------------ searching

    def take_step(self) -> bool:
        """Counts a step of a search, before it is taken; False: it must not be taken, nor any
        other.
        """
        if self.is_over():
            return False
        self.steps += 1
        return True

    def is_over(self) -> bool:
        """Time is asked about once between two steps, and no more when it was up once: so a search
        that it ends does the same as one with so many steps.
        """
        if self._asked_at != self.steps:
            self._asked_at = self.steps
            if self.search.stop():
                self.search = replace(self.search, steps=self.steps, stop=never)
        if self.steps < self.search.steps:
            return False
        steps = "1 step" if self.steps == 1 else f"{self.steps} steps"
        self.ended = self.ended or f"the search was ended after {steps}"
        return True

    # ------------------------------------------------------------------ trying out

    def mark(self) -> int:
        return len(self.moves)

    def rewind(self, mark: int) -> None:
        """Takes back every move since."""
        while len(self.moves) > mark:
            taken = self.moves.pop()
            self.placement.move(taken.row, taken.source)
            self.loads.move(taken.row, taken.target, taken.source)
            self._vacated.note(taken.group, taken.source, taken.row, -1)
            self._moved.discard(taken.row)
