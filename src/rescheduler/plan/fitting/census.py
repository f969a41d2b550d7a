"""How many pods of which kind are where: counted by domain, and kept true as pods move."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from rescheduler.model.columns import NONE, Amounts, Flag, Numbers
from rescheduler.model.objects import labels
from rescheduler.model.selectors import Selector
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.index import OWN_LABELS, RuleIndex
from rescheduler.plan.fitting.nodes import Mask
from rescheduler.plan.fitting.rules import Selection

_NO_FLAG: Final = Flag(0)


class Count:
    """Of some pods, by domain."""

    __slots__ = ("_classes", "_rows", "by_domain", "domain")

    def __init__(self, classes: Mask, rows: frozenset[int] | None, domain: Numbers) -> None:
        self._classes = classes
        self._rows = rows
        """Where the class alone does not tell; None: it does."""
        self.domain = domain
        """By node: its domain, NONE for nodes that are not counted."""
        size = int(domain.max(initial=NONE)) + 1
        self.by_domain: Amounts = np.zeros(size, np.int64)

    def has(self, row: int, pod_class: int) -> bool:
        return bool(self._classes[pod_class]) and (self._rows is None or row in self._rows)

    def fill(self, places: Numbers) -> None:
        domains = self.domain[places[places != NONE]]
        counted = domains[domains != NONE]
        self.by_domain += np.bincount(counted, minlength=len(self.by_domain))

    def add(self, node: int, amount: int) -> None:
        if node != NONE and self.domain[node] != NONE:
            self.by_domain[self.domain[node]] += amount

    def at(self, nodes: Numbers) -> Amounts:
        """By node asked about; 0 for those without a domain."""
        if not len(self.by_domain):
            return np.zeros(len(nodes), np.int64)
        domains = self.domain[nodes]
        return np.where(domains == NONE, 0, self.by_domain[domains])


class Census:
    def __init__(self, snapshot: Snapshot, index: RuleIndex, place: Numbers) -> None:
        self._snapshot = snapshot
        self._index = index
        self._place = place
        self._counts: dict[object, Count] = {}
        self._of_class: defaultdict[int, list[Count]] = defaultdict(list)
        """By class: the counts that its pods are in, to be kept true."""
        self._selected: dict[Selection, tuple[Mask, frozenset[int] | None]] = {}
        self._of_flags: dict[Flag, list[int]] = {}

    def moved(self, row: int, source: int, target: int) -> None:
        pod_class = int(self._snapshot.pods.pod_class[row])
        for count in self._of_class[pod_class]:
            if count.has(row, pod_class):
                count.add(source, -1)
                count.add(target, 1)

    def selects(self, selection: Selection, row: int) -> bool:
        classes, rows = self.selected(selection)
        in_class = bool(classes[self._snapshot.pods.pod_class[row]])
        return in_class and (rows is None or row in rows)

    def count_selected(
        self,
        selections: Sequence[Selection],
        key: object,
        domain: Numbers,
        *,
        without: Flag = _NO_FLAG,
    ) -> Count:
        """Of pods that all of these select, but for those with such a flag; `key` names the
        domains.
        """
        known = self._counts.get((tuple(selections), key, without))
        if known is None:
            classes = np.ones(len(self._snapshot.classes), np.bool_)
            exact: frozenset[int] | None = None
            for selection in selections:
                more, rows = self.selected(selection)
                classes = classes & more
                if rows is not None:
                    exact = rows if exact is None else exact & rows
            if without and (left_out := self._flagged(without, classes)):
                exact = frozenset(self._rows(classes, exact)) - left_out
            known = self._new(classes, exact, domain)
            self._counts[tuple(selections), key, without] = known
        return known

    def count_classes(self, classes: Iterable[int], key: object, domain: Numbers) -> Count:
        """Of all pods of these classes."""
        chosen = tuple(classes)
        known = self._counts.get((chosen, key))
        if known is None:
            mask = np.zeros(len(self._snapshot.classes), np.bool_)
            mask[list(chosen)] = True
            known = self._new(mask, None, domain)
            self._counts[chosen, key] = known
        return known

    def _new(self, classes: Mask, rows: frozenset[int] | None, domain: Numbers) -> Count:
        count = Count(classes, rows, domain)
        count.fill(self._place[self._rows(classes, rows)])
        for pod_class in np.flatnonzero(classes).tolist():
            self._of_class[pod_class].append(count)
        return count

    def _rows(self, classes: Mask, rows: frozenset[int] | None) -> Numbers:
        if rows is not None:
            return np.array(sorted(rows), np.int32)
        return self.rows_of(np.flatnonzero(classes).tolist())

    def has(self, flags: Flag) -> bool:
        return bool(self._rows_with(flags))

    def _flagged(self, flags: Flag, classes: Mask) -> frozenset[int]:
        pod_class = self._snapshot.pods.pod_class
        return frozenset(row for row in self._rows_with(flags) if classes[pod_class[row]])

    def _rows_with(self, flags: Flag) -> list[int]:
        if flags not in self._of_flags:
            found = np.flatnonzero(self._snapshot.pods.flags & int(flags))
            self._of_flags[flags] = found.tolist()
        return self._of_flags[flags]

    # ------------------------------------------------------------------ who is selected

    def selected(self, selection: Selection) -> tuple[Mask, frozenset[int] | None]:
        """Classes, and the very rows where labels matter that alike pods do not share."""
        known = self._selected.get(selection)
        if known is None:
            known = self._select(selection)
            self._selected[selection] = known
        return known

    def _select(self, selection: Selection) -> tuple[Mask, frozenset[int] | None]:
        selector = selection.selector
        is_own = any(each.key in OWN_LABELS for each in selector.requirements)
        shared = Selector(
            tuple(each for each in selector.requirements if each.key not in OWN_LABELS)
        )
        mask = np.zeros(len(self._snapshot.classes), np.bool_)
        for number in self._index.classes_for(shared):
            pod_class = self._snapshot.classes[number]
            if pod_class is not None and self.covers(selection, pod_class.namespace):
                mask[number] = shared.matches(pod_class.labels)
        if not is_own:
            return mask, None
        own = Selector(tuple(each for each in selector.requirements if each.key in OWN_LABELS))
        rows = self.rows_of(np.flatnonzero(mask).tolist()).tolist()
        return mask, frozenset(
            row for row in rows if own.matches(self._snapshot.own_labels_of(row))
        )

    def covers(self, selection: Selection, namespace: str) -> bool:
        if namespace in selection.namespaces:
            return True
        chosen = selection.namespace_selector
        if chosen is None:
            return False
        # A namespace that was not seen has no labels that are known: it counts as selected when
        # nobody looked at namespaces at all, to be safe.
        found = self._snapshot.find("namespaces", "", namespace)
        return found is None or chosen.matches(labels(found))

    def class_labels(self, pod_class: int) -> Mapping[str, str]:
        found = self._snapshot.classes[pod_class]
        return {} if found is None else found.labels

    def rows_of(self, classes: Iterable[int]) -> Numbers:
        parts = [self._snapshot.rows_of_class(each) for each in classes]
        return np.concatenate(parts) if parts else np.empty(0, np.int32)
