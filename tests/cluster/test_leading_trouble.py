"""The election when the API server is in trouble or says no, through a fault proxy."""

import asyncio
import time

import pytest
import structlog

from rescheduler import kube
from rescheduler.kube import errors
from rescheduler.leading import ElectionError, Fenced, Leadership
from rescheduler.wire import PODS
from testbed.api import path_of
from testbed.faultproxy import (
    Fault,
    Match,
    arrive_late,
    conflict,
    drop_reply,
    drop_request,
    fail,
    half_open,
    internal_error,
    throttled,
    unavailable,
)
from testbed.world import World
from tests.cluster.electing import (
    BOARD,
    LEASE,
    acquired,
    candidate_of,
    is_said,
    is_written_by,
    lease_of,
    lost,
    put_up_board,
    renewed_again,
)
from tests.cluster.leading_candidate import WRITER

RENEWALS = Match(verb="update", resource="leases")

PASSING: dict[str, tuple[Fault, int]] = {
    "500": (internal_error(), 3),
    "503": (unavailable(), 3),
    "409": (conflict(), 4),
    "429": (throttled(), 3),
    "403": (fail(403), 3),
    "request-lost": (drop_request(), 3),
    "reply-lost": (drop_reply(), 3),
    "late": (arrive_late(0.5), 2),
    "silence": (half_open(), 1),
    "silence-but-done": (half_open(forwarded=True), 1),
}


@pytest.mark.parametrize("name", PASSING)
async def test_a_passing_fault_of_renewals_does_not_end_the_term(world: World, name: str) -> None:
    fault, times = PASSING[name]
    async with world.faults() as proxy, candidate_of(world, url=proxy.url) as candidate:
        leads = await acquired(candidate)
        rule = proxy.on(RENEWALS, fault, times=times)
        await rule.wait_fired(within=60, times=times)
        found = await renewed_again(world, candidate.identity, times=3)
        assert leads.may_write()
        assert found["spec"]["leaseTransitions"] == 0


LASTING = {name: fault for name, (fault, _) in PASSING.items() if name != "late"}


@pytest.mark.parametrize("name", LASTING)
async def test_a_lasting_fault_of_renewals_ends_the_term_before_another_begins(
    world: World, name: str
) -> None:
    await put_up_board(world)
    async with world.faults() as proxy, candidate_of(world, url=proxy.url) as first:
        leads = await acquired(first)
        async with candidate_of(world) as second:
            waiting = asyncio.create_task(acquired(second))
            proxy.on(Match(resource="leases"), LASTING[name])
            reason = await lost(leads)
            assert "could not be renewed for 3 s" in reason
            assert not leads.may_write()
            await _is_fenced(world, leads)
            # Before its lease has expired, and not by being told.
            began = time.monotonic()
            follows = await waiting
            print(f"\n{name}: followed {time.monotonic() - began:.2f} s after it gave up; {reason}")  # noqa: T201
            assert follows.term.number == 1
            assert not leads.may_write()


async def _is_fenced(world: World, leadership: Leadership) -> None:
    async with kube.connect(str(world.kubeconfig())) as api:
        board = await Fenced(api, leadership).get(PODS, world.name, BOARD)
        with pytest.raises(errors.NotLeading):
            await Fenced(api, leadership).patch(
                PODS,
                world.name,
                BOARD,
                uid=board["metadata"]["uid"],
                change={"metadata": {"annotations": {WRITER: "nobody"}}},
            )
    assert not await is_written_by(world, "nobody")


async def test_a_claim_whose_reply_was_lost_is_seen_to_be_ours(world: World) -> None:
    async with world.faults() as proxy:
        made = proxy.on(Match(verb="create", resource="leases"), drop_reply(), times=1)
        async with candidate_of(world, url=proxy.url) as candidate:
            leads = await acquired(candidate)
            assert made.fired == 1
            assert leads.term.number == 0
            assert (await lease_of(world))["spec"]["holderIdentity"] == candidate.identity


async def test_who_leaves_while_its_claim_is_unanswered_releases_the_lease(world: World) -> None:
    async with world.faults() as proxy:
        hangs = half_open(forwarded=True)
        claim = proxy.on(Match(verb="create", resource="leases"), hangs, times=1)
        async with candidate_of(world, url=proxy.url):
            await claim.wait_fired(within=60)
        assert not (await lease_of(world))["spec"].get("holderIdentity")


async def test_an_api_server_that_comes_late_is_waited_for(world: World) -> None:
    async with world.faults() as proxy:
        away = proxy.on(Match(), unavailable())
        with structlog.testing.capture_logs() as said:
            async with candidate_of(world, url=proxy.url) as candidate:
                waiting = asyncio.create_task(acquired(candidate))
                await away.wait_fired(within=60, times=8)
                proxy.clear()
                assert (await waiting).may_write()
    # Not a line for each of them, and it says what is wrong.
    problems = [each["problem"] for each in said if "problem" in each]
    assert len(problems) == len(set(problems))
    assert "unable to handle the request" in problems[-1]


async def test_a_leader_that_cannot_release_leaves_all_the_same(world: World) -> None:
    async with world.faults() as proxy:
        with structlog.testing.capture_logs() as said:
            async with candidate_of(world, url=proxy.url) as candidate:
                await acquired(candidate)
                proxy.on(Match(), half_open())
        assert await is_said(said, "lease could not be released: it expires by itself")
    assert (await lease_of(world))["spec"]["holderIdentity"] == candidate.identity


# ------------------------------------------------------------------ refused


async def test_a_missing_right_is_named_with_the_way_out(world: World) -> None:
    async with candidate_of(world, resource_name="another") as candidate:
        with pytest.raises(ElectionError) as problem:
            await acquired(candidate)
    for words in ("no right to get", f"{world.name}/another", "rbac.yaml", "leaderElect "):
        assert words in str(problem.value)


@pytest.mark.parametrize("verb", ["create", "update"])
async def test_each_verb_that_is_refused_is_named(world: World, verb: str) -> None:
    if verb == "update":
        free = {"kind": "Lease", "metadata": {"name": LEASE, "namespace": world.name}}
        await world.api.create(free)
    async with world.faults() as proxy:
        proxy.on(Match(verb=verb, resource="leases"), fail(403))
        async with candidate_of(world, url=proxy.url) as candidate:
            with pytest.raises(ElectionError, match=f"no right to {verb}"):
                await acquired(candidate)


async def test_a_right_that_is_granted_a_moment_later_is_waited_for(world: World) -> None:
    async with world.faults() as proxy:
        refused = proxy.on(Match(resource="leases"), fail(403), times=3)
        async with candidate_of(world, url=proxy.url) as candidate:
            assert (await acquired(candidate)).may_write()
        assert refused.fired == 3


async def test_a_namespace_that_is_not_there_is_named(world: World) -> None:
    admin = world.instance.tokens["admin"]
    nowhere = f"{world.name}-nowhere"
    async with candidate_of(world, token=admin, resource_namespace=nowhere) as candidate:
        with pytest.raises(ElectionError, match="resourceNamespace"):
            await acquired(candidate)
    path = path_of("Lease", nowhere)
    assert (await world.api.request("GET", path))["items"] == []
