"""Pods that are counted together by node: those of a workload, and those that a rule limits."""

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np

from rescheduler.model.columns import NONE
from rescheduler.plan.desk import Desk
from rescheduler.plan.fitting.rules import Rules, Selection, Spread, Term
from rescheduler.plan.packing.problem import NO_LIMIT

_HOSTNAME: Final = "kubernetes.io/hostname"
_ENTRIES: Final = 16_000_000
"""Groups times nodes: beyond, small workloads are not counted."""


class Groups:
    def __init__(self, desk: Desk, rows: list[int], extra_cost: float) -> None:
        self._desk = desk
        self._pods = {row: pod for pod, row in enumerate(rows)}
        self._numbers: dict[tuple[int, ...], int] = {}
        """By members: rules that count the same pods are one group."""
        self._of_pod: list[list[int]] = [[] for _ in rows]
        self.limit: list[int] = []
        self.extra_cost: list[float] = []
        self.present: dict[tuple[int, int], int] = {}
        """By group and node: of those that cannot move."""
        for counted, limit in self._limited(rows):
            self._add(counted, limit, 0.0)
        for counted in self._workloads(rows):
            if len(self.limit) * len(desk.nodes) < _ENTRIES:
                self._add(counted, NO_LIMIT, extra_cost)
        self.of_pod: list[tuple[int, ...]] = [tuple(each) for each in self._of_pod]

    def _add(self, rows: list[int], limit: int, extra_cost: float) -> None:
        pods = tuple(sorted(self._pods[row] for row in rows if row in self._pods))
        if not pods:
            return
        number = self._numbers.setdefault(pods, len(self._numbers))
        if number == len(self.limit):
            self.limit.append(NO_LIMIT)
            self.extra_cost.append(0.0)
            for pod in pods:
                self._of_pod[pod].append(number)
        self.limit[number] = min(self.limit[number], limit)
        self.extra_cost[number] = max(self.extra_cost[number], extra_cost)
        places = [int(self._desk.placement.place[row]) for row in rows if row not in self._pods]
        fixed: dict[int, int] = {}
        for node in places:
            if node != NONE:
                fixed[node] = fixed.get(node, 0) + 1
        for node, count in fixed.items():
            # Two rules about the same pods may count different others: the more, the safer.
            self.present[number, node] = max(self.present.get((number, node), 0), count)

    def _workloads(self, rows: list[int]) -> list[list[int]]:
        """Rows of one owner, the largest first."""
        found: dict[int, list[int]] = {}
        for row in rows:
            owner = int(self._desk.snapshot.pods.owner[row])
            if owner != NONE:
                found.setdefault(owner, []).append(row)
        several = [each for each in found.values() if len(each) > 1]
        return sorted(several, key=lambda each: -len(each))

    # ------------------------------------------------------------------ rules by host name

    def _limited(self, rows: list[int]) -> Iterable[tuple[list[int], int]]:
        """Rows that a rule by host name counts together, and how many of them a node may have."""
        desk = self._desk
        _, hosts = desk.placement.facts.domains(_HOSTNAME)
        if len(hosts) < len(desk.nodes):
            return
        seen: set[Term | Spread] = set()
        classes = desk.snapshot.pods.pod_class
        for pod_class in dict.fromkeys(int(classes[row]) for row in rows):
            row = int(desk.snapshot.rows_of_class(pod_class)[0])
            rules = desk.placement.rules(row)
            found: tuple[Term | Spread, ...] = (*rules.apart_from, *rules.spreads)
            for each in found:
                if each.topology_key != _HOSTNAME or each in seen:
                    continue
                seen.add(each)
                limit = 1 if isinstance(each, Term) else self._most(rules, each)
                yield self._holders(each.selection, _has(each)), limit

    def _holders(self, selection: Selection, has_rule: Callable[[Rules], bool]) -> list[int]:
        """Rows that a rule both selects and belongs to; about others the desk is asked."""
        desk = self._desk
        classes, exact = desk.placement.census.selected(selection)
        found: list[int] = []
        for number in np.flatnonzero(classes).tolist():
            rows = desk.snapshot.rows_of_class(number).tolist()
            if rows and has_rule(desk.placement.rules(rows[0])):
                found += [row for row in rows if exact is None or row in exact]
        return sorted(found, key=desk.snapshot.pods.names.__getitem__)

    def _most(self, rules: Rules, spread: Spread) -> int:
        """Beyond the emptiest node that counts; an empty one is the rule."""
        desk = self._desk
        facts = desk.placement.facts
        counts = np.ones(len(desk.nodes), np.bool_)
        if spread.honours_affinity:
            counts &= facts.allowed_by(rules.required)
        if spread.honours_taints:
            counts &= facts.tolerated_by(rules.tolerations_key, rules.tolerations)
        selected = self._holders(spread.selection, lambda _: True)
        places = desk.placement.place[selected]
        numbers = np.bincount(places[places != NONE], minlength=len(desk.nodes))[counts]
        if len(numbers) < spread.min_domains:
            return spread.max_skew
        return spread.max_skew + int(numbers.min(initial=NO_LIMIT) if len(numbers) else 0)


def _has(rule: Term | Spread) -> Callable[[Rules], bool]:
    if isinstance(rule, Term):
        return lambda rules: rule in rules.apart_from
    return lambda rules: rule in rules.spreads
