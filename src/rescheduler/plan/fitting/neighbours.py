"""Inter-pod affinity and anti-affinity, in both directions, as the InterPodAffinity plugin has it.

Beyond the plugin, which looks at the newcomer only: a pod does not leave others behind that must
have it near.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from rescheduler.model.columns import NONE, Numbers
from rescheduler.model.moves import Way
from rescheduler.plan.fitting.census import Census, Count
from rescheduler.plan.fitting.index import Near, RuleIndex
from rescheduler.plan.fitting.nodes import Mask, NodeFacts
from rescheduler.plan.fitting.rules import Rules, Term


class Neighbours:
    def __init__(
        self,
        census: Census,
        facts: NodeFacts,
        index: RuleIndex,
        place: Numbers,
        classes: Numbers,
        *,
        namespaces_known: bool,
    ) -> None:
        self._census = census
        self._facts = facts
        self._index = index
        self._place = place
        self._classes = classes
        """By row."""
        self._namespaces_known = namespaces_known
        self._repelled_by: dict[int, tuple[Term, ...]] = {}
        self._needed_by: dict[int, tuple[Near, ...]] = {}

    def allowed(self, row: int, rules: Rules, way: Way, at: Numbers) -> Mask:
        ok = np.ones(len(at), np.bool_)
        if (
            not rules.apart_from
            and not rules.near_to
            and not (self._index.repelling or self._index.needing)
        ):
            return ok
        for term in rules.apart_from:
            ok &= ~self._is_near(self._count(term), row, way, at)
        for term in self.repelled_by(row):
            ok &= ~self._is_near(self._holders(term), row, way, at)
        if rules.near_to and not self._is_first_of_its_kind(row, rules, way, at, ok):
            for term in rules.near_to:
                ok &= self._is_near(self._count_near(rules.near_to, term), row, way, at)
        for near in self.needed_by(row):
            for term in near:
                if self._is_last(row, near, term):
                    domain, _ = self._facts.domains(term.topology_key)
                    ok &= domain[at] == domain[self._place[row]]
        return ok

    def why_not(self, row: int, rules: Rules, way: Way, node: int) -> Iterable[str]:
        at = np.array([node], np.int32)
        yield from self._why_not_apart(row, rules, way, at)
        yield from self._why_not_near(row, rules, way, at)
        for near in self.needed_by(row):
            for term in near:
                domain, _ = self._facts.domains(term.topology_key)
                if self._is_last(row, near, term) and domain[node] != domain[self._place[row]]:
                    yield f"others need it where it is: their affinity asks for {term}"

    def _why_not_apart(self, row: int, rules: Rules, way: Way, at: Numbers) -> Iterable[str]:
        for term in rules.apart_from:
            if self._is_near(self._count(term), row, way, at)[0]:
                yield f"its anti-affinity keeps it away from {term}"
        for term in self.repelled_by(row):
            if self._is_near(self._holders(term), row, way, at)[0]:
                yield f"the anti-affinity of a pod there keeps it away ({term})"

    def _why_not_near(self, row: int, rules: Rules, way: Way, at: Numbers) -> Iterable[str]:
        has_domains = np.ones(1, np.bool_)
        if not rules.near_to:
            return
        if self._unknown_namespaces(rules):
            yield "its affinity selects namespaces by label, and namespaces were not seen"
        elif self._is_first_of_its_kind(row, rules, way, at, has_domains):
            if not has_domains[0]:
                yield "the node lacks a label that its affinity goes by"
        else:
            for term in rules.near_to:
                if not self._is_near(self._count_near(rules.near_to, term), row, way, at)[0]:
                    yield f"its affinity asks for {term}"

    def broken(self, row: int, rules: Rules) -> Iterable[str]:
        """What does not hold where it is."""
        at = np.array([self._place[row]], np.int32)
        for term in rules.apart_from:
            if self._is_near(self._count(term), row, Way.RECREATE, at)[0]:
                yield f"anti-affinity: {term}"
        everywhere = np.ones(1, np.bool_)
        if rules.near_to and not self._is_first_of_its_kind(
            row, rules, Way.RECREATE, at, everywhere
        ):
            for term in rules.near_to:
                count = self._count_near(rules.near_to, term)
                if not self._is_near(count, row, Way.RECREATE, at)[0]:
                    yield f"affinity: {term}"

    def doubtful(self, pod_class: int, rules: Rules) -> Mask:
        """By node: where pods of this class are, something may be broken; elsewhere nothing is."""
        everywhere = self._facts.everywhere
        found = np.zeros(len(everywhere), np.bool_)
        for term in rules.apart_from:
            classes, exact = self._census.selected(term.selection)
            itself = int(exact is None and classes[pod_class])
            found |= self._count(term).at(everywhere) > itself
        selected = [self._census.selected(term.selection)[0][pod_class] for term in rules.near_to]
        for term in rules.near_to:
            found |= self._count_near(rules.near_to, term).at(everywhere) <= int(all(selected))
        return found

    def unwanted(self, row: int, rules: Rules) -> list[int]:
        """Pods that its own anti-affinity does not allow where it is."""
        found: dict[int, None] = {}
        for term in rules.apart_from:
            domain, _ = self._facts.domains(term.topology_key)
            here = domain[self._place[row]]
            classes, exact = self._census.selected(term.selection)
            rows = self._census.rows_of(np.flatnonzero(classes).tolist())
            near = rows[(self._place[rows] != NONE) & (domain[self._place[rows]] == here)]
            if here != NONE:
                found |= dict.fromkeys(
                    each for each in near.tolist() if exact is None or each in exact
                )
        found.pop(row, None)
        return list(found)

    # ------------------------------------------------------------------ counting

    def _is_near(self, count: Count, row: int, way: Way, at: Numbers) -> Mask:
        """By node asked about: a counted pod is in its domain, the pod itself aside if it is gone
        by then.
        """
        found = count.at(at)
        here = self._place[row]
        if way is Way.RECREATE and here != NONE and count.has(row, int(self._classes[row])):
            own = count.domain[here]
            if own != NONE:
                found = found - (count.domain[at] == own)
        near: Mask = found > 0
        return near

    def _count(self, term: Term) -> Count:
        domain, _ = self._facts.domains(term.topology_key)
        return self._census.count_selected((term.selection,), term.topology_key, domain)

    def _count_near(self, near: Near, term: Term) -> Count:
        domain, _ = self._facts.domains(term.topology_key)
        selections = tuple(each.selection for each in near)
        return self._census.count_selected(selections, term.topology_key, domain)

    def _holders(self, term: Term) -> Count:
        domain, _ = self._facts.domains(term.topology_key)
        return self._census.count_classes(self._index.repelling[term], term.topology_key, domain)

    # ------------------------------------------------------------------ affinity

    def _is_first_of_its_kind(
        self, row: int, rules: Rules, way: Way, at: Numbers, ok: Mask
    ) -> bool:
        """Nobody in the whole cluster is what it wants to be near, but it is so itself: it may go
        wherever there are such domains. Takes the other nodes out of `ok`.
        """
        if self._unknown_namespaces(rules):
            ok[:] = False
            return False
        if not all(self._census.selects(term.selection, row) for term in rules.near_to):
            return False
        here = self._place[row]
        for term in rules.near_to:
            count = self._count_near(rules.near_to, term)
            others = int(count.by_domain.sum())
            if way is Way.RECREATE and here != NONE and count.domain[here] != NONE:
                others -= 1
            if others:
                return False
        for term in rules.near_to:
            domain, _ = self._facts.domains(term.topology_key)
            ok &= domain[at] != NONE
        return True

    def _unknown_namespaces(self, rules: Rules) -> bool:
        return not self._namespaces_known and any(
            term.selection.namespace_selector is not None
            and term.selection.namespace_selector.requirements
            for term in rules.near_to
        )

    def _is_last(self, row: int, near: Near, term: Term) -> bool:
        """Without it, pods that must be near to its like would have none in their domain."""
        here = self._place[row]
        count = self._count_near(near, term)
        if here == NONE or count.domain[here] == NONE:
            return False
        left = int(count.by_domain[count.domain[here]]) - 1
        needing = self._index.needing[near]
        if left == 0:
            return self._has_others(row, needing, term, here)
        # One that looks for its like does not find it in itself.
        alike = [each for each in needing if self._is_selected(each, near)]
        return left == 1 and bool(alike) and self._has_others(row, alike, term, here)

    def _has_others(self, row: int, classes: Sequence[int], term: Term, here: int) -> bool:
        domain, _ = self._facts.domains(term.topology_key)
        holders = self._census.count_classes(classes, term.topology_key, domain)
        others = holders.by_domain[domain[here]] - holders.has(row, int(self._classes[row]))
        return bool(others > 0)

    def _is_selected(self, pod_class: int, near: Near) -> bool:
        return all(self._census.selected(term.selection)[0][pod_class] for term in near)

    # ------------------------------------------------------------------ the other direction

    def repelled_by(self, row: int) -> tuple[Term, ...]:
        """Anti-affinity of others that speaks of this pod."""
        pod_class = int(self._classes[row])
        if pod_class not in self._repelled_by:
            self._repelled_by[pod_class] = tuple(
                term
                for term in self._index.repelling_pods_with(self._census.class_labels(pod_class))
                if self._census.selected(term.selection)[0][pod_class]
            )
        return tuple(
            term
            for term in self._repelled_by[pod_class]
            if self._census.selects(term.selection, row)
        )

    def needed_by(self, row: int) -> tuple[Near, ...]:
        """Affinity of others that this pod serves."""
        if not self._index.needing:
            return ()
        pod_class = int(self._classes[row])
        if pod_class not in self._needed_by:
            self._needed_by[pod_class] = tuple(
                near for near in self._index.needing if self._is_selected(pod_class, near)
            )
        return tuple(
            near
            for near in self._needed_by[pod_class]
            if all(self._census.selects(term.selection, row) for term in near)
        )
