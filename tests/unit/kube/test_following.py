"""The events of a watch, as batches."""

import json
from typing import Any

import pytest

from rescheduler.kube.following import in_order
from rescheduler.observe.state import ClusterState
from rescheduler.wire import PODS
from rescheduler.wire.formats import Format, JsonFormat, ProtobufFormat
from tests.unit.observe.state.server import pod
from tests.unit.wire.generated import encoded, frame

GOOD = pod("web", "a")
OTHER = pod("other", "a")


def in_json(*events: tuple[str, Any]) -> tuple[Format, bytes]:
    lines = [json.dumps({"type": type_, "object": each}) + "\n" for type_, each in events]
    return JsonFormat(PODS), "".join(lines).encode()


def in_protobuf(*events: tuple[str, Any]) -> tuple[Format, bytes]:
    frames = []
    for type_, each in events:
        is_bad = each["spec"] == "none"
        whole = encoded("Pod", (GOOD | {"spec": {"nodeName": "none"}}) if is_bad else each)
        frames.append(frame(type_, whole.replace(b"none", b"non\xff")))
    return ProtobufFormat(PODS), b"".join(frames)


BAD = GOOD | {"spec": "none"}
both = pytest.mark.parametrize("written", [in_json, in_protobuf])


def state_after(format_: Format, chunk: bytes) -> tuple[set[str], list[str]]:
    """Of one chunk: which pods are known, and which cannot be read."""
    state = ClusterState()
    for batch in in_order(format_, format_.events(chunk)):
        state.take(PODS, batch)
    snapshot = state.snapshot()
    names = {snapshot.pods.names[row] for row in snapshot.rows}
    return names, [each.split(":")[0] for each in snapshot.unreadable]


@both
def test_malformed_and_then_mended_is_mended(written: Any) -> None:  # noqa: ANN401
    chunk = written(("ADDED", OTHER), ("MODIFIED", BAD), ("MODIFIED", GOOD))
    assert state_after(*chunk) == ({"shop/web", "shop/other"}, [])


@both
def test_good_and_then_malformed_is_malformed(written: Any) -> None:  # noqa: ANN401
    chunk = written(("ADDED", OTHER), ("ADDED", GOOD), ("MODIFIED", BAD))
    assert state_after(*chunk) == ({"shop/other"}, ["pods shop/web"])


def test_a_run_in_which_all_is_well_is_one_batch() -> None:
    format_, chunk = in_json(("ADDED", OTHER), ("MODIFIED", GOOD))
    [batch] = in_order(format_, format_.events(chunk))
    assert [view.metadata.name for view in batch.present] == ["other", "web"]
