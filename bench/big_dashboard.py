"""python -m bench.big_dashboard NODES PODS: the dashboard of a cluster that is only in memory.

It prints its address as JSON. Each line that it then reads is how many pods are to change a second
from now on. It ends with its input.
"""

import asyncio
import json
import sys
from datetime import timedelta
from typing import Final

from bench.big_state import BigState
from rescheduler import config
from rescheduler.clock import SystemClock
from rescheduler.config import Configuration
from rescheduler.controller.dashboard import questions
from rescheduler.model.published import MovesUnderWay, Now, Role
from rescheduler.plan import Desk, plan_at
from rescheduler.serve.dashboard.door import Dashboard, DashboardDoor
from rescheduler.serve.dashboard.view import Decided, View, Views
from rescheduler.serve.listening import Door, listening

_BATCHES: Final = 20
"""A second: events come one by one in a cluster, and not all at once."""


class Showing:
    """What the controller would show, made as often as somebody looks."""

    def __init__(self, big: BigState) -> None:
        self._big = big
        self._clock = SystemClock()
        self._configuration = Configuration(enabled_strategies=("LoadBalancing",))
        self._serial = 0
        self._seed = 0
        snapshot = big.state.snapshot()
        decided = plan_at(Desk(snapshot, self._configuration))
        self._decided = Decided(plan=decided, at=self._clock.now(), seconds=1.0)
        self.rate = 0

    def view(self) -> View:
        self._serial += 1
        return View(
            serial=self._serial,
            at=self._clock.now() + timedelta(seconds=self._serial),
            snapshot=self._big.state.snapshot(),
            now=Now(role=Role.LEADING, is_synced=True, moves=MovesUnderWay()),
            configuration=self._configuration,
            decided=self._decided,
        )

    async def change(self) -> None:
        """For ever."""
        while True:
            if self.rate:
                self._seed += 1
                self._big.some_events(self._seed, max(self.rate // _BATCHES, 1))
            await asyncio.sleep(1 / _BATCHES)


async def _obey(showing: Showing) -> None:
    """Until the input ends."""
    while line := await asyncio.to_thread(sys.stdin.readline):
        showing.rate = int(line)


async def serve(nodes: int, pods: int) -> None:
    showing, views = Showing(BigState(nodes, pods)), Views()
    settings = config.Dashboard(enabled=True)
    dashboard = Dashboard(DashboardDoor(settings=settings, views=views, questions=questions()))
    door = Door(
        setting="dashboard.port",
        address="127.0.0.1",
        port=0,
        idle_seconds=30.0,
        dispatch=dashboard.dispatch,
        beside=dashboard.working,
    )
    with views.made_by(showing.view), listening([door]) as [(_, port)]:
        print(json.dumps({"url": f"http://127.0.0.1:{port}/"}), flush=True)
        changing = asyncio.create_task(showing.change())
        await _obey(showing)
        changing.cancel()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
