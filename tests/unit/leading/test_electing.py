"""What an election does where there is no server to ask."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from rescheduler.clock import SystemClock
from rescheduler.config import LeaderElection
from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube import KubeApi
from rescheduler.leading import ElectionError, leading
from rescheduler.leading.electing import Connect, own_identity


def failing(problem: Exception) -> Connect:
    @asynccontextmanager
    async def connect() -> AsyncIterator[KubeApi]:
        raise problem
        yield  # makes it a generator

    return connect


async def test_who_needs_no_election_leads_at_once_and_for_ever_without_a_connection() -> None:
    settings = LeaderElection(leader_elect=False)
    connect = failing(AssertionError("connected"))
    async with leading(settings, connect, SystemClock(), identity="us") as candidate:
        leadership = await candidate.acquired()
        assert leadership.may_write()
        assert (leadership.term.holder, leadership.term.number) == ("us", 0)
        losing = asyncio.create_task(leadership.lost())
        await asyncio.wait([losing], timeout=0.01)
        assert not losing.done()
        losing.cancel()


async def test_no_cluster_to_connect_to_is_told_to_whoever_waits_to_lead() -> None:
    connect = failing(ConnectionSettingsError("there is no kubeconfig"))
    async with leading(LeaderElection(), connect, SystemClock()) as candidate:
        with pytest.raises(ConnectionSettingsError, match="no kubeconfig"):
            await candidate.acquired()


async def test_a_bug_in_the_thread_leaves_nobody_waiting() -> None:
    connect = failing(ZeroDivisionError("a bug"))
    async with leading(LeaderElection(), connect, SystemClock()) as candidate:
        with pytest.raises(ElectionError, match="a bug"):
            await candidate.acquired()


async def test_no_thread_outlives_its_block() -> None:
    before = threading.active_count()
    waiting = threading.Event()

    @asynccontextmanager
    async def connect() -> AsyncIterator[KubeApi]:
        waiting.set()
        await asyncio.Event().wait()
        raise AssertionError
        yield

    async with leading(LeaderElection(), connect, SystemClock()):
        assert await asyncio.to_thread(waiting.wait, 30)
        # One for the election, and the one that waited just now.
        assert threading.active_count() == before + 2
    assert [thread for thread in threading.enumerate() if thread.name == "election"] == []


def test_each_process_is_a_candidate_of_its_own() -> None:
    assert own_identity() != own_identity()
    assert own_identity().split("_")[0]
