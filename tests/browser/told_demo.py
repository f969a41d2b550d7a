"""python -m tests.browser.told_demo SEED PACE OWNER: a demo whose story is over, and its page.

It stands still: so what is shown is the same in every run, for as long as somebody looks.

It prints where its page is, and a token, as JSON. PACE virtual seconds pass in one of ours. It ends
when the process OWNER does.
"""

import asyncio
import json
import os
import sys
from typing import Final

from rescheduler.cli.demo_log import log_file
from rescheduler.embedded import virtual_time
from rescheduler.embedded.virtual_time import VirtualTimeLoop
from rescheduler.model.moves import Plan
from rescheduler.simulation.demo import Demo
from rescheduler.simulation.scenes import Chapter, MoveScene, Scene
from rescheduler.simulation.web import Look

_NODES: Final = 8
_AS_FAST_AS_POSSIBLE: Final = 0.0


class Told(Demo):
    found: dict[str, str]
    """Where its page is."""
    pace: float

    async def _change_over_the_day(self) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        loop.pace = self.pace
        sys.stdout.write(json.dumps(self.found) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


class Nobody:
    """Who looks looks at the page."""

    def begins(self, chapter: Chapter) -> None: ...

    def sees(self, scene: Scene) -> None: ...

    def sees_plan(self, decided: Plan, about: str) -> None: ...

    def hears(self, move: MoveScene) -> None: ...


async def play(seed: int, pace: float, owner: int) -> None:
    told = Told(
        Nobody(),
        nodes=_NODES,
        seed=seed,
        speed=_AS_FAST_AS_POSSIBLE,
        web=Look(told=lambda url, token: told.found.update(url=f"{url}/", token=token)),
    )
    told.found, told.pace = {}, pace
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(os.pidfd_open(owner), stop.set)
    await told.play(stop, keep=True)


if __name__ == "__main__":
    _, _seed, _pace, _owner = sys.argv
    with log_file(None):
        virtual_time.run(play(int(_seed), float(_pace), int(_owner)))
