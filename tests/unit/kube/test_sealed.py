"""Objects whose larger parts stay as they were sent: they read as any other object does."""

import copy
import json
from typing import Any

import msgspec
import pytest

from rescheduler.kube import Known, sealed

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


def parts(pod: dict[str, Any]) -> sealed.Parts:
    return msgspec.json.decode(json.dumps(pod), type=sealed.Parts)


def made(pod: dict[str, Any]) -> Any:  # noqa: ANN401
    return sealed.Reader().read(parts(pod))


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


RULES = {"affinity": {"podAffinity": {}}, "topologySpreadConstraints": [{"maxSkew": 1}]}
CONDITIONS = [
    {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    {"type": "Ready", "status": "False", "lastTransitionTime": "2026-01-01T00:00:05Z"},
]


def brief(pod: dict[str, Any]) -> Any:  # noqa: ANN401
    return sealed.Reader(lambda _: False).read(parts(pod))


def test_of_most_pods_only_what_is_asked_of_neighbours_is_kept() -> None:
    status = {**POD["status"], "conditions": CONDITIONS, "podIP": "10.0.0.1"}
    pod = brief({**POD, "spec": {**POD["spec"], **RULES}, "status": status})
    assert sealed.is_brief(pod)
    assert pod["metadata"] == METADATA
    assert pod["spec"] == {"nodeName": "node-1", **RULES}
    # Since when something holds would make each pod different from the others.
    scheduled = {"type": "PodScheduled", "status": "True"}
    assert pod["status"] == {"phase": "Running", "conditions": [scheduled, CONDITIONS[1]]}


def test_what_is_not_kept_is_not_taken_for_absent() -> None:
    pod = brief(POD)
    assert pod["spec"].get("affinity") is None
    with pytest.raises(KeyError):
        pod["spec"]["affinity"]
    for ask in (pod["spec"].get, pod["spec"].__getitem__):
        with pytest.raises(LookupError, match="containers of this pod is not kept"):
            ask("containers")


def test_pods_that_somebody_looks_at_are_kept_whole() -> None:
    reader = sealed.Reader(lambda metadata: metadata["name"] == "web-1")
    mine = reader.read(parts(POD))
    assert not sealed.is_brief(mine)
    assert mine == POD


VERSIONED = {**POD, "metadata": {**METADATA, "resourceVersion": "5"}}


def test_what_is_known_is_not_made_once_more() -> None:
    known = made(VERSIONED)
    reader = sealed.Reader(known=_knows(known))
    assert reader.read(parts(VERSIONED)) is known
    newer = {**VERSIONED, "metadata": {**VERSIONED["metadata"], "resourceVersion": "6"}}
    assert reader.read(parts(newer)) == newer


def test_who_asks_for_all_of_a_pod_is_not_given_the_little_that_is_known() -> None:
    known = brief(VERSIONED)
    is_moved = False
    reader = sealed.Reader(lambda _: is_moved, _knows(known))
    assert reader.read(parts(VERSIONED)) is known
    is_moved = True
    assert reader.read(parts(VERSIONED)) == VERSIONED
    # Nobody said that little would do.
    assert sealed.Reader(None, _knows(known)).read(parts(VERSIONED)) == VERSIONED


def _knows(known: Any) -> Known:  # noqa: ANN401
    metadata = known["metadata"]
    exactly = (metadata["name"], metadata["resourceVersion"])
    return lambda name, version: known if (name, version) == exactly else None


def test_an_event_and_an_error() -> None:
    line = json.dumps({"type": "ADDED", "object": POD}).encode()
    assert sealed.event(line) == ("ADDED", POD)
    status = {"kind": "Status", "code": 410, "metadata": {}, "status": "Failure"}
    error = sealed.event(json.dumps({"type": "ERROR", "object": status}).encode())
    assert error == ("ERROR", status)
    assert type(error[1]) is dict


def test_a_bookmark_is_of_no_pod_that_somebody_could_look_at() -> None:
    """It has a version, and no UID to be asked for."""
    told = {"kind": "Pod", "apiVersion": "v1", "metadata": {"resourceVersion": "12"}}
    line = json.dumps({"type": "BOOKMARK", "object": told}).encode()
    assert sealed.event(line, lambda metadata: bool(metadata["uid"])) == ("BOOKMARK", told)
