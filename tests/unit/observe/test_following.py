"""Following one kind for ever, whatever becomes of its streams: on a clock that is ours."""

import asyncio
import random
from collections.abc import AsyncGenerator
from typing import Any, cast

import pytest
from structlog.testing import capture_logs

from rescheduler.kube import KubeApi, errors
from rescheduler.observe.following import Follower
from rescheduler.observe.state import ClusterState
from rescheduler.wire import POD_MIGRATIONS, PODS, Batch, Malformed
from tests.unit.observe.scripted_clock import ScriptedClock
from tests.unit.observe.streams import (
    After,
    AtLeast,
    Script,
    Word,
    following,
    gone,
    listed,
    present,
)

CUT = errors.Unavailable("cut")
EXPIRED = errors.Expired("too old")
FORBIDDEN = errors.Forbidden("pods is forbidden")
NOT_FOUND = errors.NotFound("404 page not found")
SOME_JITTER = random.Random(1)  # noqa: S311 - spreads retries


# ------------------------------------------------------------------ resuming


async def test_resumes_at_the_last_version_it_heard() -> None:
    changes: list[Word] = [present("b", version="11"), After(40), Batch(version="12")]
    more: list[Word] = [Batch(version="12"), After(2), gone("a", version="13"), CUT]
    async with following([*listed("a"), *changes], more) as scene:
        await scene.until_over()
        assert scene.script.asked == ["", "12", "13"]
        assert scene.pods() == ["b"]


async def test_a_stream_that_ends_in_order_is_resumed_at_once_and_blinds_nobody() -> None:
    async with following([*listed("a"), After(40)], [Batch(version="11"), After(40)]) as scene:
        await scene.until_over()
        assert scene.clock.slept == []
        assert scene.reason() == ""


async def test_after_trouble_such_an_end_blinds_nobody_either() -> None:
    async with following([*listed("a"), CUT], [Batch(version="11"), After(40)]) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5]
        assert scene.reason() == ""


async def test_what_an_unfinished_listing_said_is_no_place_to_resume_at() -> None:
    unfinished: list[Word] = [present("a", "b", version=""), CUT]
    async with following(unfinished, listed("b", "c")) as scene:
        await scene.until_over()
        assert scene.script.asked == ["", "", "10"]
        # What the first one named, and the second did not, is gone.
        assert scene.pods() == ["b", "c"]


@pytest.mark.parametrize("problem", [EXPIRED, errors.Invalid("no such version")])
async def test_begins_anew_when_there_is_no_way_to_resume(problem: errors.KubeError) -> None:
    async with following(
        [*listed("a", "b"), CUT], [problem], [*listed("b", "c"), After(9)]
    ) as scene:
        await scene.until_over()
        assert scene.script.asked == ["", "10", "", "10"]
        assert scene.pods() == ["b", "c"]
        assert scene.reason() == ""


async def test_a_place_that_no_stream_gets_past_is_led_around_by_a_listing() -> None:
    opens_and_breaks: list[Word] = [Batch(version="10"), CUT]
    async with following(
        [*listed("a"), After(9), CUT], *[opens_and_breaks] * 5, listed("b")
    ) as scene:
        await scene.until_over()
        assert scene.script.asked == ["", *["10"] * 5, "", "10"]
        assert scene.pods() == ["b"]


async def test_a_server_that_is_away_for_long_is_resumed_at() -> None:
    async with following([*listed("a"), After(9), CUT], *[[CUT]] * 9) as scene:
        await scene.until_over()
        assert scene.script.asked == ["", *["10"] * 10]


async def test_streams_are_closed_when_nobody_listens_any_more() -> None:
    closed = asyncio.Event()

    class Closing(Script):
        async def follow(self, *_: Any, **__: Any) -> AsyncGenerator[Batch, None]:  # noqa: ANN401
            try:
                yield Batch(version="10", complete=True)
            finally:
                closed.set()

    class Broken(ClusterState):
        def take(self, *_: Any) -> list[Malformed]:  # noqa: ANN401
            raise RuntimeError("nobody expected this")

    clock = ScriptedClock()
    door = cast("KubeApi", Closing(clock, []))
    follower = Follower(door, clock, Broken(), PODS, jitter=AtLeast())
    task = asyncio.create_task(follower.run())
    async with asyncio.timeout(10):
        await closed.wait()
        await follower.changed()
    gap = follower.gap()
    task.cancel()
    assert gap is not None
    assert "RuntimeError: nobody expected this" in gap.reason


async def test_an_error_that_nobody_expected_is_told_once_with_its_trace_and_sat_out() -> None:
    defect = RuntimeError("nobody expected this")
    healed: list[Word] = [*listed("b"), After(2)]
    with capture_logs() as lines:
        async with following([*listed("a"), After(9), defect], [defect], [defect]) as scene:
            await scene.until_over()
            assert scene.clock.slept == [0.5, 1, 2]
            # What it left half done is not known.
            assert scene.script.asked == ["", "", "", ""]
            assert "please report it: RuntimeError: nobody expected" in scene.reason()
            assert scene.pods() == ["a"]
        async with following([*listed("a"), defect], healed) as scene:
            await scene.until_over()
            assert scene.pods() == ["b"]
            assert scene.reason() == ""
    told = [line for line in lines if line["log_level"] == "error"]
    assert [line["exc_info"] for line in told] == [defect, defect]


async def test_what_is_gone_is_gone_even_if_it_cannot_be_read() -> None:
    odd = Malformed("shop/odd", "not a pod")
    other = Malformed("shop/other", "not a pod")
    went = Batch(
        malformed=[odd._replace(gone=True), Malformed("shop/a", "not a pod", gone=True)],
        version="12",
    )
    with capture_logs() as lines:
        async with following(
            [*listed("a", "b"), Batch(malformed=[odd, other], version="11"), went, After(2), CUT]
        ) as scene:
            await scene.until_over()
            assert scene.state.snapshot().unreadable == ("pods shop/other: not a pod",)
            assert scene.pods() == ["b"]
    told = [line["name"] for line in lines if line["event"] == "object cannot be read"]
    assert told == ["shop/odd", "shop/other"]


# ------------------------------------------------------------------ backing off


async def test_pauses_grow_and_are_capped() -> None:
    async with following(listed("a"), *[[CUT]] * 9) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30, 30, 30]


async def test_pauses_are_jittered_and_never_shorter() -> None:
    async with following(*[[CUT]] * 30, jitter=SOME_JITTER) as scene:
        await scene.until_over()
        last = scene.clock.slept[-20:]
        assert all(30 <= pause <= 45 for pause in last)
        assert len(set(last)) == 20


async def test_a_stream_that_has_held_for_long_begins_the_pauses_anew() -> None:
    held: list[Word] = [Batch(version="11"), After(6), CUT]
    async with following(listed("a"), [CUT], [CUT], held) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 0.5]


async def test_streams_that_open_and_are_cut_at_once_are_asked_for_ever_less() -> None:
    cut: list[Word] = [Batch(version="11"), CUT]
    async with following([*listed("a"), CUT], *[cut] * 7) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]


async def test_streams_that_end_at_once_in_order_make_no_hot_loop_and_it_is_told() -> None:
    short: list[Word] = [Batch(version="11")]
    async with following([*listed("a")], *[short] * 7) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]
        assert "ended the watch of pods at once" in scene.reason()


async def test_listings_that_are_always_too_old_are_asked_for_ever_less() -> None:
    too_old: list[Word] = [*listed("a"), EXPIRED]
    async with following(*[too_old] * 8) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 4, 8, 16, 30, 30]


async def test_after_a_long_outage_nobody_waits_long_to_begin_anew() -> None:
    async with following(listed("a"), *[[CUT]] * 8, [EXPIRED], listed("b")) as scene:
        await scene.until_over()
        *_, after_outage, after_expiry, _ = scene.clock.slept
        assert (after_outage, after_expiry) == (30, 0.5)


async def test_is_not_back_before_a_server_asks_for_it() -> None:
    busy = errors.Throttled("too many requests", retry_after=7)
    away = errors.Unavailable("shutting down", retry_after=0.1)
    async with following(listed("a"), [busy], [away]) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 7, 2]


# ------------------------------------------------------------------ what it says


async def test_says_that_it_has_not_listed_yet_and_why() -> None:
    async with following([CUT]) as scene:
        assert scene.reason() == "pods are not listed yet"
        await scene.until_over()
        assert scene.reason() == "pods are not listed yet: cut"
        assert not scene.follower.is_settled


async def test_says_since_when_it_has_not_heard_and_why() -> None:
    async with following([*listed("a"), After(50), CUT], [CUT]) as scene:
        await scene.until_over()
        assert scene.reason() == "not heard of since 2027-01-15T08:00:00Z: cut"
        assert scene.pods() == ["a"]


async def test_says_that_it_lists_anew_and_why() -> None:
    async with following(listed("a"), [EXPIRED]) as scene:
        await scene.until_over()
        assert scene.reason() == "pods are being listed anew: too old"
        assert scene.pods() == ["a"]


async def test_what_was_missed_comes_after_the_stream_is_open() -> None:
    """It may also be that the server says only then that we are too late."""
    reasons: list[str] = []
    async with following([*listed("a"), CUT], [Batch(version="10"), After(0.2)]) as scene:
        while not scene.script.is_over.is_set():
            reasons.append(scene.reason())
            await asyncio.sleep(0)
    assert "what was missed is to come: cut" in reasons
    said = [reason for reason in reasons if reason != "pods are not listed yet"]
    assert "" not in said[1:]


async def test_sees_again_a_moment_after_the_stream_is_open() -> None:
    class Held(Script):
        async def follow(self, *_: Any, **__: Any) -> AsyncGenerator[Batch, None]:  # noqa: ANN401
            first = not self.asked
            self.asked.append("")
            yield Batch(version="10", complete=first)
            if first:
                raise CUT
            self.is_over.set()
            await asyncio.get_running_loop().create_future()

    clock = ScriptedClock()
    script = Held(clock, [])
    follower = Follower(cast("KubeApi", script), clock, ClusterState(), PODS, jitter=AtLeast())
    task = asyncio.create_task(follower.run())
    await script.is_over.wait()
    assert follower.gap() is not None
    clock.time += 1
    assert follower.gap() is None
    task.cancel()


async def test_tells_of_trouble_once_and_of_its_end() -> None:
    more: list[Word] = [Batch(version="11"), After(2), Batch(version="12")]
    with capture_logs() as lines:
        async with following(listed("a"), *[[CUT]] * 5, [EXPIRED], listed(), more) as scene:
            await scene.until_over()
    assert [line["event"] for line in lines] == [
        "watch lost",
        "watch expired, listing again",
        "watch recovered",
        "watch lost",  # the listing's watch ended at once
        "watch recovered",
    ]


async def test_tells_of_what_cannot_be_read_once_by_name() -> None:
    odd = Batch(malformed=[Malformed("shop/odd", "not a pod")], version="11")
    with capture_logs() as lines:
        async with following([*listed("a"), odd, odd, After(2), CUT]) as scene:
            await scene.until_over()
    told = [line for line in lines if line["event"] == "object cannot be read"]
    assert [(line["name"], line["problem"]) for line in told] == [("shop/odd", "not a pod")]


# ------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("refusal", "reason", "forbidden"),
    [
        (FORBIDDEN, "we have no permission to list and watch pods: pods is forbidden", True),
        (NOT_FOUND, "the server has no pods: 404 page not found", False),
    ],
)
async def test_a_refusal_is_told_once_and_what_was_known_is_forgotten(
    refusal: errors.KubeError, reason: str, *, forbidden: bool
) -> None:
    with capture_logs() as lines:
        async with following([*listed("a"), After(9), CUT], *[[refusal]] * 5) as scene:
            await scene.until_over()
            gap = scene.follower.gap()
            assert gap is not None
            assert (gap.source, gap.reason, gap.forbidden) == ("pods", reason, forbidden)
            assert scene.follower.is_settled
            assert scene.pods() == []
            # After the first of them it would have to begin anew.
            assert scene.script.asked == ["", "10", "", "", "", "", ""]
    assert [line["event"] for line in lines] == ["watch lost", "watch refused"]


async def test_who_is_refused_asks_again_ever_less_and_at_least_every_90_seconds() -> None:
    async with following(*[[FORBIDDEN]] * 9) as scene:
        await scene.until_over()
        assert scene.clock.slept == [0.5, 1, 2, 4, 8, 16, 32, 60, 60]
    async with following(*[[FORBIDDEN]] * 20, jitter=SOME_JITTER) as scene:
        await scene.until_over()
        assert max(scene.clock.slept) <= 90


async def test_a_right_that_is_granted_heals() -> None:
    async with following([FORBIDDEN], [FORBIDDEN], [*listed("a"), After(9)]) as scene:
        await scene.until_over()
        assert scene.reason() == ""
        assert scene.pods() == ["a"]
        assert scene.follower.is_complete


async def test_trouble_on_the_way_does_not_lift_a_refusal() -> None:
    async with following([FORBIDDEN], [CUT], [present("a", version="")]) as scene:
        await scene.until_over()
        assert scene.reason().startswith("we have no permission")


async def test_where_migrations_are_not_installed_there_are_none_and_nothing_is_told() -> None:
    with capture_logs() as lines:
        async with following([NOT_FOUND], [NOT_FOUND], resource=POD_MIGRATIONS) as scene:
            await scene.until_over()
            assert scene.follower.is_settled
            assert scene.follower.gap() is None
    assert lines == []
