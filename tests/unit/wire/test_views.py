"""Views on objects: both formats read alike, and nothing is lost that the table names."""

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler import wire
from rescheduler.wire import NODE_METRICS, NODES, POD_MIGRATIONS, PODS, Resource, View
from rescheduler.wire.formats import ProtobufFormat
from rescheduler.wire.schema import kind_of, kinds
from tests.unit.wire.generated import encoded, objects, reduced

IN_PROTOBUF = [resource for resource, kind in kinds().items() if kind.protobuf]


def from_protobuf(resource: Resource, content: dict[str, Any]) -> View:
    message = kind_of(resource).message
    [view] = ProtobufFormat(resource).group([encoded(message, content)]).views
    return view


def in_both_formats(resource: Resource, content: dict[str, Any]) -> list[View]:
    return [wire.from_json(resource, content), from_protobuf(resource, content)]


def spec(**content: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"metadata": {"name": "web"}, "spec": content}


def nested(levels: int) -> Any:  # noqa: ANN401
    content: Any = 1
    for _ in range(levels):
        content = {"a": content}
    return content


# ------------------------------------------------------------------ both formats


@given(st.data())
def test_any_object_reads_the_same_in_both_formats(data: st.DataObject) -> None:
    resource = data.draw(st.sampled_from(IN_PROTOBUF))
    message = kind_of(resource).message
    content = data.draw(objects(message))
    expected = reduced(message, content)
    for view in in_both_formats(resource, content):
        assert wire.to_json(view) == expected


@given(st.data())
def test_what_was_read_can_be_read_again(data: st.DataObject) -> None:
    resource = data.draw(st.sampled_from(list(kinds())))
    once = wire.to_json(wire.from_json(resource, data.draw(objects(kind_of(resource).message))))
    assert wire.to_json(wire.from_json(resource, once)) == once


@given(st.data())
def test_fingerprints_are_equal_exactly_when_the_parts_are(data: st.DataObject) -> None:
    one, other = (data.draw(objects("PodSpec")) for _ in range(2))
    are_equal = reduced("PodSpec", one) == reduced("PodSpec", other)
    for first, again, second in zip(
        *(in_both_formats(PODS, {"spec": each}) for each in (one, one, other)), strict=True
    ):
        assert wire.fingerprint(first.spec) == wire.fingerprint(again.spec)
        if not are_equal:
            assert wire.fingerprint(first.spec) != wire.fingerprint(second.spec)


def test_a_pod_reads_by_attributes() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "tmp", "emptyDir": {}},
    ]
    content = spec(nodeName="n1", volumes=volumes, priority=0)
    content["metadata"] |= {
        "labels": {"a": "b", "c": ""},
        "annotations": {"note": "some"},
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "ownerReferences": [{"kind": "ReplicaSet", "controller": True}],
    }
    for pod in in_both_formats(PODS, content):
        assert (pod.metadata.name, pod.metadata.namespace) == ("web", "")
        assert wire.strings(pod.metadata.labels) == {"a": "b", "c": ""}
        assert pod.metadata.annotations.get("note") == "some"
        assert wire.seconds(pod.metadata.creationTimestamp) == 1767323045
        assert wire.seconds(pod.metadata.deletionTimestamp) == 0
        assert [bool(each.controller) for each in pod.metadata.ownerReferences] == [True]
        assert pod.spec.nodeName == "n1"
        assert [each.volumeSource.persistentVolumeClaim.claimName for each in pod.spec.volumes] == [
            "c",
            "",
        ]
        assert [wire.has(each.volumeSource, "emptyDir") for each in pod.spec.volumes] == [
            False,
            True,
        ]
        assert (wire.has(pod.spec, "priority"), pod.spec.priority) == (True, 0)
        assert (wire.has(pod.spec, "runtimeClassName"), pod.spec.runtimeClassName) == (False, "")
        assert (
            list(pod.spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution) == []
        )
        assert pod.status.phase == ""


def test_the_reader_of_a_pod_may_change_it() -> None:
    bare = spec(containers=[{"name": "app"}])
    volumes = [{"name": "one", "emptyDir": {}}, {"name": "two", "emptyDir": {}}]
    full = spec(containers=[{"name": "app"}], nodeName="n1", volumes=volumes)
    for pod, expected in zip(in_both_formats(PODS, full), in_both_formats(PODS, bare), strict=True):
        pod.spec.nodeName = ""
        del pod.spec.volumes[0]
        assert [each.name for each in pod.spec.volumes] == ["two"]
        del pod.spec.volumes[:]
        assert wire.fingerprint(pod.spec) == wire.fingerprint(expected.spec)
        assert wire.to_json(pod) == wire.to_json(expected)


def test_what_one_pod_lacks_is_not_written_into_another() -> None:
    first, second = (wire.from_json(PODS, spec(nodeName="n1")) for _ in range(2))
    with pytest.raises(AttributeError):
        first.spec.affinity.podAffinity = None
    first.status.phase = "Running"
    assert second.status.phase == ""


@given(st.data())
def test_opaque_maps_have_equal_keys_exactly_when_they_are_equal(data: st.DataObject) -> None:
    labels = st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=3)
    one, other = data.draw(labels), data.draw(labels)
    pairs = zip(
        *(
            in_both_formats(PODS, {"metadata": {"labels": dict(sorted(each.items()))}})
            for each in (one, other)
        ),
        strict=True,
    )
    for first, second in pairs:
        keys = [wire.opaque_key(each.metadata.labels) for each in (first, second)]
        assert (keys[0] == keys[1]) == (one == other)
        assert wire.opaque_strings(first.metadata.labels) == one


def test_quantities_are_text_whoever_wrote_them() -> None:
    room = {"cpu": 2, "memory": "1Gi", "example.com/card": 1.5}
    node = wire.from_json(NODES, {"status": {"allocatable": room}})
    expected = {"cpu": "2", "memory": "1Gi", "example.com/card": "1.5"}
    assert wire.quantities(node.status.allocatable) == expected
    assert wire.to_json(node)["status"]["allocatable"] == expected


# ------------------------------------------------------------------ JSON from elsewhere


def test_null_is_absent_as_it_is_for_the_server() -> None:
    content = {"metadata": {"name": "web", "labels": None, "annotations": None}, "spec": None}
    assert wire.to_json(wire.from_json(PODS, content)) == {"metadata": {"name": "web"}}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (spec(nodeName=3), "nodeName"),
        (spec(containers={}), "containers"),
        (spec(containers=[{"resources": {"requests": {"cpu": []}}}]), "requests"),
        ({"metadata": {"labels": {"a": 1}}}, "labels"),
        ({"metadata": {"labels": "a"}}, "labels"),
        ({"metadata": {"creationTimestamp": "yesterday"}}, "creationTimestamp"),
        ({"metadata": {"creationTimestamp": "2026-01-02T03:04:05"}}, "creationTimestamp"),
        ({"metadata": []}, "metadata"),
        ({"metadata": {"creationTimestamp": "0001-01-01T00:00:00+05:00"}}, "not a time"),
        ({"spec": object()}, "not JSON"),
        ({"spec": nested(5000)}, "not JSON: .*recursion"),
    ],
)
def test_another_shape_is_refused_and_the_field_named(content: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        wire.from_json(PODS, content)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists))
def test_no_json_whatever_does_more_than_raise_a_value_error(content: Any) -> None:  # noqa: ANN401
    with pytest.raises(ValueError, match=r"."):
        wire.decode(PODS, json.dumps({"metadata": {"name": [content]}}).encode())


# Python and msgspec count levels on their own, so one gives up before the other.
@pytest.mark.parametrize("levels", [500, 900, 1500, 5000])
@pytest.mark.parametrize("name", [b"null", b"7"])
def test_json_of_any_depth_is_read_or_refused(name: bytes, levels: int) -> None:
    deep = b'{"a":' * levels + b"1" + b"}" * levels
    content = b'{"metadata":{"name":%b,"uid":"u"},"odd":%b}' % (name, deep)
    try:
        view = wire.decode(PODS, content)
    except ValueError as problem:
        assert re.search("recursion|name", str(problem))  # noqa: PT017 - or it is read
    else:
        assert view.metadata.uid == "u"


def test_objects_share_the_words_that_they_have_in_common() -> None:
    found = {
        "metadata": {"name": "a", "labels": {"topology.kubernetes.io/zone": "zone-a1"}},
        "status": {"allocatable": {"cpu": "15890m"}},
    }
    for read in (wire.from_json, from_protobuf):
        one, other = (wire.to_json(read(NODES, found)) for _ in range(2))
        for path in (("metadata", "labels"), ("status", "allocatable")):
            [[key, value]], [[again, same]] = (
                each[path[0]][path[1]].items() for each in (one, other)
            )
            assert key is again
            assert value is same


def test_times_of_other_zones_are_the_same_moment() -> None:
    content = {"metadata": {"creationTimestamp": "2026-01-02T05:04:05.5+02:00"}}
    node = wire.from_json(NODES, content)
    assert wire.seconds(node.metadata.creationTimestamp) == 1767323045
    assert wire.to_json(node)["metadata"]["creationTimestamp"] == "2026-01-02T03:04:05Z"


def test_kinds_that_are_not_in_the_table_are_kept_as_they_are() -> None:
    content = {"metadata": {"name": "one"}, "spec": {"deep": [{"er": None}]}, "other": 1}
    view = wire.from_json(POD_MIGRATIONS, content)
    assert view.spec == content["spec"]
    assert view.status == {}
    assert wire.to_json(view) == {"metadata": {"name": "one"}, "spec": content["spec"]}


def test_metrics_are_read() -> None:
    content = {
        "metadata": {"name": "n1"},
        "timestamp": "2026-01-02T03:04:05Z",
        "window": "20.1s",
        "usage": {"cpu": "123n"},
    }
    assert wire.to_json(wire.from_json(NODE_METRICS, content)) == content
