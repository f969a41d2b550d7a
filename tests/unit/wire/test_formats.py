"""Streams and pages, cut and broken in every place."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.wire import ENDPOINT_SLICES, PODS, Resource
from rescheduler.wire.envelopes import Frame
from rescheduler.wire.formats import Format, JsonFormat, ListHead, ProtobufFormat
from tests.unit.wire.generated import HEAD as HEAD_OF_POD
from tests.unit.wire.generated import TAIL, encoded, frame, part, wrapped

NAMES = ["one", "two", "three"]
HEAD = ListHead("token", "7")


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop", "resourceVersion": "5"}}


def protobuf_page(*objects: bytes) -> bytes:
    head = part(2, HEAD.version.encode()) + part(3, HEAD.following.encode())
    return wrapped(part(1, head) + b"".join(part(2, each) for each in objects))


def json_page(*objects: Any) -> bytes:  # noqa: ANN401
    head = {"resourceVersion": HEAD.version, "continue": HEAD.following}
    page = {"kind": "PodList", "apiVersion": "v1", "metadata": head, "items": objects}
    return json.dumps(page, separators=(",", ":")).encode()


PAGES: dict[str, tuple[Callable[[Resource], Format], bytes]] = {
    "protobuf": (ProtobufFormat, protobuf_page(*(encoded("Pod", pod(name)) for name in NAMES))),
    "json": (JsonFormat, json_page(*map(pod, NAMES))),
}
STREAMS: dict[str, tuple[Callable[[Resource], Format], bytes]] = {
    "protobuf": (
        ProtobufFormat,
        b"".join(frame("ADDED", encoded("Pod", pod(name))) for name in NAMES),
    ),
    "json": (
        JsonFormat,
        b"".join(
            json.dumps({"type": "ADDED", "object": pod(name)}).encode() + b"\n" for name in NAMES
        ),
    ),
}
both = pytest.mark.parametrize("way", ["protobuf", "json"])


def names(format_: Format, frames: list[Frame]) -> list[str]:
    return [view.metadata.name for view in format_.group([each.object for each in frames]).views]


# ------------------------------------------------------------------ watches


@both
@given(data=st.data())
def test_events_are_found_however_the_stream_is_cut(way: str, data: st.DataObject) -> None:
    make, stream = STREAMS[way]
    format_ = make(PODS)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    frames: list[Frame] = []
    for begin, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
        frames += format_.events(stream[begin:end])
        assert format_.is_between_events == (end in ends(way))
    assert [each.type for each in frames] == ["ADDED"] * len(NAMES)
    assert names(format_, frames) == NAMES


def ends(way: str) -> set[int]:
    make, stream = STREAMS[way]
    format_, found = make(PODS), {0}
    for position in range(len(stream)):
        if format_.events(stream[position : position + 1]):
            found.add(position + 1)
    return found


@pytest.mark.parametrize("size", [0, 1, 127, 128, 300, 20_000])
@pytest.mark.parametrize("kind", ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"])
@pytest.mark.parametrize("head", [HEAD_OF_POD, b"", part(1, part(1, b"v1"))])
@pytest.mark.parametrize("tail", [TAIL, b"", part(4, b"application/json"), part(2, b"later")])
def test_an_event_is_read_whatever_stands_around_its_object(
    size: int, kind: str, head: bytes, tail: bytes
) -> None:
    content = bytes(number % 256 for number in range(size))
    said = frame(kind, content, head, tail)
    # Of a field that comes twice, the last counts.
    expected = b"later" if b"later" in tail else content
    assert ProtobufFormat(PODS).events(said * 2) == [Frame(kind, expected)] * 2


@pytest.mark.parametrize(
    "stream",
    [b"\xff\xff\xff\xff", b"\x00\x00\x00\x02\x0a\x09", frame("ADDED", b"")[:4] + b"x" * 100],
    ids=["too-long", "no-event", "no-envelope"],
)
def test_a_stream_that_is_none_is_refused(stream: bytes) -> None:
    with pytest.raises(ValueError, match=r"frame|event|wrap"):
        ProtobufFormat(PODS).events(stream)


def test_a_line_that_is_no_event_is_refused() -> None:
    with pytest.raises(ValueError, match="not a watch event"):
        JsonFormat(PODS).events(b"<html>\n")


# ------------------------------------------------------------------ pages


@both
def test_where_the_next_page_is_is_known_before_the_end(way: str) -> None:
    make, page = PAGES[way]
    heads = [make(PODS).head(page[:length]) for length in range(len(page) + 1)]
    known = heads.index(HEAD)
    assert known < len(page) / 2
    assert heads == [None] * known + [HEAD] * (len(page) + 1 - known)
    assert make(PODS).whole_head(page) == HEAD


@both
def test_a_page_is_read(way: str) -> None:
    make, page = PAGES[way]
    [group] = make(PODS).page(page)
    assert [view.metadata.name for view in group.views] == NAMES
    assert not group.malformed


@both
def test_a_page_that_was_cut_is_refused(way: str) -> None:
    make, page = PAGES[way]
    # Behind the list, protobuf has four bytes that say nothing.
    for length in range(len(page) - 4):
        with pytest.raises(ValueError, match=r"."):
            list(make(PODS).page(page[:length]))


@pytest.mark.parametrize(
    "page",
    [
        wrapped(b""),
        wrapped(part(1, b"\x12\x7f")),
        wrapped(part(1, b"\x12\x01\xff")),
        wrapped(part(2, b"")),
        wrapped(b"\x0a" + b"\xff" * 20),
        b"k8s\x00",
        b"k8s\x00" + b"\xff" * 1000,
        b"",
    ],
    ids=["empty", "cut", "no-text", "items-only", "endless", "bare", "nonsense", "nothing"],
)
def test_metadata_that_cannot_be_read_is_refused_in_protobuf(page: bytes) -> None:
    assert ProtobufFormat(PODS).head(page) is None
    with pytest.raises(ValueError, match=r"list|wrapped"):
        ProtobufFormat(PODS).whole_head(page)


@pytest.mark.parametrize(
    "metadata",
    [b"{}", b"{odd}", b'{"continue":"\xff"}', b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}", b"[]"],
    ids=["empty", "no-json", "no-text", "deep", "list"],
)
def test_metadata_that_cannot_be_read_is_refused_in_json(metadata: bytes) -> None:
    page = b'{"metadata":%b,"items":[]}' % metadata
    assert JsonFormat(PODS).head(page) is None
    with pytest.raises(ValueError, match="list"):
        JsonFormat(PODS).whole_head(page)


@given(data=st.data())
@both
def test_no_damage_to_a_page_does_more_than_raise_a_value_error(
    way: str, data: st.DataObject
) -> None:
    make, page = PAGES[way]
    damaged = bytearray(page)
    for position in data.draw(st.lists(st.integers(0, len(page) - 1), min_size=1, max_size=3)):
        damaged[position] = data.draw(st.integers(0, 255))
    make(PODS).head(damaged)
    for read in (make(PODS).whole_head, lambda body: list(make(PODS).page(body))):
        with suppress(ValueError):
            read(damaged)


def test_the_empty_list_of_the_server_may_be_null() -> None:
    page = json_page().replace(b"[]", b"null")
    assert [list(group.views) for group in JsonFormat(PODS).page(page)] == [[]]


# ------------------------------------------------------------------ malformed objects


@pytest.mark.parametrize("broken", ["metadata", "spec"])
def test_one_malformed_object_costs_no_other_in_json(broken: str) -> None:
    strange = pod("strange") | {broken: 7}
    [group] = JsonFormat(PODS).page(json_page(pod("one"), strange, pod("two")))
    assert [view.metadata.name for view in group.views] == ["one", "two"]
    [malformed] = group.malformed
    assert malformed.name == ("?" if broken == "metadata" else "shop/strange")
    assert broken in malformed.problem


@pytest.mark.parametrize(
    "odd",
    [b'"\xff"', b"1e999", b"[" * 900 + b"]" * 900, b"[" * 5000 + b"]" * 5000],
    ids=["no-text", "too-large", "deep", "deeper"],
)
def test_nor_does_one_with_a_value_that_nobody_can_read(odd: bytes) -> None:
    strange = pod("strange") | {"spec": 7, "odd": 8}
    objects = [json.dumps(each).encode().replace(b"8", odd) for each in (strange, pod("one"))]
    groups = [JsonFormat(PODS).group(objects)]
    # In a page, what is deeper than anybody counts costs all of it.
    if len(odd) < 5000:
        groups += JsonFormat(PODS).page(json_page(strange, pod("one")).replace(b"8", odd))
    for group in groups:
        assert [view.metadata.name for view in group.views] == ["one"]
        [malformed] = group.malformed
        assert malformed.name in ("shop/strange", "?")
        assert malformed.problem


@pytest.mark.parametrize(
    "content", [b'{"message":"\xff"}', b"[" * 5000 + b"]" * 5000], ids=["no-text", "deep"]
)
def test_a_status_that_cannot_be_read_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        JsonFormat(PODS).status(content)


def test_one_malformed_object_costs_no_other_in_protobuf() -> None:
    strange = encoded("Pod", pod("strange") | {"spec": {"nodeName": "node"}})
    objects = [
        encoded("Pod", pod("one")),
        strange.replace(b"node", b"nod\xff"),
        b"\xff",
        encoded("Pod", pod("two")),
    ]
    format_ = ProtobufFormat(PODS)
    [page] = format_.page(protobuf_page(*objects))
    for group in (page, format_.group(objects)):
        assert [view.metadata.name for view in group.views] == ["one", "two"]
        assert [each.name for each in group.malformed] == ["shop/strange", "?"]


def test_an_annotation_that_is_no_text_costs_nothing_in_protobuf() -> None:
    strange = pod("strange") | {"spec": {"nodeName": "a"}}
    strange["metadata"] = strange["metadata"] | {"annotations": {"note": "caf!", "other": "x"}}
    objects = [encoded("Pod", strange).replace(b"caf!", b"caf\xe9"), encoded("Pod", pod("one"))]
    format_ = ProtobufFormat(PODS)
    [page] = format_.page(protobuf_page(*objects))
    for group in (page, format_.group(objects)):
        assert not group.malformed
        assert [view.metadata.name for view in group.views] == ["strange", "one"]
        view = group.views[0]
        assert dict(view.metadata.annotations) == {
            "note": "caf\N{REPLACEMENT CHARACTER}",
            "other": "x",
        }
        assert (view.metadata.resourceVersion, view.spec.nodeName) == ("5", "a")


def test_null_for_an_empty_list_is_not_malformed() -> None:
    slices = [{"metadata": {"name": name}, "endpoints": None} for name in NAMES]
    [group] = JsonFormat(ENDPOINT_SLICES).page(json_page(*slices))
    assert [view.metadata.name for view in group.views] == NAMES
    assert not group.malformed


def test_fields_that_are_not_in_the_table_are_not_kept() -> None:
    with_more = encoded("Pod", pod("one")) + part(2, part(30, b"unknown"))
    views = ProtobufFormat(PODS).group([with_more, encoded("Pod", pod("one"))]).views
    assert views[0].spec.SerializeToString() == views[1].spec.SerializeToString()
