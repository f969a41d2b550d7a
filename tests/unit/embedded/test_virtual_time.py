import asyncio
import selectors
import signal
import threading
import time
from collections.abc import Coroutine
from datetime import timedelta
from typing import Any

import pytest

from rescheduler.embedded import virtual_time
from rescheduler.embedded.virtual_time import START, StoodStill, VirtualClock, VirtualTimeLoop


def test_days_take_no_time() -> None:
    async def main() -> None:
        clock = VirtualClock()
        await clock.sleep(3 * 86_400)
        assert clock.now() == START + timedelta(days=3)
        assert clock.monotonic() == 3 * 86_400

    begun = time.monotonic()
    virtual_time.run(main())
    # A day is thousands of times longer than the slowest machine takes.
    assert time.monotonic() - begun < 3_600


def test_timers_are_due_in_their_order() -> None:
    heard: list[tuple[str, float]] = []

    async def later(name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        heard.append((name, asyncio.get_running_loop().time()))

    async def main() -> None:
        await asyncio.gather(later("third", 7_200), later("first", 0.5), later("second", 60))

    virtual_time.run(main())
    assert heard == [("first", 0.5), ("second", 60), ("third", 7_200)]


def test_time_outs_are_virtual_too() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(600):
                await asyncio.Event().wait()
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == 600


def test_time_stands_still_while_somebody_works() -> None:
    async def main() -> float:
        for _ in range(1_000):
            await asyncio.sleep(0)
        return asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == 0


def test_work_for_threads_is_done_in_order_and_at_once() -> None:
    async def main() -> tuple[int, float]:
        ident = await asyncio.to_thread(threading.get_ident)
        return ident, asyncio.get_running_loop().time()

    assert virtual_time.run(main()) == (threading.get_ident(), 0)


def test_what_fails_in_a_thread_is_told_to_who_waits_for_it() -> None:
    def fail() -> None:
        raise LookupError("lost")

    async def main() -> None:
        await asyncio.to_thread(fail)

    with pytest.raises(LookupError, match="lost"):
        virtual_time.run(main())


def test_what_a_timer_raises_ends_the_run() -> None:
    def fail() -> None:
        raise LookupError("lost")

    async def main() -> None:
        asyncio.get_running_loop().call_later(60, fail)
        await asyncio.sleep(3_600)

    with pytest.raises(LookupError, match="lost"):
        virtual_time.run(main())


def test_everybody_waiting_for_ever_is_an_error() -> None:
    async def main() -> None:
        await asyncio.Event().wait()

    with pytest.raises(StoodStill):
        virtual_time.run(main())


def test_at_a_pace_it_takes_its_time() -> None:
    async def main() -> None:
        await asyncio.sleep(60)

    begun = time.monotonic()
    virtual_time.run(main(), pace=600)
    assert time.monotonic() - begun >= 0.1


def test_what_was_computed_meanwhile_is_not_waited_for_once_more() -> None:
    async def main() -> None:
        for _ in range(10):
            time.sleep(0.05)  # noqa: ASYNC251 - the work that is to be made good
            await asyncio.sleep(3)

    # Half a second at this pace, in which half a second of work has its place.
    assert sum(_waits_of(main(), pace=60)) < 0.25


def _waits_of(main: Coroutine[Any, Any, None], *, pace: float) -> list[float]:
    """How long the selector was told to wait."""
    waits: list[float] = []
    real = selectors.DefaultSelector.select

    def select(
        self: selectors.DefaultSelector, timeout: float | None = None
    ) -> list[tuple[selectors.SelectorKey, int]]:
        waits.append(timeout or 0.0)
        return real(self, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selectors.DefaultSelector, "select", select)
        virtual_time.run(main, pace=pace)
    return waits


def test_the_pace_can_be_changed() -> None:
    loop = VirtualTimeLoop(pace=1)
    try:
        loop.pace = 0
        loop.run_until_complete(asyncio.sleep(86_400))
        assert loop.time() == 86_400
    finally:
        loop.close()


def test_a_signal_is_heard_in_the_middle_of_a_wait() -> None:
    async def main() -> float:
        loop = asyncio.get_running_loop()
        heard = asyncio.Event()
        loop.add_signal_handler(signal.SIGUSR1, heard.set)
        loop.call_soon(signal.raise_signal, signal.SIGUSR1)
        await asyncio.wait(
            [asyncio.ensure_future(heard.wait()), asyncio.ensure_future(asyncio.sleep(3_600))],
            return_when=asyncio.FIRST_COMPLETED,
        )
        return loop.time()

    assert virtual_time.run(main(), pace=1) < 3_600
