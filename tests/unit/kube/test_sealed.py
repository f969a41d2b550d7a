"""Objects whose larger parts stay as they were sent: they read as any other object does."""

import copy
import json
from typing import Any
from weakref import WeakValueDictionary

import msgspec
import pytest

from rescheduler.kube import sealed

METADATA = {
    "name": "web-1",
    "uid": "1",
    "labels": {"app": "web"},
    "ownerReferences": [{"kind": "ReplicaSet", "name": "web", "uid": "2"}],
}
POD: dict[str, Any] = {
    "metadata": METADATA,
    "spec": {"nodeName": "node-1", "containers": [{"name": "app"}]},
    "status": {"phase": "Running"},
}


def made(pod: dict[str, Any]) -> Any:  # noqa: ANN401
    return sealed.sealed(msgspec.Raw(json.dumps(pod).encode()))


def test_it_reads_as_the_object() -> None:
    pod = made(POD)
    assert pod["spec"]["nodeName"] == "node-1"
    assert pod.get("status") == {"phase": "Running"}
    assert pod.get("data") is None
    assert pod.get("data", 7) == 7
    assert "spec" in pod
    assert "data" not in pod
    with pytest.raises(KeyError):
        pod["data"]
    assert len(pod) == 3
    assert set(pod) == pod.keys() == POD.keys()
    assert dict(pod.items()) == POD
    assert {"phase": "Running"} in pod.values()


@pytest.mark.parametrize(
    "whole",
    [
        dict,
        copy.copy,
        copy.deepcopy,
        lambda pod: pod.copy(),
        lambda pod: {**pod},
        lambda pod: pod | {},
        lambda pod: json.loads(json.dumps(pod)),
        lambda pod: eval(repr(pod)),  # noqa: S307
    ],
)
def test_whoever_copies_it_has_all_of_it(whole: Any) -> None:  # noqa: ANN401
    copied = whole(made(POD))
    assert copied == POD
    assert type(copied) is dict
    copied["spec"]["nodeName"] = "node-2"
    assert copied["spec"]["nodeName"] == "node-2"


def test_it_is_equal_to_what_reads_alike() -> None:
    assert made(POD) == POD
    assert made(POD) == made(POD)
    assert made(POD) != made({**POD, "status": {"phase": "Failed"}})
    assert made(POD) != {"metadata": METADATA}


def test_a_part_may_be_put_in_the_place_of_a_sealed_one() -> None:
    pod = made(POD)
    pod["status"] = {"phase": "Failed"}
    assert pod == {**POD, "status": {"phase": "Failed"}}
    assert len(pod) == 3


def test_managed_fields_are_left_out() -> None:
    managed = {**METADATA, "managedFields": [{"manager": "kubelet"}]}
    assert made({**POD, "metadata": managed}) == POD


def test_the_objects_of_a_list_share_what_they_have_in_common() -> None:
    other = {**POD, "metadata": {**METADATA, "name": "web-2", "uid": "3"}}
    pages = sealed.Pages()
    first = {"metadata": {"resourceVersion": "7", "continue": "next"}, "items": [POD]}
    last = {"metadata": {"resourceVersion": "7"}, "items": [other]}
    assert pages.add(json.dumps(first).encode()) == "next"
    assert pages.add(json.dumps(last).encode()) == ""
    items, version = pages.listing()
    assert (items, version) == ([POD, other], "7")
    assert items[0]["metadata"]["labels"] is items[1]["metadata"]["labels"]


def test_a_list_of_nothing() -> None:
    pages = sealed.Pages()
    assert pages.add(b'{"metadata":{"resourceVersion":"7"},"items":null}') == ""
    assert pages.listing() == ([], "7")


def test_what_somebody_has_is_there_once() -> None:
    alive: sealed.Alive = WeakValueDictionary()
    versioned = {**POD, "metadata": {**METADATA, "resourceVersion": "7"}}
    line = json.dumps({"type": "ADDED", "object": versioned}).encode()
    first, again = (sealed.event(line, alive).object for _ in range(2))
    assert again is first
    # A server that was restored from a backup may give a version twice.
    restored = {**versioned, "status": {"phase": "Pending"}}
    line = json.dumps({"type": "ADDED", "object": restored}).encode()
    assert sealed.event(line, alive).object == restored
    del first, again
    assert not alive


def test_an_event_and_an_error() -> None:
    line = json.dumps({"type": "ADDED", "object": POD}).encode()
    assert sealed.event(line) == ("ADDED", POD)
    status = {"kind": "Status", "code": 410, "metadata": {}, "status": "Failure"}
    error = sealed.event(json.dumps({"type": "ERROR", "object": status}).encode())
    assert error == ("ERROR", status)
    assert type(error[1]) is dict
