"""Whether we may write: a deadline that cannot come back."""

import asyncio
import math
import threading

import pytest

from rescheduler.leading import Leadership, Term
from rescheduler.leading.electing import time_since_boot
from rescheduler.leading.leadership import Deadline


class Hand:
    """The hand of a clock that the test moves."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


async def leadership(deadline: Deadline) -> Leadership:
    return Leadership(Term("us", 4), deadline, asyncio.get_running_loop().create_future())


async def test_it_is_ours_until_the_deadline() -> None:
    hand = Hand()
    ours = await leadership(Deadline(110.0, hand))
    assert ours.may_write()
    assert ours.seconds_left() == 10.0
    hand.at = 109.9
    assert ours.may_write()
    hand.at = 110.0
    assert not ours.may_write()
    assert ours.seconds_left() == 0.0


async def test_a_renewal_moves_the_deadline() -> None:
    hand = Hand()
    deadline = Deadline(110.0, hand)
    assert deadline.move(112.0)
    hand.at = 111.0
    assert (await leadership(deadline)).may_write()


async def test_an_answer_that_came_out_of_turn_does_not_shorten_it() -> None:
    deadline = Deadline(110.0, Hand())
    assert deadline.move(105.0)
    assert deadline.seconds_left() == 10.0


@pytest.mark.parametrize("asked", [True, False], ids=["asked-meanwhile", "not-asked"])
async def test_a_renewal_that_comes_too_late_brings_nothing_back(*, asked: bool) -> None:
    hand = Hand()
    deadline = Deadline(110.0, hand)
    ours = await leadership(deadline)
    hand.at = 110.5
    if asked:
        assert not ours.may_write()
    assert not deadline.move(120.0)
    assert not ours.may_write()


async def test_who_was_told_no_is_never_told_yes_even_by_a_clock_that_went_back() -> None:
    hand = Hand()
    ours = await leadership(Deadline(110.0, hand))
    hand.at = 110.5
    assert not ours.may_write()
    hand.at = 100.0
    assert not ours.may_write()


async def test_it_ends_at_once_when_it_is_given_up() -> None:
    deadline = Deadline(math.inf, Hand())
    ours = await leadership(deadline)
    assert ours.may_write()
    deadline.pass_now()
    assert not ours.may_write()
    assert not deadline.move(math.inf)


async def test_several_may_wait_for_its_loss_and_one_of_them_may_stop_waiting() -> None:
    lost: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    ours = Leadership(Term("us", 4), Deadline(110.0, Hand()), lost)
    waiting = [asyncio.create_task(ours.lost()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.wait(waiting[:1])
    lost.set_result("gone")
    assert await asyncio.gather(*waiting[1:]) == ["gone", "gone"]


def test_two_threads_never_disagree_about_a_deadline_that_has_passed() -> None:
    """One asks and one moves, at the very moment: after a no there is no yes."""
    for _ in range(200):
        ticks = iter(range(10**6))
        # It passes with the asking, at another moment in each round.
        deadline = Deadline(5.0, lambda ticks=ticks: float(next(ticks)))  # type: ignore[misc]
        answers: list[bool] = []
        start = threading.Barrier(2)

        def ask(
            deadline: Deadline = deadline,
            start: threading.Barrier = start,
            answers: list[bool] = answers,
        ) -> None:
            start.wait()
            answers.extend(deadline.has_passed() for _ in range(20))

        asking = threading.Thread(target=ask)
        asking.start()
        start.wait()
        deadline.move(15.0)
        asking.join()
        assert answers == sorted(answers)


def test_the_clock_of_the_deadline_counts_on_in_suspend() -> None:
    """As far as a test can see: it is the one that is ahead of or equal to the monotonic one."""
    import time

    first = time_since_boot()
    assert first >= time.monotonic() - 1e-3
    assert time_since_boot() >= first
