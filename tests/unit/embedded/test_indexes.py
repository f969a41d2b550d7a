import gc
import weakref

from rescheduler import wire
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.store import Store
from rescheduler.kube import Object
from rescheduler.model import selectors


def pod(
    name: str, namespace: str = "shop", *, owner: str = "", node: str = "", **labels: str
) -> Object:
    metadata: Object = {"name": name, "namespace": namespace, "labels": labels}
    if owner:
        metadata["ownerReferences"] = [{"uid": owner, "controller": True}]
    return {"metadata": metadata, "spec": {"nodeName": node} if node else {}}


def budget(name: str, selector: Object | None, namespace: str = "shop") -> Object:
    spec = {} if selector is None else {"selector": selector}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec}


def names(items: object) -> list[str]:
    assert hasattr(items, "__iter__")
    return [item["metadata"]["name"] for item in items]


def test_there_is_one_for_each_store_and_it_goes_with_it() -> None:
    store = Store()
    indexes = Indexes.of(store)
    assert Indexes.of(store) is indexes
    assert Indexes.of(Store()) is not indexes
    assert indexes.by_owner(wire.PODS) is indexes.pods_by_owner
    gone = weakref.ref(indexes)
    del store, indexes
    gc.collect()
    assert gone() is None


def test_pods_are_found_by_what_they_are_now() -> None:
    store = Store()
    store.put(wire.PODS, pod("early", owner="a", node="n"))
    indexes = Indexes.of(store)
    store.put(wire.PODS, pod("late", owner="a"))
    store.put(wire.PODS, pod("orphan"))
    assert names(indexes.pods_by_owner.of("a")) == ["early", "late"]
    assert names(indexes.pods_by_node.of("n")) == ["early"]
    assert names(indexes.pods_by_node.of("")) == ["late", "orphan"]
    assert names(indexes.orphans_by_namespace(wire.PODS).of("shop")) == ["orphan"]
    store.put(wire.PODS, pod("late", node="n"))
    assert names(indexes.pods_by_owner.of("a")) == ["early"]
    assert names(indexes.orphans_by_namespace(wire.PODS).of("shop")) == ["orphan", "late"]
    assert names(indexes.pods_by_node.of("n")) == ["early", "late"]
    store.remove(wire.PODS, "shop", "late")
    assert names(indexes.pods_by_node.of("n")) == ["early"]


def test_pods_are_found_by_any_selector() -> None:
    store = Store()
    indexes = Indexes.of(store)
    store.put(wire.PODS, pod("a", app="web", tier="front"))
    store.put(wire.PODS, pod("b", app="web"))
    store.put(wire.PODS, pod("c", app="db"))
    store.put(wire.PODS, pod("d", "elsewhere", app="web"))
    for text, found in {
        "app=web": ["a", "b"],
        "app=web,tier=front": ["a"],
        "app=web,tier!=front": ["b"],
        "app=none": [],
        "tier": ["a"],
        "": ["a", "b", "c"],
        "app in (web,db),!tier": ["b", "c"],
    }.items():
        assert names(indexes.pods_matching("shop", selectors.parse(text))) == found
    store.put(wire.PODS, pod("c", app="web"))
    assert names(indexes.pods_matching("shop", selectors.parse("app=web"))) == ["a", "b", "c"]


def test_who_selects_a_pod_is_found() -> None:
    store = Store()
    indexes = Indexes.of(store)
    budgets = wire.POD_DISRUPTION_BUDGETS
    selecting: dict[str, Object | None] = {
        "web": {"matchLabels": {"app": "web"}},
        "front": {"matchLabels": {"app": "web", "tier": "front"}},
        "tiers": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
        "all": {},
        "none": None,
        "broken": {"matchLabels": {"no key": "at all"}},
    }
    for name, selector in selecting.items():
        store.put(budgets, budget(name, selector))
    store.put(budgets, budget("far", {}, "elsewhere"))
    assert sorted(names(indexes.selecting(budgets, pod("a", app="web")))) == ["all", "web"]
    found = indexes.selecting(budgets, pod("a", app="web", tier="front"))
    assert sorted(names(found)) == ["all", "front", "tiers", "web"]
    store.put(budgets, budget("web", {"matchLabels": {"app": "db"}}))
    assert sorted(names(indexes.selecting(budgets, pod("a", app="web")))) == ["all"]
    assert selector_of(budget("none", None)) == selectors.NOTHING
