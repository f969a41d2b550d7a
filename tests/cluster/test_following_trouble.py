"""Following a kind on a real API server: every way it can go wrong."""

import asyncio
import gc
import random
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest
import yaml

from rescheduler.clock import SystemClock
from rescheduler.kube import connect, errors
from rescheduler.kube.following import Manner
from rescheduler.observe.following import Follower
from rescheduler.observe.state import ClusterState
from rescheduler.wire import PODS, Resource
from testbed.builders import pod
from testbed.faultproxy import (
    Fault,
    Match,
    Request,
    cut_after,
    cut_after_bytes,
    error_frame,
    expired_event,
    expired_frame,
    fail,
    gone,
    half_open,
    inject_event,
    rewrite_events,
    stall_after,
    throttled,
    unavailable,
)
from testbed.world import World
from tests.cluster.following import (
    AS_WATCH,
    IN_JSON,
    IN_PAGES,
    add_pods,
    both_formats,
    both_in_pages,
    door,
    every_manner,
    everything,
    heard_after,
    meanwhile,
    next_news,
    of,
    only_when_asked_for_more,
    present,
    problem_of,
)

TOO_LARGE = "ResourceVersionTooLarge"
FIRST_PAGE = Match(resource="pods", predicate=lambda each: is_page(each, first=True))
LATER_PAGES = Match(resource="pods", predicate=lambda each: is_page(each, first=False))


def is_page(request: Request, *, first: bool) -> bool:
    return "limit=" in request.target and ("continue=" not in request.target) == first


# ------------------------------------------------------------------ pages


@both_in_pages
async def test_begins_anew_when_the_token_of_a_page_has_expired(
    world: World, manner: Manner
) -> None:
    await add_pods(world, *(f"pod-{number}" for number in range(4)))
    async with world.faults() as proxy, door(world, manner) as api:
        proxy.on(LATER_PAGES, gone(), times=1)
        with pytest.raises(errors.Expired):
            await everything(api, PODS, of(world))
        assert len(present(await everything(api, PODS, of(world)))) == 4


@both_in_pages
@pytest.mark.parametrize(
    "fault", [unavailable(), cut_after_bytes(100), throttled(1)], ids=lambda fault: fault.name
)
@pytest.mark.parametrize("page", [FIRST_PAGE, LATER_PAGES], ids=["first", "later"])
async def test_a_page_that_fails_in_passing_is_asked_for_again(
    world: World,
    manner: Manner,
    fault: Fault,
    page: Match,
) -> None:
    await add_pods(world, *(f"pod-{number}" for number in range(4)))
    async with world.faults() as proxy, door(world, manner) as api:
        rule = proxy.on(page, fault, times=1)
        assert len(present(await everything(api, PODS, of(world)))) == 4
        assert rule.fired == 1


@both_in_pages
async def test_nothing_is_lost_when_a_first_page_is_cut_after_it_told_of_the_next(
    world: World, manner: Manner
) -> None:
    await add_pods(world, *(f"pod-{number}" for number in range(4)))
    state = ClusterState()
    async with world.faults() as proxy, door(world, manner) as api:
        cut = proxy.on(FIRST_PAGE, cut_after_bytes(1000), times=1)
        # The first page then ends with another pod, and the next one begins with another, too.
        shifted = proxy.on(FIRST_PAGE, meanwhile(lambda: add_pods(world, "a")), after=1, times=1)
        proxy.on(FIRST_PAGE, only_when_asked_for_more(proxy), times=1)
        jitter = random.Random(1)  # noqa: S311 - spreads retries
        follower = Follower(api, SystemClock(), state, PODS, jitter=jitter, fields=of(world))
        task = asyncio.create_task(follower.run())
        try:
            async with asyncio.timeout(30):
                while not follower.is_complete:
                    follower.forget_changes()
                    await follower.changed()
        finally:
            task.cancel()
        assert (cut.fired, shifted.fired) == (1, 1)
    snapshot = state.snapshot()
    names = [each.name for each in snapshot.pods_of(snapshot.rows)]
    assert sorted(names) == ["a", "pod-0", "pod-1", "pod-2", "pod-3"]


async def test_a_page_that_nobody_wants_any_more_fails_unheard(world: World) -> None:
    await add_pods(world, *(f"pod-{number}" for number in range(4)))
    reports: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))

    async def is_over() -> bool:
        return not any(task.get_name() == "page pods" for task in asyncio.all_tasks())

    async with world.faults() as proxy, door(world, IN_PAGES) as api:
        proxy.on(LATER_PAGES, gone())
        async with aclosing(api.follow(PODS, fields=of(world))) as batches:
            await next_news(batches)
            await world.wait("the next page has failed", is_over)
    gc.collect()
    assert reports == []


async def test_an_answer_that_is_too_deep_to_be_read_is_none(world: World) -> None:
    deep = b"[" * 10**5 + b"]" * 10**5
    async with world.faults() as proxy, door(world) as api:
        proxy.on(Match(verb="create", resource="pods"), rewrite_events(lambda _: [deep]))
        with pytest.raises(errors.Unavailable, match="Recursion"):
            await api.create(PODS, world.name, pod("web"))


# ------------------------------------------------------------------ watches


@pytest.mark.parametrize(
    ("manner", "event"),
    [
        (AS_WATCH, expired_frame()),
        (AS_WATCH, error_frame(504, "Too large resource version: 9", cause=TOO_LARGE)),
        (IN_JSON, expired_event()),
    ],
    ids=["protobuf", "protobuf-too-large", "json"],
)
async def test_an_error_in_the_stream_is_raised_after_what_came_before(
    world: World, manner: Manner, event: bytes
) -> None:
    async with world.faults() as proxy, door(world, manner) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        await add_pods(world, "web")
        proxy.on(Match(verb="watch"), inject_event(event, after=1), times=1)
        async with aclosing(api.follow(PODS, fields=of(world), since=version)) as batches:
            batch = await next_news(batches)
            assert [view.metadata.name for view in batch.present] == ["web"]
            with pytest.raises(errors.Expired, match=r"too old|Too large"):
                await next_news(batches)


async def test_an_error_of_the_server_itself_in_the_stream_is_not_taken_for_expiry(
    world: World,
) -> None:
    async with world.faults() as proxy, door(world) as api:
        proxy.on(Match(verb="watch"), inject_event(error_frame(500, "etcdserver: no leader")))
        problem = await problem_of(api, since="1")
    assert isinstance(problem, errors.Unavailable)
    assert str(problem) == "etcdserver: no leader"


async def test_a_version_that_is_refused_outright_has_expired(world: World) -> None:
    async with world.faults() as proxy, door(world) as api:
        proxy.on(Match(verb="watch"), gone())
        assert isinstance(await problem_of(api, since="1"), errors.Expired)


@both_formats
async def test_a_version_that_the_server_has_not_come_to_has_expired(
    world: World, manner: Manner
) -> None:
    # As after its store was restored from a backup. The watch itself hears nothing of it.
    async with door(world, replace(manner, watch_seconds=1.0)) as api:
        problem = await problem_of(api, since=str(10**12))
    assert isinstance(problem, errors.Expired)
    assert "Too large resource version" in str(problem)


@both_formats
async def test_a_version_that_is_none_is_refused_in_words(world: World, manner: Manner) -> None:
    async with door(world, manner) as api:
        problem = await problem_of(api, since="yesterday")
    assert "yesterday" in str(problem)
    assert "k8s" not in str(problem)


@both_formats
async def test_a_kind_that_is_not_served_is_not_found(world: World, manner: Manner) -> None:
    world.token = world.instance.tokens["admin"]
    async with door(world, manner) as api:
        problem = await problem_of(api, Resource("nowhere.example.com/v1", "things"))
    assert isinstance(problem, errors.NotFound)


@every_manner
async def test_a_kind_that_we_may_not_see_is_forbidden(world: World, manner: Manner) -> None:
    async with door(world, manner) as api:
        problem = await problem_of(api, Resource("v1", "secrets"))
    assert isinstance(problem, errors.Forbidden)
    assert "cannot" in str(problem)


async def test_is_told_how_long_to_wait_by_a_busy_server(world: World) -> None:
    async with world.faults() as proxy, door(world) as api:
        proxy.on(Match(verb="watch"), throttled(retry_after=7))
        problem = await problem_of(api)
    assert isinstance(problem, errors.Throttled)
    assert problem.retry_after_seconds == 7


@both_formats
async def test_a_cut_stream_is_no_end_in_order(world: World, manner: Manner) -> None:
    async with world.faults() as proxy, door(world, manner) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        proxy.on(Match(verb="watch"), cut_after(1), times=1)
        await add_pods(world, "web")
        assert isinstance(await problem_of(api, since=version), errors.Unavailable)


@both_formats
@pytest.mark.parametrize("fault", [stall_after(1), half_open()], ids=["later", "at-once"])
async def test_a_connection_that_is_silent_for_too_long_is_dead(
    world: World,
    manner: Manner,
    fault: Fault,
) -> None:
    manner = replace(manner, watch_seconds=1.0, silence_seconds=0.5)
    async with world.faults() as proxy, door(world, manner) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        rule = proxy.on(Match(verb="watch"), fault, times=1)
        await add_pods(world, "web")
        assert isinstance(await problem_of(api, since=version), errors.Unavailable)
        assert rule.fired == 1


def test_a_dead_connection_is_noticed_within_a_minute() -> None:
    limit = Manner().timeout().sock_read
    assert limit is not None
    assert limit <= 60


# ------------------------------------------------------------------ who we are


async def test_a_replaced_token_is_read_again(world: World) -> None:
    await add_pods(world, "web")
    token = world.folder / "token"
    token.write_text("of-nobody")
    document = yaml.safe_load(world.kubeconfig().read_text())
    document["users"][0]["user"] = {"tokenFile": str(token)}
    path = world.folder / "other.kubeconfig"
    path.write_text(yaml.safe_dump(document))
    async with connect(str(path)) as api:
        assert isinstance(await problem_of(api), errors.Unauthorized)
        token.write_text(world.token)
        assert list(present(await everything(api, PODS, of(world)))) == ["web"]


async def test_a_token_refused_once_in_a_watch_is_renewed_and_nothing_is_missed(
    world: World,
) -> None:
    async with world.faults() as proxy, door(world) as api:
        version = (await everything(api, PODS, of(world)))[-1].version
        await add_pods(world, "web")
        refused = proxy.on(Match(verb="watch"), fail(401), times=1)
        assert await heard_after(api, world, version) == [("present", "web")]
        assert refused.fired == 1
