"""Whatever a scheduler sends: an answer that it can read, no crash, no wrong empty list."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.clock import SystemClock
from rescheduler.schedule import MOST, NodeTable, Offer
from rescheduler.serve import Board
from rescheduler.serve.extender import endpoints
from tests.unit.schedule.tables import RULES, table

KNOWN = ("a", "b", "c", "d")
STRANGE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
)
AMOUNTS = st.sampled_from(["100m", "2", "64Gi", "1e3", "", "x", "-1", 7, None])
REQUESTS = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), AMOUNTS)
CONTAINERS: st.SearchStrategy[Any] = st.lists(
    st.fixed_dictionaries({"resources": st.builds(dict, requests=REQUESTS)})
)
OWNERS = st.lists(
    st.fixed_dictionaries(
        {
            "uid": st.sampled_from(["owner", "other"]),
            "kind": st.sampled_from(["DaemonSet", "StatefulSet", 3]),
            "controller": st.booleans(),
        }
    ),
    max_size=2,
)
PODS: st.SearchStrategy[Any] = (
    st.fixed_dictionaries(
        {
            "metadata": st.builds(dict, name=st.text(max_size=3), ownerReferences=OWNERS | STRANGE),
            "spec": st.builds(dict, containers=CONTAINERS | STRANGE),
        }
    )
    | STRANGE
)
NAMES = st.lists(st.sampled_from([*KNOWN, "new", "ü", 'q"', ""]), unique=True, max_size=7)
KEYS = st.sampled_from([("Pod", "NodeNames"), ("pod", "nodenames"), ("POD", "NODENAMES")])
USAGE = st.fixed_dictionaries(
    {each: st.tuples(st.integers(0, 2000), st.integers(0, 2000)) for each in KNOWN}
)
IN_MAINTENANCE = st.lists(st.sampled_from(KNOWN), unique=True).map(tuple)
BOARD = Board(["pods"])
ANSWERS = endpoints(BOARD, ("filter", "score"))


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One for all examples."""
    with asyncio.Runner() as made:
        yield made


def ask(runner: asyncio.Runner, path: str, body: bytes) -> tuple[int, bytes]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(body), 7):
            yield body[at : at + 7]

    sent = SimpleNamespace(content=SimpleNamespace(iter_any=pieces))

    async def answered() -> web.StreamResponse:
        return await ANSWERS[path](cast("web.BaseRequest", sent))

    answer = runner.run(answered())
    assert isinstance(answer, web.Response)
    assert isinstance(answer.body, bytes)
    return answer.status, answer.body


def tables() -> st.SearchStrategy[NodeTable]:
    return st.builds(
        lambda usage, closed: table(
            usage, taken_at=SystemClock().monotonic(), in_maintenance=closed
        ),
        USAGE,
        IN_MAINTENANCE,
    )


@given(pod=PODS, names=NAMES, keys=KEYS, known=st.none() | tables())
def test_every_node_is_answered_about_once(
    runner: asyncio.Runner,
    pod: Any,  # noqa: ANN401 - anything
    names: list[str],
    keys: tuple[str, str],
    known: NodeTable | None,
) -> None:
    if known is not None:
        BOARD.publish_offer(Offer(known, RULES))
    body = msgspec.json.encode(dict(zip(keys, (pod, names), strict=True)))
    status, answer = ask(runner, "/filter", body)
    if status == 400:
        assert not isinstance(pod, dict)
        return
    found = json.loads(answer)
    refused, closed = found["FailedNodes"], found["FailedAndUnresolvableNodes"]
    assert sorted([*found["NodeNames"], *refused, *closed]) == sorted(names)
    # Not strict: whoever is not in maintenance may be chosen, however loaded all are.
    assert found["NodeNames"] or {*closed} == {*names}
    status, answer = ask(runner, "/prioritize", body)
    assert status == 200
    scores = json.loads(answer)
    assert [each["Host"] for each in scores] == names
    assert all(type(each["Score"]) is int and 0 <= each["Score"] <= MOST for each in scores)


WHOLE = st.sampled_from(
    [("Pod", "Nodes", "items"), ("pod", "nodes", "Items"), ("pOd", "NODEs", "iteMs")]
)
NO_NAMES = st.sampled_from([{}, {"NodeNames": None}, {"NodeNames": []}, {"nodenames": []}])


@given(pod=PODS, names=NAMES, keys=WHOLE, known=tables(), more=STRANGE, no_names=NO_NAMES)
def test_every_whole_node_is_answered_about_once(  # noqa: PLR0913
    runner: asyncio.Runner,
    *,
    pod: Any,  # noqa: ANN401 - anything
    names: list[str],
    keys: tuple[str, str, str],
    known: NodeTable,
    more: Any,  # noqa: ANN401 - anything
    no_names: dict[str, Any],
) -> None:
    """As they came, where a scheduler sends them whole; names beside them may be left out."""
    BOARD.publish_offer(Offer(known, RULES))
    nodes = [{"spec": more, "metadata": {"name": name, "labels": more}} for name in names]
    body = {keys[0]: pod, keys[1]: {keys[2]: nodes, "metadata": {}}, **no_names}
    status, answer = ask(runner, "/filter", msgspec.json.encode(body))
    if status == 400:
        assert not isinstance(pod, dict)
        return
    found = msgspec.json.decode(answer)
    assert found["NodeNames"] is None
    passed = found["Nodes"]["items"]
    refused, closed = found["FailedNodes"], found["FailedAndUnresolvableNodes"]
    answered = [*(each["metadata"]["name"] for each in passed), *refused, *closed]
    assert sorted(answered) == sorted(names)
    assert passed or {*closed} == {*names}
    sent = msgspec.json.decode(msgspec.json.encode(nodes))
    assert all(each in sent for each in passed)
    status, answer = ask(runner, "/prioritize", msgspec.json.encode(body))
    assert status == 200
    assert [each["Host"] for each in json.loads(answer)] == names


@given(sent=st.binary(max_size=300), path=st.sampled_from(["/filter", "/prioritize"]))
def test_rubbish_is_refused_in_words(runner: asyncio.Runner, sent: bytes, path: str) -> None:
    status, answer = ask(runner, path, sent)
    assert status == 400
    assert answer.decode().strip()


@given(cut=st.integers(0, 10_000), names=NAMES)
def test_what_breaks_off_is_refused(runner: asyncio.Runner, cut: int, names: list[str]) -> None:
    whole = msgspec.json.encode({"Pod": {"metadata": {}, "spec": {}}, "NodeNames": names})
    status, _ = ask(runner, "/filter", whole[: cut % len(whole)])
    assert status == 400
