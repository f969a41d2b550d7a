"""python -m tests.browser.planned_demo OWNER: a demo that stands still at its plan.

It prints where its page is as JSON, and ends when the process OWNER does.
"""

import asyncio
import json
import os
import sys
from typing import Final

from rescheduler.cli.demo_log import log_file
from rescheduler.embedded import virtual_time
from rescheduler.simulation.demo import Demo
from rescheduler.simulation.web import Look
from tests.browser.told_demo import Nobody

_NODES: Final = 30
"""As many as by default: fewer have none above its threshold."""


class Planned(Demo):
    found: dict[str, str]
    """Where its page is."""

    async def _show_plan(self) -> None:
        await super()._show_plan()
        loop = asyncio.get_running_loop()
        assert isinstance(loop, virtual_time.VirtualTimeLoop)
        loop.pace = 1.0
        sys.stdout.write(json.dumps(self.found) + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


async def play(owner: int) -> None:
    found: dict[str, str] = {}
    look = Look(told=lambda url, token: found.update(url=f"{url}/", token=token))
    planned = Planned(Nobody(), nodes=_NODES, seed=0, speed=0.0, web=look)
    planned.found = found
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(os.pidfd_open(owner), stop.set)
    await planned.play(stop, keep=False)


if __name__ == "__main__":
    with log_file(None):
        virtual_time.run(play(int(sys.argv[1])))
