import pytest

from rescheduler.embedded.store import Change, Store
from rescheduler.kube import Object
from rescheduler.wire import NODES, PODS


def _pod(name: str, *, node: str = "", namespace: str = "default") -> Object:
    return {"metadata": {"namespace": namespace, "name": name}, "spec": {"nodeName": node}}


def _names(found: object) -> list[str]:
    assert hasattr(found, "__iter__")
    return [each["metadata"]["name"] for each in found]


def test_every_write_has_a_version_of_its_own() -> None:
    store = Store()
    first = store.put(PODS, _pod("a"))
    second = store.put(NODES, {"metadata": {"name": "n"}})
    third = store.put(PODS, _pod("a", node="n"))
    versions = [int(each["metadata"]["resourceVersion"]) for each in (first, second, third)]
    assert versions == sorted(set(versions))
    assert versions[-1] == store.version


def test_what_somebody_has_got_does_not_change() -> None:
    store = Store()
    before = store.put(PODS, _pod("a"))
    store.put(PODS, _pod("a", node="n"))
    assert before["spec"]["nodeName"] == ""


def test_namespaces_are_told_apart() -> None:
    store = Store()
    store.put(PODS, _pod("a", namespace="one"))
    store.put(PODS, _pod("a", namespace="two"))
    assert len(list(store.all(PODS))) == 2
    assert len(list(store.all(PODS, "two"))) == 1
    assert store.find(PODS, "three", "a") is None


def test_listeners_hear_every_change_of_their_kind_in_order() -> None:
    store, heard = Store(), list[Change]()
    stop = store.listen(PODS, heard.append)
    store.put(PODS, _pod("a"))
    store.put(NODES, {"metadata": {"name": "n"}})
    store.put(PODS, _pod("a", node="n"))
    store.remove(PODS, "default", "a")
    stop()
    store.put(PODS, _pod("b"))
    assert [each.kind for each in heard] == ["ADDED", "MODIFIED", "DELETED"]
    assert heard[0].before is None
    assert heard[1].before == heard[0].object
    # Whoever watches goes on from the version of its going.
    assert heard[2].object["metadata"]["resourceVersion"] == str(heard[2].version)


def test_a_watch_may_begin_in_the_past() -> None:
    store = Store()
    store.put(PODS, _pod("a"))
    version = store.version
    store.put(NODES, {"metadata": {"name": "n"}})
    store.put(PODS, _pod("b"))
    found = store.changes_since(version, PODS)
    assert found is not None
    assert _names(each.object for each in found) == ["b"]


def test_what_is_compacted_is_not_told_any_more() -> None:
    store = Store()
    store.put(PODS, _pod("a"))
    version = store.version
    store.put(PODS, _pod("b"))
    store.forget_changes()
    assert store.changes_since(version, PODS) is None
    store.put(PODS, _pod("c"))
    assert store.changes_since(version, PODS) is None
    latest = store.changes_since(store.version, PODS)
    assert latest == []


def test_nobody_has_to_begin_anew_because_little_happens() -> None:
    store = Store()
    store.put(PODS, _pod("a"))
    assert store.changes_since(store.version, PODS) == []


@pytest.mark.parametrize("late", [False, True])
def test_an_index_follows_its_objects(*, late: bool) -> None:
    store = Store()
    if late:
        store.put(PODS, _pod("a", node="n1"))
    index = store.index(PODS, lambda pod: [pod["spec"]["nodeName"]])
    store.put(PODS, _pod("a", node="n1"))
    store.put(PODS, _pod("b", node="n1"))
    assert _names(index.of("n1")) == ["a", "b"]
    store.put(PODS, _pod("a", node="n2"))
    assert _names(index.of("n1")) == ["b"]
    assert _names(index.of("n2")) == ["a"]
    store.remove(PODS, "default", "b")
    assert _names(index.of("n1")) == []
