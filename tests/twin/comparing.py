"""The same acts on both clusters, and what is not the same afterwards."""

import asyncio
import difflib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from testbed.scenarios import Scene
from tests.twin.acts import Act
from tests.twin.doing import begin, do, rest
from tests.twin.seeing import told


@dataclass(frozen=True, slots=True)
class Step:
    act: Act
    outcome: str
    shows: tuple[str, ...]


async def history(world: Scene, acts: Sequence[Act]) -> list[Step]:
    """What each act led to, on this cluster."""
    await begin(world)
    steps = []
    for act in acts:
        outcome = await do(world, act)
        seen = await rest(world)
        # What has the name of the namespace in it differs by that.
        shows = tuple(line.replace(world.name, "") for line in told(seen))
        steps.append(Step(act, outcome, shows))
    return steps


Compare = Callable[[Sequence[Act]], Awaitable[str]]
"""Does the acts on both clusters, and tells of the difference; empty: there is none."""


async def shrunk(compare: Compare, acts: Sequence[Act], shown: str) -> str:
    """A difference that needs fewer acts, if there is one: each is left out once."""
    left = list(acts[: shown.count("\n  ")])
    while True:
        tries = [left[:place] + left[place + 1 :] for place in range(len(left) - 1)]
        found = await asyncio.gather(*map(compare, tries))
        smaller = [(each, text) for each, text in zip(tries, found, strict=True) if text]
        if not smaller:
            return shown
        left, shown = smaller[0]


def difference(real: Sequence[Step], embedded: Sequence[Step]) -> str:
    """In words; empty: there is none. The acts up to the first one that shows one."""
    done: list[str] = []
    for one, other in zip(real, embedded, strict=True):
        done.append(f"  {one.act}")
        lines = list(
            difflib.unified_diff(one.shows, other.shows, "real", "embedded", n=0, lineterm="")
        )
        if one.outcome != other.outcome:
            lines.insert(0, f"outcome: {one.outcome!r} real, {other.outcome!r} embedded")
        if lines:
            return "\n".join(["after these acts:", *done, "they differ:", *lines])
    return ""
