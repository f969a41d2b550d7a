"""The wire format, as Go writes it and as nobody should."""

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.serve.bodies import BadRequest
from rescheduler.serve.extender import formats
from rescheduler.serve.extender.formats import Binding

POD = {"metadata": {"name": "web-1", "uid": "u"}, "spec": {"containers": []}}
NODES: dict[str, Any] = {
    "metadata": {},
    "items": [{"metadata": {"name": each}, "status": {"capacity": {"cpu": "4"}}} for each in "ab"],
}


def body(**args: Any) -> bytes:  # noqa: ANN401
    return json.dumps(args).encode()


@pytest.mark.parametrize(
    "args",
    [
        {"Pod": POD, "Nodes": None, "NodeNames": ["a", "b"]},
        {"pod": POD, "nodes": None, "nodenames": ["a", "b"]},
        {"POD": POD, "NODENAMES": ["a", "b"], "unknown": {"deep": [1]}},
        {"Pod": POD, "NodeNames": ["a", "b"]},
    ],
)
def test_names_in_any_capitals(args: dict[str, Any]) -> None:
    asked = formats.Reader().question(body(**args))
    assert list(asked.names) == ["a", "b"]
    assert asked.pod == POD
    answer = json.loads(formats.filter_result(asked, ["b"], {"a": "full"}, {}))
    assert answer == {
        "Nodes": None,
        "NodeNames": ["b"],
        "FailedNodes": {"a": "full"},
        "FailedAndUnresolvableNodes": {},
        "Error": "",
    }


@pytest.mark.parametrize("nodes", [NODES, {"Items": NODES["items"]}])
@pytest.mark.parametrize("key", ["Nodes", "nodes"])
def test_whole_nodes_come_back_as_they_came(key: str, nodes: dict[str, Any]) -> None:
    asked = formats.Reader().question(body(**{"Pod": POD, key: nodes, "NodeNames": None}))
    assert list(asked.names) == ["a", "b"]
    answer = json.loads(formats.filter_result(asked, ["b"], {}, {"a": "in maintenance"}))
    assert answer["NodeNames"] is None
    assert answer["Nodes"]["items"] == NODES["items"][1:]
    assert answer["FailedAndUnresolvableNodes"] == {"a": "in maintenance"}


def test_none_offered_is_none_passed() -> None:
    asked = formats.Reader().question(body(Pod=POD, NodeNames=[]))
    assert json.loads(formats.filter_result(asked, asked.names, {}, {}))["NodeNames"] == []


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (b"", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[]", "cannot be read"),
        (b'{"Pod": 1, "NodeNames": ["a"]}', "Pod: a mapping is needed"),
        (b'{"NodeNames": ["a"]}', "Pod: is needed"),
        (b'{"Pod": {}}', "NodeNames: is needed, or Nodes"),
        (b'{"Pod": {}, "Nodes": null, "NodeNames": null}', "NodeNames: is needed, or Nodes"),
        (b'{"Pod": {}, "NodeNames": [1]}', "cannot be read"),
        (b'{"Pod": {}, "NodeNames": "a"}', "cannot be read"),
        (b'{"Pod": {}, "Nodes": {"items": [{}]}}', "cannot be read"),
        (b'{"Pod": ' + b"[" * 100_000 + b"]" * 100_000 + b', "NodeNames": []}', "cannot be read"),
    ],
)
def test_what_is_no_question_is_refused(sent: bytes, words: str) -> None:
    with pytest.raises(BadRequest, match=words):
        formats.Reader().question(sent)


def test_names_that_come_again_are_read_once() -> None:
    reader = formats.Reader()
    first = reader.question(body(Pod=POD, NodeNames=["a", "b"])).names
    assert reader.question(body(Pod={}, NodeNames=["a", "b"])).names is first
    assert reader.question(body(Pod=POD, NodeNames=["b", "a"])).names == ["b", "a"]
    assert reader.question(body(Pod=POD, NodeNames=["a", "b"])).names == ["a", "b"]
    assert reader.question(body(Pod=POD, NodeNames=None, Nodes=NODES)).names == ["a", "b"]
    with pytest.raises(BadRequest):
        reader.question(body(Pod=POD, NodeNames=["a", 1]))
    assert reader.question(body(Pod=POD, NodeNames=[])).names == []


def test_the_same_pod_is_read_once() -> None:
    reader = formats.Reader()
    first = reader.question(body(Pod=POD, NodeNames=["a"])).pod
    assert reader.question(body(Pod=POD, NodeNames=["b"])).pod is first
    with pytest.raises(BadRequest):
        reader.question(body(Pod=[], NodeNames=["b"]))
    assert reader.question(body(Pod={**POD, "kind": "Pod"}, NodeNames=["b"])).pod["kind"] == "Pod"
    assert reader.question(body(Pod=POD, NodeNames=["b"])).pod == POD


def test_what_is_larger_than_any_pod_is_not_kept() -> None:
    reader = formats.Reader()
    sent = body(Pod={"spec": "x" * 2**20}, NodeNames=["y" * 2**20])
    first, second = reader.question(sent), reader.question(sent)
    assert first == second
    assert first.pod is not second.pod
    assert first.names is not second.names


def test_scores_are_whole_numbers_of_hosts() -> None:
    assert json.loads(formats.priorities(["a", "b"], [10, 0])) == [
        {"Host": "a", "Score": 10},
        {"Host": "b", "Score": 0},
    ]


def test_bindings() -> None:
    sent = body(PodName="web-1", PodNamespace="shop", PodUID="u", Node="a")
    assert formats.binding(sent) == Binding("shop", "web-1", "u", "a")
    assert formats.binding(sent.lower().replace(b"web-1", b"web-1")) == formats.binding(sent)
    assert json.loads(formats.binding_result("no")) == {"Error": "no"}
    for wrong in (b"{}", b"[]", b"1", sent.replace(b"shop", b""), sent.replace(b'"u"', b"7")):
        with pytest.raises(BadRequest):
            formats.binding(wrong)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
KEYS = st.sampled_from(["Pod", "pod", "NodeNames", "nodenames", "Nodes", "nodes", "Items", "x"])


@given(st.binary() | st.dictionaries(KEYS, JSON).map(msgspec.json.encode))
def test_whatever_comes_is_read_or_refused(sent: bytes) -> None:
    for read in (formats.Reader().question, formats.binding):
        with contextlib.suppress(BadRequest):
            read(sent)
