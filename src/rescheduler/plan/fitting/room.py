"""Room on nodes: every resource that a pod asks for, as the NodeResourcesFit plugin has it.

Beyond the plugin: room is kept for DaemonSets to come, for pods that the scheduler makes room for,
and for pods that wait; and who could push others out needs the room twice, so that nobody has to go
when somebody comes in between.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from rescheduler.model import resources
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, UNAVAILABLE, Amounts, Numbers
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.nodes import Mask
from rescheduler.plan.fitting.rules import Rules


class Room:
    def __init__(
        self,
        snapshot: Snapshot,
        place: Numbers,
        rules: Sequence[Rules | None],
        *,
        only: int = NONE,
    ) -> None:
        """Only: of no other node is it known."""
        self._snapshot = snapshot
        self._place = place
        self._home = snapshot.place_of_pod
        self._rules = rules
        self._only = only
        self.free: Amounts = _free(snapshot) if only == NONE else _free_on(snapshot, only)
        self._kept: Amounts | None = None
        """What of it is kept for pods that wait."""
        self._sizes: dict[int, Amounts] = {}
        """By row: what pods will hold that come to be of another size."""
        self._guests: defaultdict[int, list[int]] = defaultdict(list)
        """By node: priorities of the pods that came to it in this plan."""

    def set_size(self, row: int, asks: resources.Resources) -> None:
        """Admission gives its successor this size, whatever it has itself."""
        known = {name: number for number, name in enumerate(self._snapshot.resource_names)}
        amounts: Amounts = np.zeros(len(known), np.int64)
        for name, amount in asks.items():
            if amount:
                amounts[known[name if name in known else UNAVAILABLE]] += amount
        self._sizes[row] = amounts

    def asks(self, row: int) -> Amounts:
        """By resource: what it will hold where it comes to. One that was resized may be made anew
        from its template, or as it is: room for either.
        """
        if row in self._sizes:
            return self._sizes[row]
        snapshot = self._snapshot
        held = snapshot.pods.request_set[row]
        template = snapshot.template_of(row).request_set
        if template == held:
            found: Amounts = snapshot.requests[held]
            return found
        larger: Amounts = np.maximum(snapshot.requests[held], snapshot.requests[template])
        return larger

    def _held(self, row: int, node: int) -> Amounts:
        """What it holds on this node: where it began, what it has."""
        if node == self._home[row]:
            found: Amounts = self._snapshot.requests[self._snapshot.pods.request_set[row]]
            return found
        return self.asks(row)

    def move(self, row: int, source: int, target: int) -> None:
        if source != NONE:
            self.free[source] += self._held(row, source)
            if source != self._home[row]:
                self._guests[source].remove(self._priority(row))
                self._set_lowest_priority(source)
        if target != NONE:
            self.free[target] -= self._held(row, target)
            if target != self._home[row]:
                self._guests[target].append(self._priority(row))
                self._set_lowest_priority(target)

    def allowed(self, row: int, rules: Rules, at: Numbers) -> Mask:
        asks, free = self.asks(row), self._free_for(row)
        times = np.ones(len(at), np.int64)
        if self._moves_and_may_preempt(row, rules):
            times += self._lowest_priority[at] < rules.priority
        ok = np.ones(len(at), np.bool_)
        for number in np.flatnonzero(asks).tolist():
            ok &= free[:, number][at] >= times * asks[number]
        return ok

    def why_not(self, row: int, rules: Rules, node: int) -> Iterable[str]:
        asks, free = self.asks(row), self._free_for(row)[node]
        short = [number for number in np.flatnonzero(asks).tolist() if free[number] < asks[number]]
        for number in short:
            yield from self._too_little(row, number, int(asks[number]), int(free[number]))
        if short or not self._moves_and_may_preempt(row, rules):
            return
        lower = self._lowest_priority[node] < rules.priority
        if lower and any(free[number] < 2 * asks[number] for number in np.flatnonzero(asks)):
            yield (
                "its copy could push out a pod of lower priority: there is room for it once, "
                "and twice is needed"
            )

    def _too_little(self, row: int, number: int, requested: int, free: int) -> Iterable[str]:
        name = self._snapshot.resource_names[number]
        if name == UNAVAILABLE:
            for each in self._snapshot.requests_of(row):
                if each not in self._snapshot.resource_names:
                    yield f"not enough {each}: no node has any"
            return
        words = resources.in_words
        left = words(name, max(free, 0))
        yield f"not enough {name}: requests {words(name, requested)}, {left} free"

    def _free_for(self, row: int) -> Amounts:
        """Room is kept for pods that wait, and they may have it."""
        if self._kept is not None and self._place[row] == NONE:
            return self.free + self._kept
        return self.free

    def keep(self, rows: Sequence[int], where: Mask, *, most: int) -> None:
        """For alike pods that wait: on the nodes that have most room for them, and at most so many
        on each.
        """
        asks = self.asks(rows[0])
        wanted = np.flatnonzero(asks)
        nodes = np.flatnonzero(where)
        if not len(nodes) or not len(wanted):
            return
        times = (self.free[nodes[:, None], wanted] // asks[wanted]).min(axis=1)
        if self._kept is None:
            self._kept = np.zeros_like(self.free)
        left = len(rows)
        for place in np.argsort(-times, kind="stable").tolist():
            if left <= 0 or times[place] <= 0:
                break
            taken = min(left, int(times[place]), most)
            left -= taken
            self._kept[nodes[place]] += taken * asks
            self.free[nodes[place]] -= taken * asks

    # ------------------------------------------------------------------ preemption

    def _moves_and_may_preempt(self, row: int, rules: Rules) -> bool:
        return (
            rules.may_preempt and rules.priority > self._lowest_of_all and self._place[row] != NONE
        )

    def _priority(self, row: int) -> int:
        rules = self._rules[self._snapshot.pods.pod_class[row]]
        return 0 if rules is None else rules.priority

    def _set_lowest_priority(self, node: int) -> None:
        # Who has left counts too: on the safe side, and whatever the order of moves.
        self._lowest_priority[node] = min((*self._guests[node], self._lowest_at_home[node]))

    @cached_property
    def _lowest_of_all(self) -> int:
        return int(self._lowest_priority.min(initial=2**62))

    @cached_property
    def _lowest_priority(self) -> Amounts:
        """By node: of the pods that are there, or come to it in this plan."""
        return self._lowest_at_home.copy()

    @cached_property
    def _lowest_at_home(self) -> Amounts:
        """By node: of the pods that the snapshot has there."""
        priorities = np.array(
            [2**62 if rules is None else rules.priority for rules in self._rules], np.int64
        )
        lowest = np.full(len(self._snapshot.nodes), 2**62, np.int64)
        rows = self._snapshot.rows
        places = self._home[rows]
        if self._only != NONE:
            rows, places = rows[places == self._only], places[places == self._only]
        rows, places = rows[places != NONE], places[places != NONE]
        if len(np.unique(priorities[priorities < 2**62])) <= 1:
            # All alike, as in most clusters: nobody ranks below anybody.
            lowest[:] = priorities.min(initial=2**62)
            return lowest
        np.minimum.at(lowest, places, priorities[self._snapshot.pods.pod_class[rows]])
        return lowest


def _free(snapshot: Snapshot) -> Amounts:
    # By columns in memory, as it is mostly asked: one resource of all nodes.
    return np.asfortranarray(snapshot.room - snapshot.requested - snapshot.promised)


def _free_on(snapshot: Snapshot, node: int) -> Amounts:
    """The same of one node, as of a cluster that has no other, and nothing of all others."""
    name, pods = snapshot.nodes[node].name, snapshot.pods
    slots: list[Node | None] = [None] * len(snapshot.node_slots)
    slots[snapshot.slot_names.index(name)] = snapshot.nodes[node]
    there = snapshot.place_of_pod == node
    there[[row for row, told in pods.nominated.items() if told == name]] = True
    alone = replace(
        snapshot,
        node_slots=slots,
        pods=replace(pods, pod_class=np.where(there, pods.pod_class, NONE)),
    )
    free = np.zeros((len(snapshot.nodes), len(snapshot.resource_names)), np.int64)
    free[node] = _free(alone)[0]
    return free
