"""Topology spread constraints that are a must, as the PodTopologySpread plugin has them.

Beyond the plugin: it is judged while both pods are there and after the old one is gone, also with
other pods that are on their way just now, and no constraint of others that speaks of the pod gets
worse by its leaving. And the plugin will not judge at all: a copy is pinned to its target, which is
then the only domain that it sees.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.model.columns import NONE, Amounts, Flag, Numbers
from rescheduler.model.moves import Way
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.census import Census, Count
from rescheduler.plan.fitting.index import RuleIndex
from rescheduler.plan.fitting.memory import Memory
from rescheduler.plan.fitting.nodes import Mask, NodeFacts
from rescheduler.plan.fitting.rules import Rules, Spread

_ON_THEIR_WAY_OUT: Final = Flag.TERMINATING | Flag.LEAVING


@dataclass(frozen=True, slots=True, eq=False)
class _Counted:
    """One constraint of one class, with its domains."""

    spread: Spread
    count: Count
    """Of the pods that will be there when those that are leaving have left."""
    now: Count
    """Of those that are there now."""
    present: Mask
    """By domain: there is a node of it that counts."""
    crowd: Count | None
    """The same pods by node, where the pin makes the plugin look at the target alone."""

    @property
    def has_too_few(self) -> bool:
        return int(self.present.sum()) < self.spread.min_domains

    def lowest(self, numbers: Amounts) -> int:
        if self.has_too_few or not self.present.any():
            return 0
        return int(numbers[self.present].min())


class Spreading:
    def __init__(
        self,
        census: Census,
        facts: NodeFacts,
        index: RuleIndex,
        place: Numbers,
        classes: Numbers,
    ) -> None:
        self._census = census
        self._facts = facts
        self._index = index
        self._place = place
        self._classes = classes
        self._counted: dict[object, _Counted] = {}
        self._domains: dict[object, tuple[Numbers, Mask]] = {}
        self._others: dict[int, tuple[tuple[Rules, Spread], ...]] = {}

    @classmethod
    def of(cls, snapshot: Snapshot, memory: Memory) -> "Spreading":
        """By itself, for whoever asks about no other rule."""
        facts, index = memory.facts_of(snapshot.nodes), memory.index_of(snapshot)
        place, classes = snapshot.place_of_pod, snapshot.pods.pod_class
        return cls(Census(snapshot, index, place), facts, index, place, classes)

    def allowed(self, row: int, rules: Rules, way: Way, at: Numbers) -> Mask:
        ok = np.ones(len(at), np.bool_)
        for spread in rules.spreads:
            counted = self._of(rules, spread)
            ok &= self._has_key(spread, at)
            if way is Way.SURGE:
                ok &= self._holds_with_both(row, counted, at)
            ok &= self._holds_after(row, counted, at, way, is_own=True)
        for other, spread in self.speaking_of(row):
            ok &= self._holds_after(row, self._of(other, spread), at, way, is_own=False)
        return ok

    def why_not(self, row: int, rules: Rules, way: Way, node: int) -> Iterable[str]:
        at = np.array([node], np.int32)
        for spread in rules.spreads:
            words, counted = _words(spread), self._of(rules, spread)
            if not self._has_key(spread, at)[0]:
                yield f"{words}: the node has no such label"
            elif way is Way.SURGE and not self._holds_with_both(row, counted, at)[0]:
                yield f"{words} would not hold while both pods are there"
            elif not self._holds_after(row, counted, at, way, is_own=True)[0]:
                yield f"{words} would not hold"
        yield from self._why_not_of_others(row, way, at)

    def why_not_after(self, row: int, node: int) -> Iterable[str]:
        """The same of one whose copy is there already: what was asked while it came is over."""
        rules = self._index.rules[self._classes[row]]
        assert rules is not None  # noqa: S101 - the row is in use
        at = np.array([node], np.int32)
        for spread in rules.spreads:
            if not self._holds_after(row, self._of(rules, spread), at, Way.SURGE, is_own=True)[0]:
                yield f"{_words(spread)} would not hold"
        yield from self._why_not_of_others(row, Way.SURGE, at)

    def _why_not_of_others(self, row: int, way: Way, at: Numbers) -> Iterable[str]:
        for other, spread in self.speaking_of(row):
            if not self._holds_after(row, self._of(other, spread), at, way, is_own=False)[0]:
                yield f"a topology spread of others over {spread.topology_key} would not hold"

    def broken(self, row: int, rules: Rules) -> Iterable[str]:
        for spread, _, skew in self.uneven(row, rules):
            words = f"topology spread over {spread.topology_key}"
            yield f"{words}: skew {skew}, maxSkew {spread.max_skew}"

    def doubtful(self, rules: Rules) -> Mask:
        """By node: where pods with these rules are, something may be broken; elsewhere nothing."""
        found = np.zeros(len(self._facts.nodes), np.bool_)
        for spread in rules.spreads:
            counted = self._of(rules, spread)
            numbers = counted.count.by_domain
            # The last is for nodes that do not count, whose domain is NONE (-1).
            too_full = np.append(numbers - counted.lowest(numbers) > spread.max_skew, False)
            found |= too_full[counted.count.domain]
        return found

    def uneven(self, row: int, rules: Rules) -> Iterable[tuple[Spread, Count, int]]:
        """Its own constraints that do not hold where it is, whom they count, and the skew."""
        here = int(self._place[row])
        for spread in rules.spreads:
            counted = self._of(rules, spread)
            domain = counted.count.domain[here]
            if domain == NONE or not self._census.selects(spread.selection, row):
                continue
            numbers = counted.count.by_domain
            skew = int(numbers[domain]) - counted.lowest(numbers)
            if skew > spread.max_skew:
                yield spread, counted.count, skew

    # ------------------------------------------------------------------ judging

    def _has_key(self, spread: Spread, at: Numbers) -> Mask:
        domain, _ = self._facts.domains(spread.topology_key)
        has: Mask = domain[at] != NONE
        return has

    def _holds_with_both(self, row: int, counted: _Counted, at: Numbers) -> Mask:
        """What the scheduler would say, were the copy not pinned, while the original is there."""
        spread, now = counted.spread, counted.now
        own = self._census.selects(spread.selection, row)
        skew = now.at(at) + own - counted.lowest(now.by_domain)
        holds: Mask = skew <= spread.max_skew
        if counted.crowd is not None and self._place[row] != NONE:
            # Pinned, it sees one domain, fewer than minDomains: then the lowest counts as 0.
            holds &= counted.crowd.at(at) + own <= spread.max_skew
        return holds

    def _holds_after(
        self, row: int, counted: _Counted, at: Numbers, way: Way, *, is_own: bool
    ) -> Mask:
        """Once the old one is gone. What was broken before must not get worse."""
        spread, count = counted.spread, counted.count
        if not self._census.selects(spread.selection, row):
            # Its leaving changes nothing, and its coming neither.
            skew = count.at(at) - counted.lowest(count.by_domain)
            return skew <= spread.max_skew if is_own else np.ones(len(at), np.bool_)
        here = int(self._place[row])
        source = int(count.domain[here]) if here != NONE else NONE
        left = count.by_domain.copy()
        if source != NONE:
            left[source] -= 1
        to = count.domain[at]
        reached = np.where(to == NONE, 0, left[to] + 1 if len(left) else 1)
        lowest = self._lowest_with(counted, left, to)
        highest = np.maximum(left[counted.present].max(initial=0), reached)
        before = count.by_domain[counted.present].max(initial=0) - counted.lowest(count.by_domain)
        holds: Mask = highest - lowest <= max(spread.max_skew, int(before))
        allowed = np.full(len(at), spread.max_skew)
        if not is_own:
            # Who has the constraint and is there already must not be the one for whom it breaks.
            allowed = np.maximum(allowed, count.at(at) - counted.lowest(count.by_domain))
        holds &= reached - lowest <= allowed
        if source != NONE and not (is_own and way is Way.RECREATE):
            # All is as it was. (Not pinned, it meets a scheduler that does not know how it was.)
            holds |= to == source
        return holds

    @staticmethod
    def _lowest_with(counted: _Counted, numbers: Amounts, to: Numbers) -> Amounts:
        """By node asked about: the lowest of all domains when the pod has come."""
        lowest = counted.lowest(numbers)
        result = np.full(len(to), lowest, np.int64)
        if counted.has_too_few:
            return result
        at_bottom = np.flatnonzero(counted.present & (numbers == lowest))
        if len(at_bottom) == 1:
            # It comes to the only one at the bottom: the next is the lowest then.
            others = numbers[counted.present & (np.arange(len(numbers)) != at_bottom[0])]
            result[to == at_bottom[0]] = int(others.min(initial=lowest + 1))
        return result

    # ------------------------------------------------------------------ counting

    def _of(self, rules: Rules, spread: Spread) -> _Counted:
        key = rules.domains_key(spread)
        known = self._counted.get((spread, key))
        if known is None:
            domain, present = self._domains_of(rules, spread, key)
            count, now = self._counts(spread, key, domain)
            crowd = None
            if spread.min_domains > 1:
                _, crowd = self._counts(spread, "node", self._facts.everywhere)
            known = _Counted(spread, count, now, present, crowd)
            self._counted[spread, key] = known
        return known

    def _counts(self, spread: Spread, key: object, domain: Numbers) -> tuple[Count, Count]:
        """When those that are leaving have left, and now."""
        selections = (spread.selection,)
        later = self._census.count_selected(selections, key, domain, without=_ON_THEIR_WAY_OUT)
        if not self._census.has(Flag.LEAVING):
            return later, later
        now = self._census.count_selected(selections, key, domain, without=Flag.TERMINATING)
        return later, now

    def _domains_of(
        self, rules: Rules, spread: Spread, key: tuple[object, ...]
    ) -> tuple[Numbers, Mask]:
        """By node: its domain, if it counts; by domain: whether any node does."""
        if key not in self._domains:
            counts = np.ones(len(self._facts.nodes), np.bool_)
            for each in rules.spreads:
                counts &= self._facts.domains(each.topology_key)[0] != NONE
            if spread.honours_affinity:
                counts &= self._facts.allowed_by(rules.required)
            if spread.honours_taints:
                counts &= self._facts.tolerated_by(rules.tolerations_key, rules.tolerations)
            column, _ = self._facts.domains(spread.topology_key)
            domain = np.where(counts, column, NONE).astype(np.int32)
            size = int(domain.max(initial=NONE)) + 1
            present = np.zeros(size, np.bool_)
            present[domain[domain != NONE]] = True
            self._domains[key] = domain, present
        return self._domains[key]

    # ------------------------------------------------------------------ constraints of others

    def speaking_of(self, row: int) -> Iterable[tuple[Rules, Spread]]:
        if self._place[row] == NONE:
            return ()  # it leaves nothing behind, and the scheduler does not ask
        pod_class = int(self._classes[row])
        if pod_class not in self._others:
            own = self._index.rules[pod_class]
            mine = {(each, *own.domains_key(each)) for each in own.spreads} if own else set()
            labels = self._census.class_labels(pod_class)
            self._others[pod_class] = tuple(
                (rules, spread)
                for rules, spread in self._index.spreading_pods_with(labels)
                if (spread, *rules.domains_key(spread)) not in mine
                and self._census.selected(spread.selection)[0][pod_class]
            )
        return self._others[pod_class]


def _words(spread: Spread) -> str:
    return f"its topology spread over {spread.topology_key} (maxSkew {spread.max_skew})"
