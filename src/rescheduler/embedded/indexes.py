"""Ways to find objects that more than one controller needs, kept once for each store."""

import functools
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.store import Index, Store
from rescheduler.kube import Object
from rescheduler.model import selectors
from rescheduler.model.objects import controller, labels
from rescheduler.model.selectors import Operator, Selector

_Keys = Callable[[Object], Iterable[Hashable]]


class Indexes:
    """All in the order in which the objects came."""

    def __init__(self, store: Store) -> None:
        # Its owner holds us: we must not hold it.
        self._store = weakref.ref(store)
        self._made: dict[tuple[wire.Resource, _Keys], Index] = {}
        self.pods_by_node: Final = self.by(wire.PODS, _node)
        """Empty: those that have none yet."""
        self.pods_by_owner: Final = self.by_owner(wire.PODS)
        self.pods_by_namespace: Final = self.by_namespace(wire.PODS)

    @classmethod
    def of(cls, store: Store) -> "Indexes":
        known = _OF_STORES.get(store)
        if known is None:
            known = _OF_STORES[store] = cls(store)
        return known

    def by(self, resource: wire.Resource, keys: _Keys) -> Index:
        """By these keys; the same one for all who ask for it by the same function."""
        known = self._made.get((resource, keys))
        if known is None:
            store = self._store()
            assert store is not None  # noqa: S101 - whoever asks for its indexes holds it
            known = self._made[resource, keys] = store.index(resource, keys)
        return known

    def by_namespace(self, resource: wire.Resource) -> Index:
        return self.by(resource, _namespace)

    def by_owner(self, resource: wire.Resource) -> Index:
        """By the UID of the controller, of whatever kind."""
        return self.by(resource, _controller_uid)

    def orphans_by_namespace(self, resource: wire.Resource) -> Index:
        """Those that no controller manages."""
        return self.by(resource, _namespace_of_orphan)

    def pods_matching(self, namespace: str, selector: Selector) -> Iterable[Object]:
        """Without a look at all pods of the namespace, if the selector names a label's value."""
        found = self._fewest(namespace, selector)
        return (pod for pod in found if selector.matches(labels(pod)))

    def selecting(self, resource: wire.Resource, item: Object) -> Iterator[Object]:
        """The objects of a kind, in the namespace of the item, whose selector matches its labels;
        also those whose selector is empty.
        """
        index = self.by(resource, _rarest_requirement)
        namespace, having = item["metadata"].get("namespace") or "", labels(item)
        for key in (namespace, *((namespace, *label) for label in having.items())):
            for each in index.of(key):
                if selector_of(each).matches(having):
                    yield each

    def _fewest(self, namespace: str, selector: Selector) -> Collection[Object]:
        by_label = self.by(wire.PODS, _labels)
        found = [
            by_label.of((namespace, requirement.key, value))
            for requirement in selector.requirements
            if requirement.operator is Operator.EQUALS
            for value in requirement.values
        ]
        return min(found, key=len) if found else self.pods_by_namespace.of(namespace)


# By weak references: a store goes when its cluster does, and its indexes with it.
_OF_STORES: Final = weakref.WeakKeyDictionary[Store, Indexes]()


def selector_of(item: Object) -> Selector:
    """Its label selector; one that cannot be read matches nothing, as for all controllers."""
    raw: Mapping[str, Any] | None = item["spec"].get("selector")
    try:
        if raw is not None and not raw.get("matchExpressions"):
            return _of_labels(tuple((raw.get("matchLabels") or {}).items()))
        return selectors.from_object(raw)
    except selectors.InvalidSelectorError:
        return selectors.NOTHING


@functools.lru_cache(maxsize=10_000)
def _of_labels(wanted: tuple[tuple[str, str], ...]) -> Selector:
    return selectors.from_object({"matchLabels": dict(wanted)})


def _node(pod: Object) -> Iterable[Hashable]:
    return (pod["spec"].get("nodeName") or "",)


def _namespace(item: Object) -> Iterable[Hashable]:
    return (item["metadata"].get("namespace") or "",)


def _controller_uid(item: Object) -> Iterable[Hashable]:
    reference = controller(item)
    return (reference["uid"],) if reference else ()


def _namespace_of_orphan(item: Object) -> Iterable[Hashable]:
    return () if controller(item) else _namespace(item)


def _labels(pod: Object) -> Iterable[Hashable]:
    namespace = pod["metadata"].get("namespace") or ""
    return ((namespace, key, value) for key, value in labels(pod).items())


def _rarest_requirement(item: Object) -> Iterable[Hashable]:
    """A label's value that whatever it selects must have; of several the last one, which is the
    pod-template-hash wherever there is one.
    """
    namespace = item["metadata"].get("namespace") or ""
    for requirement in reversed(selector_of(item).requirements):
        if requirement.operator is Operator.EQUALS:
            return ((namespace, requirement.key, value) for value in requirement.values)
    return (namespace,)
