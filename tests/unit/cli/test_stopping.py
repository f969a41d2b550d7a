"""SIGTERM, as commands without a loop of their own hear it: `drain`, `run --once` and others."""

import asyncio
import signal
from collections.abc import Iterator

import pytest

from rescheduler.cli.stopping import AGAIN_SECONDS, hear_terminations
from tests.unit.observe.scripted_clock import ScriptedClock


@pytest.fixture(autouse=True)
def _handler_as_before() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def ended(clock: ScriptedClock, seconds: float) -> list[str]:
    """What comes of a command that is told twice, so many seconds apart."""
    said: list[str] = []

    async def command() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            clock.time += seconds
            signal.raise_signal(signal.SIGTERM)
            await asyncio.sleep(0)
            said.append("in order")
            raise

    hear_terminations(clock.monotonic)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(command())
    return said


@pytest.mark.parametrize("seconds", [0.0, AGAIN_SECONDS - 0.01])
def test_one_that_comes_twice_within_a_moment_lets_the_orderly_end_be(seconds: float) -> None:
    assert ended(ScriptedClock(), seconds) == ["in order"]


def test_one_that_comes_again_later_ends_it_at_once() -> None:
    assert ended(ScriptedClock(), AGAIN_SECONDS) == []
