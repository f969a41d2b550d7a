"""What goes on beside the passes: the plans of earlier ones are carried out."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

import structlog

from rescheduler.clock import Clock
from rescheduler.controller.passes import Pass
from rescheduler.controller.triggers import Trigger
from rescheduler.kube import errors
from rescheduler.migrate.queue.plan_run import PlanRun

_CUT_SHORT_SHARE: Final = 1 / 3
"""Of the interval: after which a pass that maxReschedulePods cut short is followed by the next,
once its pods serve elsewhere. What came of it is known then, where load is by requests; where it is
measured, its nodes rest until it is.
"""


class PlansUnderWay:
    def __init__(self, clock: Clock, interval_seconds: float, trigger: Trigger) -> None:
        self._clock = clock
        self._interval_seconds = interval_seconds
        self._trigger = trigger
        self._tasks: set[asyncio.Task[None]] = set()
        self._log = structlog.get_logger()

    def begin(self, seen: Pass, begun: float) -> None:
        """What the pass that began at that time has planned."""
        if seen.run is None:
            return
        todo = [self._carry_out(seen.run)]
        if seen.plan.is_cut_short:
            todo.append(self._go_on_early(seen.run, begun))
        for each in todo:
            self._keep(each)

    def carry_out(self, run: PlanRun) -> None:
        """One that somebody has approved."""
        self._keep(self._carry_out(run))

    def _keep(self, todo: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(todo)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def leave(self) -> None:
        """Nobody waits for the rest; what was asked for goes on."""
        left = tuple(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _carry_out(self, run: PlanRun) -> None:
        moves = run.left
        try:
            await run.run()
        except errors.KubeError as problem:
            # Only of a leader that was: it is about to be told.
            self._log.warning("plan abandoned", problem=str(problem))
        except Exception:  # noqa: BLE001 - its moves go on, and others are planned
            self._log.exception("plan abandoned: internal error, please report")
        # Failures alone are no reason: those pods rest for a while, and others wait for their turn.
        if run.moved and (run.skipped or any(move.asked for move in moves)):
            self._trigger.fire("a plan has ended, and something may be left to do")

    async def _go_on_early(self, run: PlanRun, begun: float) -> None:
        """After a pass that had more to do than it was allowed to. Originals may take long to end:
        they are no load any more, and nobody has to wait for them.
        """
        if not await run.all_taken_over():
            return
        pause = self._interval_seconds * _CUT_SHORT_SHARE
        await self._clock.sleep(max(begun + pause - self._clock.monotonic(), 0.0))
        if not run.failed:
            self._trigger.fire(
                "the pass before ended at maxReschedulePods, and its pods have moved"
            )


@asynccontextmanager
async def carrying_out(
    clock: Clock, interval_seconds: float, trigger: Trigger
) -> AsyncIterator[PlansUnderWay]:
    plans = PlansUnderWay(clock, interval_seconds, trigger)
    try:
        yield plans
    finally:
        await plans.leave()
