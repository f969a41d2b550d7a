"""The embedded cluster behaves as a real one: the same random acts have the same end on both.

SEEDS=200 in the environment takes so many (`make twin`), FIRST_SEED the first of them, and ACTS how
many acts each has. What differs names its seed, and the acts that are needed for it.
"""

import asyncio
import os
import random
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from rescheduler.embedded import virtual_time
from testbed.instance import Instance
from testbed.world import make_world
from tests.scenarios.embedded_world import make_embedded_world
from tests.twin.acts import Act, draw
from tests.twin.comparing import Step, difference, history, shrunk
from tests.twin.doing import DONE

SEEDS = int(os.environ.get("SEEDS", "12"))
FIRST = int(os.environ.get("FIRST_SEED", "0"))
ACTS = int(os.environ.get("ACTS", "12"))
AT_ONCE = int(os.environ.get("AT_ONCE", "8"))
"""Seeds that share one run of the event loop, as most of their time is waiting."""


async def on_real(instance: Instance, acts: Sequence[Act], name: str) -> list[Step]:
    with tempfile.TemporaryDirectory() as folder:
        async with make_world(instance, Path(folder), name) as world:
            return await history(world, acts)


def on_embedded(acts: Sequence[Act], seed: int) -> list[Step]:
    async def play() -> list[Step]:
        with tempfile.TemporaryDirectory() as folder:
            async with make_embedded_world(Path(folder), f"twin-{seed}", seed=seed) as world:
                return await history(world, acts)

    return virtual_time.run(play())


async def compared(instance: Instance, acts: Sequence[Act], *, seed: int) -> str:
    real = await on_real(instance, acts, f"twin-{seed}")
    # In a thread, for it has an event loop of its own.
    embedded = await asyncio.to_thread(on_embedded, acts, seed)
    return difference(real, embedded)


BATCHES = [
    range(first, min(first + AT_ONCE, FIRST + SEEDS))
    for first in range(FIRST, FIRST + SEEDS, AT_ONCE)
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seeds", BATCHES, ids=lambda each: f"{each.start}-{each.stop - 1}")
async def test_the_same_acts_have_the_same_end(instance: Instance, seeds: range) -> None:
    drawn = {seed: draw(seed, ACTS) for seed in seeds}
    found = await asyncio.gather(
        *(compared(instance, acts, seed=seed) for seed, acts in drawn.items()),
        return_exceptions=True,
    )
    told = []
    for seed, shown in zip(drawn, found, strict=True):
        if isinstance(shown, BaseException):
            told.append(f"seed {seed}: {shown!r}\n" + "\n".join(map(str, drawn[seed])))
        elif shown:
            if os.environ.get("SHRINK"):
                again = partial(compared, instance, seed=seed)
                shown = await shrunk(again, drawn[seed], shown)  # noqa: PLW2901
            told.append(f"seed {seed} (make twin FIRST_SEED={seed} SEEDS=1):\n{shown}")
    assert not told, "\n\n".join([f"{len(told)} of {len(seeds)} seeds differ", *told])


def test_acts_are_of_many_kinds() -> None:
    """Or a difference in one of them would never be found."""
    drawn = [act for seed in range(400) for act in draw(seed, ACTS)]
    kinds = {act.what for act in drawn}
    made = {act.how["kind"] for act in drawn if act.what == "create"}
    assert kinds == set(DONE)
    assert made == {"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod"}


def test_a_difference_is_told_with_the_acts_that_led_to_it() -> None:
    one, two = draw(random.Random(1).randint(0, 9), 2)  # noqa: S311 - any
    same = Step(one, "", ("Pod: 1",))
    told = difference([same, Step(two, "", ("Pod: 2",))], [same, Step(two, "evicted", ("Pod: 3",))])
    assert str(one) in told
    assert str(two) in told
    assert "-Pod: 2\n+Pod: 3" in told
    assert "'' real, 'evicted' embedded" in told
    assert difference([same], [same]) == ""


async def test_a_difference_is_told_with_as_few_acts_as_it_needs() -> None:
    acts = draw(3, 8)
    needed = {str(acts[2]), str(acts[5])}

    async def compare(some: Sequence[Act]) -> str:
        names = list(map(str, some))
        return "\n  ".join(["after:", *names]) if needed <= set(names) else ""

    told = await shrunk(compare, acts, await compare(acts[:6]))
    assert told.splitlines()[1:] == [f"  {acts[2]}", f"  {acts[5]}"]
