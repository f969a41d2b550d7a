"""A fenced KubeApi: reads always, writes only while we lead."""

import asyncio
import inspect
import math
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from rescheduler.kube import KubeApi, errors
from rescheduler.leading import Fenced, Leadership, Term
from rescheduler.leading.leadership import Deadline
from rescheduler.wire import NODES, PODS


class Notebook:
    """Notes what is handed on to it, and answers with the note."""

    def __init__(self) -> None:
        self.noted: list[str] = []
        self.begun = asyncio.Event()
        self.answer: asyncio.Event | None = None
        self.problem: Exception | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def note(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401
            self.noted.append(name)
            given = (name, arguments, named)
            return given if name in ("pieces", "watch", "follow") else self._later(given)

        return note

    async def _later(self, given: Any) -> Any:  # noqa: ANN401
        self.begun.set()
        if self.answer is not None:
            await self.answer.wait()
        if self.problem is not None:
            raise self.problem
        return given


def fenced(notebook: Any, deadline: Deadline) -> Fenced:  # noqa: ANN401
    lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    return Fenced(notebook, Leadership(Term("us", 4), deadline, lost))


def always() -> Deadline:
    return Deadline(math.inf, lambda: 100.0)


def never() -> Deadline:
    return Deadline(-math.inf, lambda: 100.0)


Ask = Callable[[KubeApi], Awaitable[Any]]

WRITES: dict[str, Ask] = {
    "create": lambda kube: kube.create(PODS, "ns", {"a": 1}),
    "patch": lambda kube: kube.patch(PODS, "ns", "p", uid="u", change={"b": 2}, subresource="s"),
    "replace": lambda kube: kube.replace(PODS, "ns", "p", {"c": 3}),
    "delete": lambda kube: kube.delete(PODS, "ns", "p", uid="u", resource_version="7"),
    "evict": lambda kube: kube.evict("ns", "p", uid="u", grace_seconds=30),
}


async def _streams(kube: KubeApi, name: str) -> Any:  # noqa: ANN401
    arguments: dict[str, dict[str, Any]] = {
        "pieces": {},
        "watch": {"namespace": "ns", "since": "9", "whole": bool},
        "follow": {"fields": "f", "since": "9"},
    }
    return getattr(kube, name)(PODS, **arguments[name])


def known_to_nobody(_name: str, _version: str) -> None:
    """Nothing that is listed is there already."""


READS: dict[str, Ask] = {
    "get": lambda kube: kube.get(NODES, None, "n"),
    "list": lambda kube: kube.list(PODS, namespace="ns", labels="a=b"),
    "listing": lambda kube: kube.listing(PODS, namespace="ns", whole=bool, known=known_to_nobody),
    "served": lambda kube: kube.served("group/v1"),
    "pieces": lambda kube: _streams(kube, "pieces"),
    "watch": lambda kube: _streams(kube, "watch"),
    "follow": lambda kube: _streams(kube, "follow"),
}
DRY_RUNS: dict[str, Ask] = {
    "create": lambda kube: kube.create(PODS, "ns", {"a": 1}, dry_run=True),
    "evict": lambda kube: kube.evict("ns", "p", uid="u", grace_seconds=30, dry_run=True),
}


def test_every_request_that_there_is_is_known_here_as_a_read_or_a_write() -> None:
    public = {name for name, _ in inspect.getmembers(KubeApi, inspect.isfunction)}
    assert {name for name in public if not name.startswith("_")} == {*READS, *WRITES}


@pytest.mark.parametrize("name", WRITES)
async def test_a_write_is_refused_and_not_sent_when_we_do_not_lead(name: str) -> None:
    notebook = Notebook()
    with pytest.raises(errors.NotLeading):
        await WRITES[name](fenced(notebook, never()))
    assert notebook.noted == []


@pytest.mark.parametrize("name", READS)
async def test_a_read_passes_with_all_it_says_though_we_do_not_lead(name: str) -> None:
    notebook = Notebook()
    straight = await READS[name](Notebook())
    assert await READS[name](fenced(notebook, never())) == straight
    assert notebook.noted == [name]


@pytest.mark.parametrize("name", DRY_RUNS)
async def test_a_dry_run_passes_as_one_though_we_do_not_lead(name: str) -> None:
    given: list[dict[str, Any]] = []

    class Listening(Notebook):
        async def _later(self, given_now: Any) -> Any:  # noqa: ANN401
            given.append(given_now[2])

    await DRY_RUNS[name](fenced(Listening(), never()))
    assert [each["dry_run"] for each in given] == [True]


@pytest.mark.parametrize("name", ["create", "patch", "replace"])
async def test_a_write_passes_with_all_it_says_while_we_lead(name: str) -> None:
    straight = await WRITES[name](Notebook())
    assert await WRITES[name](fenced(Notebook(), always())) == straight


@pytest.mark.parametrize("name", ["delete", "evict"])
async def test_so_does_one_that_is_not_answered_with_an_object(name: str) -> None:
    given: list[Any] = []

    class Listening(Notebook):
        async def _later(self, given_now: Any) -> Any:  # noqa: ANN401
            given.append(given_now)

    await WRITES[name](Listening())
    await WRITES[name](fenced(Listening(), always()))
    assert given[0] == given[1]


async def test_what_the_server_refuses_is_raised_as_it_is() -> None:
    notebook = Notebook()
    notebook.problem = errors.Conflict("changed")
    with pytest.raises(errors.Conflict, match="changed"):
        await WRITES["patch"](fenced(notebook, always()))


async def test_a_write_that_is_unanswered_when_the_lease_lapses_is_given_up() -> None:
    """It may still wait for its connection, and would arrive under another leader."""
    notebook = Notebook()
    notebook.answer = asyncio.Event()
    deadline = always()
    writing = asyncio.ensure_future(WRITES["patch"](fenced(notebook, _ticking(deadline))))
    await notebook.begun.wait()
    deadline.pass_now()
    with pytest.raises(errors.Unavailable, match="lost before"):
        await writing


async def test_a_write_outlasts_the_time_that_was_left_when_the_lease_is_renewed() -> None:
    notebook = Notebook()
    notebook.answer = asyncio.Event()
    waits = 0

    class Renewed(Deadline):
        def seconds_left(self) -> float:
            nonlocal waits
            waits += 1
            if waits == 3:
                assert notebook.answer is not None
                notebook.answer.set()
            return 0.001

    given = await WRITES["patch"](fenced(notebook, Renewed(math.inf, lambda: 100.0)))
    assert given[0] == "patch"
    assert waits >= 3


async def test_who_stops_waiting_for_a_write_ends_it() -> None:
    notebook = Notebook()
    notebook.answer = asyncio.Event()
    writing = asyncio.ensure_future(WRITES["patch"](fenced(notebook, always())))
    await notebook.begun.wait()
    before = asyncio.all_tasks()
    assert len(before) == 3  # this test, the one that waits, and the sending
    writing.cancel()
    await asyncio.wait([writing])
    assert writing.cancelled()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def _ticking(deadline: Deadline) -> Deadline:
    """Says that there is little time, so that it is looked at often."""
    deadline.seconds_left = lambda: 0.001  # type: ignore[method-assign]
    return deadline
