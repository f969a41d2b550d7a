"""Where every pod is and may go, as a plan goes on: all hard rules, in one place.

Judged for a class of alike pods and for all nodes at once, cheap rules first. Every move can be
taken back by the opposite one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property

import numpy as np

from rescheduler.model.columns import NONE, Amounts, Numbers
from rescheduler.model.moves import Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.census import Census
from rescheduler.plan.fitting.memory import Memory
from rescheduler.plan.fitting.neighbours import Neighbours
from rescheduler.plan.fitting.nodes import Mask
from rescheduler.plan.fitting.room import Room
from rescheduler.plan.fitting.rules import Rules
from rescheduler.plan.fitting.sharing import Sharing
from rescheduler.plan.fitting.spreading import Spreading
from rescheduler.plan.fitting.volumes import Volumes


class Placement:
    def __init__(
        self, snapshot: Snapshot, memory: Memory | None = None, *, only: int = NONE
    ) -> None:
        """Only: nobody is going to ask about another node than this, nor to move anything. That
        spares what takes longest on a large cluster; room is not kept then for pods that wait.
        """
        memory = memory or Memory()
        self.snapshot = snapshot
        self.facts = memory.facts_of(snapshot.nodes)
        self.place: Numbers = snapshot.place_of_pod.copy()
        """By row: the node that it is on, or will be; NONE: on none."""
        index = memory.index_of(snapshot)
        self._index = index
        self._rules = index.rules
        self._static: dict[tuple[bytes, bytes], Mask] = {}
        self._related: dict[int, Mask] = {}
        classes = snapshot.pods.pod_class
        self.census = Census(snapshot, index, self.place)
        self.neighbours = Neighbours(
            self.census,
            self.facts,
            index,
            self.place,
            classes,
            namespaces_known="namespaces" in snapshot.objects,
        )
        self.spreading = Spreading(self.census, self.facts, index, self.place, classes)
        self.sharing = Sharing(self.census, self.facts, index)
        self.volumes = Volumes(snapshot, self.facts, self.place)
        self.room = Room(snapshot, self.place, self._rules, only=only)
        self._guests: dict[int, dict[int, None]] = {}
        """By node: rows that came to it in this plan."""
        self._gone: set[int] = set()
        """Rows that are no longer where the snapshot has them."""
        if only == NONE:
            self._keep_room_for_pending()

    # ------------------------------------------------------------------ nodes and pods

    @property
    def nodes_open(self) -> Mask:
        """Nodes that may be a target at all."""
        return self.facts.open

    @property
    def free(self) -> Amounts:
        """By node and resource: room that nobody has or is promised."""
        return self.room.free

    def why_no_target(self, node: int) -> str:
        """Rules about the node alone; empty: it may be one."""
        return "; ".join(self.facts.problems[node])

    def rules(self, row: int) -> Rules:
        found: Rules | None = self._rules[self.snapshot.pods.pod_class[row]]
        if found is None:
            raise LookupError(f"row {row} is free")
        return found

    def asks(self, row: int) -> Amounts:
        """By resource: what it will hold where it comes to."""
        return self.room.asks(row)

    def rows_on(self, node: int) -> list[int]:
        """Those that are, or will be, on this node; by name, as rows are numbered by arrival."""
        stayed = self.snapshot.rows_on(self.snapshot.nodes[node].name).tolist()
        came = self._guests.get(node, {})
        here = [row for row in stayed if row not in self._gone] + list(came)
        return sorted(here, key=self.snapshot.pods.names.__getitem__)

    # ------------------------------------------------------------------ where to

    def static_mask(self, row: int) -> Mask:
        """Nodes that no move can make right or wrong for it."""
        rules = self.rules(row)
        key = (rules.required.key, rules.tolerations_key)
        mask = self._static.get(key)
        if mask is None:
            mask = (
                self.facts.open
                & self.facts.tolerated_by(rules.tolerations_key, rules.tolerations)
                & self.facts.allowed_by(rules.required)
            )
            self._static[key] = mask
        if self._awaited:
            mask = mask.copy()
            mask[[node for node, waiting in self._awaited.items() if waiting != row]] = False
        if self.volumes.has_any(row):
            return mask & self.volumes.reachable(row)
        return mask

    @cached_property
    def _awaited(self) -> Mapping[int, int]:
        """By node on which the scheduler makes room for a pod: the row of that pod. It counts as if
        it were there already, by every rule; so that node is left to it.
        """
        numbers = self.snapshot.node_numbers
        return {
            numbers[name]: row
            for row, name in self.snapshot.pods.nominated.items()
            if self.place[row] == NONE and name in numbers
        }

    def targets(self, row: int, way: Way = Way.SURGE) -> Mask:
        """By node: it would take this pod now, by every hard rule. Never its own node."""
        allowed = self.static_mask(row).copy()
        if self.place[row] != NONE:
            allowed[self.place[row]] = False
        found = np.zeros(len(allowed), np.bool_)
        found[self._allowed(row, way, np.flatnonzero(allowed).astype(np.int32))] = True
        return found

    def fits(self, row: int, node: int, way: Way = Way.SURGE) -> bool:
        if node == self.place[row] or not self.static_mask(row)[node]:
            return False
        return len(self._allowed(row, way, np.array([node], np.int32))) > 0

    def _allowed(self, row: int, way: Way, at: Numbers) -> Numbers:
        """Those of the nodes asked about that no rule excludes which moves can change."""
        rules = self.rules(row)
        if rules.problem:
            return at[:0]
        for judge in self._judges(row, rules, way):
            if not len(at):
                break
            at = at[judge(at)]
        return at

    def _judges(self, row: int, rules: Rules, way: Way) -> Iterator[Callable[[Numbers], Mask]]:
        yield lambda at: self.room.allowed(row, rules, at)
        if rules.exclusives:
            yield lambda at: self.sharing.allowed(rules, at)
        if self.volumes.has_any(row):
            yield lambda at: self.volumes.allowed(row, way, at)
        yield lambda at: self.neighbours.allowed(row, rules, way, at)
        yield lambda at: self.spreading.allowed(row, rules, way, at)

    def why_not(self, row: int, node: int, way: Way = Way.SURGE) -> tuple[str, ...]:
        """Every rule that keeps it away from this node, in words; none: it fits."""
        return tuple(self._why_not(row, node, way))

    def _why_not(self, row: int, node: int, way: Way) -> Iterable[str]:
        rules = self.rules(row)
        if node == self.place[row]:
            yield "it is there already"
        for problem in self.facts.problems[node]:
            yield f"the node cannot be a target: {problem}"
        if self._awaited.get(node, row) != row:
            waiting = self.snapshot.pods.names[self._awaited[node]]
            yield f"the scheduler makes room there for {waiting}"
        if rules.problem:
            yield rules.problem
        yield from self._why_not_static(rules, node)
        yield from self.room.why_not(row, rules, node)
        yield from self.sharing.why_not(rules, node)
        yield from self.volumes.why_not(row, way, node)
        yield from self.neighbours.why_not(row, rules, way, node)
        yield from self.spreading.why_not(row, rules, way, node)

    def _why_not_static(self, rules: Rules, node: int) -> Iterable[str]:
        found = self.facts.nodes[node]
        if not self.facts.tolerated_by(rules.tolerations_key, rules.tolerations)[node]:
            for taint in self.facts.untolerated(node, rules.tolerations):
                yield f"it does not tolerate the taint {taint}"
        if why := rules.required.required.why_not(found.labels, found.name):
            yield why

    def why_stuck(self, row: int) -> tuple[str, ...]:
        """What holds it wherever it would go."""
        problem = self.rules(row).problem
        return (problem,) if problem else ()

    def why_no_copy(self, row: int) -> str:
        """Why the scheduler would not let a copy of it be where the pod may be."""
        if self.rules(row).keeps_copies_away(self.snapshot.class_of(row).labels):
            return (
                "a copy lacks the hash of its template for a while, and its anti-affinity keeps "
                "away pods of any other hash (mismatchLabelKeys)"
            )
        return ""

    def broken(self, rows: Iterable[int] | None = None) -> dict[int, tuple[str, ...]]:
        """Rows whose own rules do not hold where they are now, and which."""
        found = {}
        for row in self._suspects() if rows is None else rows:
            node = int(self.place[row])
            if node != NONE and (reasons := tuple(self._broken(row, node))):
                found[int(row)] = reasons
        return found

    def _suspects(self) -> Iterable[int]:
        """Rows on nodes where the rules of their class may be broken: few of those that have any,
        so that not each has to be asked about.
        """
        for number, rules in enumerate(self._rules):
            if rules is None:
                continue
            doubtful = np.zeros(len(self.facts.nodes), np.bool_)
            if rules.required.asks_for_something:
                doubtful |= ~self.facts.allowed_by(rules.required)
            if rules.apart_from or rules.near_to:
                doubtful |= self.neighbours.doubtful(number, rules)
            if rules.spreads:
                doubtful |= self.spreading.doubtful(rules)
            if doubtful.any():
                rows = self.census.rows_of([number])
                places = self.place[rows]
                yield from rows[(places != NONE) & doubtful[places]].tolist()

    def _broken(self, row: int, node: int) -> Iterable[str]:
        rules, found = self.rules(row), self.facts.nodes[node]
        if not self.facts.allowed_by(rules.required)[node]:
            yield f"node affinity: {rules.required.required.why_not(found.labels, found.name)}"
        yield from self.neighbours.broken(row, rules)
        yield from self.spreading.broken(row, rules)

    def related_to(self, row: int) -> Mask:
        """By class: whether the coming or going of its pods may decide where this one may be, or
        the reverse, but for the room on a node and for claims.
        """
        pod_class = int(self.snapshot.pods.pod_class[row])
        if pod_class not in self._related:
            rules = self.rules(row)
            selections = [term.selection for term in (*rules.apart_from, *rules.near_to)]
            selections += [spread.selection for spread in rules.spreads]
            # What others want of it, they may want of each other.
            selections += [
                term.selection for near in self.neighbours.needed_by(row) for term in near
            ]
            found = np.zeros(len(self._rules), np.bool_)
            for _, spread in self.spreading.speaking_of(row):
                selections.append(spread.selection)
            for term in self.neighbours.repelled_by(row):
                found[list(self._index.repelling[term])] = True
            for near in self.neighbours.needed_by(row):
                found[list(self._index.needing[near])] = True
            for selection in selections:
                found |= self.census.selected(selection)[0]
            self._related[pod_class] = found
        return self._related[pod_class]

    # ------------------------------------------------------------------ what if

    def move(self, row: int, node: int) -> None:
        """Not checked: whoever calls has asked."""
        source = int(self.place[row])
        self.room.move(row, source, node)
        self.census.moved(row, source, node)
        self.volumes.moved(row, source, node)
        home = int(self.snapshot.place_of_pod[row])
        if source != home:
            del self._guests[source][row]
        if node == home:
            self._gone.discard(row)
        else:
            self._gone.add(row)
            self._guests.setdefault(node, {})[row] = None
        self.place[row] = node

    def _keep_room_for_pending(self) -> None:
        """Where pods that wait have a place now, they shall have one when we are done."""
        pods = self.snapshot.pods
        waiting: dict[object, list[int]] = {}
        # By name, as rows are numbered by arrival.
        for row in sorted(self.snapshot.pending.tolist(), key=pods.names.__getitem__):
            is_awaited = pods.nominated.get(row) in self.snapshot.node_numbers
            if not is_awaited and self.place[row] == NONE:
                key = (int(pods.pod_class[row]), int(pods.own_labels[row]), pods.claims.get(row))
                waiting.setdefault(key, []).append(row)
        for rows in sorted(waiting.values(), key=lambda rows: -self.rules(rows[0]).priority):
            # Those that keep their like away, or have ports of the node, go one to a node.
            alike = int(pods.pod_class[rows[0]])
            alone = self.related_to(rows[0])[alike] or bool(self.rules(rows[0]).exclusives)
            self.room.keep(rows, self.targets(rows[0]), most=1 if alone else len(rows))
