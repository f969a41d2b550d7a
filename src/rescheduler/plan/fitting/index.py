"""The rules of all classes, found by what they speak of. Kept as long as the classes are the same:
from plan to plan mostly pods change, not their kinds.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from rescheduler.model import names
from rescheduler.model.columns import PodClass
from rescheduler.model.selectors import Operator, Selector
from rescheduler.plan.fitting.exclusives import Disk, Port
from rescheduler.plan.fitting.rules import Rules, Spread, Term

Near = tuple[Term, ...]
"""The whole of a required affinity: a pod counts when all of its terms select it."""
Label = tuple[str, str]

T = TypeVar("T")

OWN_LABELS = names.OF_ONE_POD | names.OF_ONE_PLACE
"""Labels that alike pods do not share."""


class RuleIndex:
    def __init__(self, classes: Sequence[PodClass | None], rules: Sequence[Rules | None]) -> None:
        self._classes = classes
        self.rules = rules
        """By class; None where a number is free."""

    @cached_property
    def repelling(self) -> Mapping[Term, tuple[int, ...]]:
        """Terms of anti-affinity -> the classes that have them."""
        return self._classes_by(lambda rules: rules.apart_from)

    @cached_property
    def needing(self) -> Mapping[Near, tuple[int, ...]]:
        """Affinities -> the classes that have them."""
        return self._classes_by(lambda rules: [rules.near_to] if rules.near_to else [])

    @cached_property
    def users(self) -> Mapping[Port | Disk, tuple[int, ...]]:
        """Ports and disks -> the classes that have them."""
        return self._classes_by(lambda rules: rules.exclusives)

    def repelling_pods_with(self, labels: Mapping[str, str]) -> Iterable[Term]:
        """Those that may speak of a pod with these labels, and few others."""
        return _found(self._repelling_by_label, labels)

    def spreading_pods_with(self, labels: Mapping[str, str]) -> Iterable[tuple[Rules, Spread]]:
        """Likewise, each with one of the rules that it stands in."""
        return _found(self._spreads_by_label, labels)

    def is_spread(self, number: int) -> bool:
        """Whether a spread, its own or of others, may speak of pods of this class."""
        pod_class, rules = self._classes[number], self.rules[number]
        if pod_class is None or rules is None:
            return False
        return bool(rules.spreads) or any(self.spreading_pods_with(pod_class.labels))

    def classes_for(self, selector: Selector) -> Iterable[int]:
        """All that it can select, and few others."""
        for label in _labels_asked_for(selector):
            if label is None:
                yield from range(len(self._classes))
            else:
                yield from self._classes_by_label.get(label, ())

    @cached_property
    def _classes_by_label(self) -> Mapping[Label, list[int]]:
        found: dict[Label, list[int]] = defaultdict(list)
        for number, pod_class in enumerate(self._classes):
            if pod_class is not None:
                for label in pod_class.labels.items():
                    found[label].append(number)
        return found

    @cached_property
    def _repelling_by_label(self) -> Mapping[Label | None, list[Term]]:
        found: dict[Label | None, list[Term]] = defaultdict(list)
        for term in self.repelling:
            for label in _labels_asked_for(term.selection.selector):
                found[label].append(term)
        return found

    @cached_property
    def _spreads_by_label(self) -> Mapping[Label | None, list[tuple[Rules, Spread]]]:
        found: dict[Label | None, list[tuple[Rules, Spread]]] = defaultdict(list)
        seen: set[tuple[object, ...]] = set()
        for rules in filter(None, self.rules):
            for spread in rules.spreads:
                key = (spread, *rules.domains_key(spread))
                if key not in seen:
                    seen.add(key)
                    for label in _labels_asked_for(spread.selection.selector):
                        found[label].append((rules, spread))
        return found

    def _classes_by(self, items: Callable[[Rules], Iterable[T]]) -> Mapping[T, tuple[int, ...]]:
        found: dict[T, dict[int, None]] = defaultdict(dict)
        for number, rules in enumerate(self.rules):
            for item in items(rules) if rules is not None else ():
                found[item][number] = None
        return {item: tuple(numbers) for item, numbers in found.items()}


def _labels_asked_for(selector: Selector) -> Iterable[Label | None]:
    """Each pod that it selects has one of these; None: who knows."""
    for each in selector.requirements:
        if each.operator in (Operator.IN, Operator.EQUALS) and each.key not in OWN_LABELS:
            return [(each.key, value) for value in sorted(each.values)]
    return [None]


def _found(by_label: Mapping[Label | None, list[T]], labels: Mapping[str, str]) -> Iterable[T]:
    for label in (None, *labels.items()):
        yield from by_label.get(label, ())
