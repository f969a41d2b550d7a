"""Pass after pass, until nobody is left on the node who leaves it, or could if one waits."""

import asyncio
from collections.abc import Sequence
from typing import Final

from rescheduler.clock import Clock
from rescheduler.controller.drain.one_node import OneNode
from rescheduler.controller.drain.questions import completed, should_go
from rescheduler.controller.passes import Pass, Passes
from rescheduler.controller.pausing import Pausing
from rescheduler.migrate import Migrator
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model.moves import Move, Plan
from rescheduler.model.podmigration import reasons
from rescheduler.observe import Observer

DECIDING_SECONDS: Final = 10.0
_CATCHING_UP_SECONDS: Final = 10.0
"""Until the observer has seen what the migrator has."""
_LOOK_AGAIN_SECONDS: Final = 0.1
_TRY_AGAIN_SECONDS: Final = 5.0
"""Between two plans while all that is left waits for something: as kubectl drain asks again."""
_LEAVING: Final = "it is on its way out"


class Emptying:
    def __init__(
        self,
        clock: Clock,
        observer: Observer,
        migrator: Migrator,
        purpose: OneNode,
        pausing: Pausing,
    ) -> None:
        self._clock = clock
        self._observer = observer
        self._migrator = migrator
        self._purpose = purpose
        self._request, self._progress = purpose.request, purpose.progress
        self._voice = purpose.voice
        self._passes = Passes(
            clock,
            observer,
            migrator,
            purpose,
            deciding_seconds=DECIDING_SECONDS,
            is_paused=lambda: pausing.is_paused,
        )
        self._pausing = pausing
        self._is_stopping = False
        self._run: PlanRun | None = None

    def stop(self) -> None:
        """Begins no other move; those under way are heard out."""
        self._is_stopping = True
        self._passes.stop()
        if self._run is not None:
            self._run.stop()
        if self._progress.under_way:
            self._voice.stopping()

    async def run(self) -> None:
        while not self._is_stopping:
            await self._pausing.resumed()
            seen = await self._passes.one()
            if self._pausing.is_paused:
                continue
            if seen.run is not None and await self._carry_out(seen, seen.run):
                continue
            if self._is_stopping or await self._wait_for_others():
                continue
            awaited = self._awaited(seen.plan)
            if not awaited:
                return
            self._voice.waits_for_pods(awaited)
            await self._pause()

    # ------------------------------------------------------------------ moves of ours

    async def _carry_out(self, seen: Pass, run: PlanRun) -> int:
        """How many were moved."""
        self._run = run
        self._progress.begin(run.left)
        telling_pauses = asyncio.ensure_future(self._tell_pauses())
        try:
            await run.run()
        finally:
            telling_pauses.cancel()
        self._progress.end(run)
        await self._catch_up([move for move, end in run.outcomes if end.moved])
        if run.moved:
            # What was in the way of the others may be gone with them: a full quota, for one.
            self._request.forgive(self._observer.snapshot(), only=reasons.PASSING)
        else:
            self._purpose.report(seen.snapshot, seen.plan)
            await self._purpose.report_on_nodes(seen.snapshot, seen.plan)
        return run.moved

    async def _tell_pauses(self) -> None:
        """Once each, as it begins: nothing else would be heard for minutes."""
        was_paused = False
        while True:
            left = self._migrator.figures.paused_seconds
            if left and not was_paused:
                self._voice.pauses(left)
            was_paused = bool(left)
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    async def _catch_up(self, moves: Sequence[Move]) -> None:
        """Or the next plan would be about pods that are gone."""
        end = self._clock.monotonic() + _CATCHING_UP_SECONDS
        uids = {move.uid for move in moves}
        while self._clock.monotonic() < end and uids & set(self._observer.snapshot().pods.uids):
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    # ------------------------------------------------------------------ moves of others

    async def _wait_for_others(self) -> bool:
        """Until one that somebody else asked for has ended; False: there is none."""
        before = self._others_under_way()
        self._progress.expect(before)
        self._voice.waits_for_others(len(before))
        while before and self._others_under_way() >= before:
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)
        # Also what ended while nobody looked: during a plan, or while the lease was free.
        self._progress.count_completed(completed(self._observer.snapshot(), self._request.node))
        return bool(before)

    def _others_under_way(self) -> frozenset[str]:
        return self._request.under_way(self._observer.snapshot(), self._progress.ended)

    # ------------------------------------------------------------------ what may change by itself

    def _awaited(self, decided: Plan) -> dict[str, str]:
        """By full name of the pod, why: those that are leaving, and those that may before long."""
        passing = {each.full_name: each.passing for each in decided.refusals}
        stay, may_pass = self._progress.stay, self._progress.may_pass
        for pod in should_go(self._observer.snapshot(), self._request.node, even_if_leaving=True):
            if pod.leaving:
                stay[pod.full_name] = _LEAVING
                passing[pod.full_name] = True
        return {name: why for name, why in stay.items() if passing.get(name, name in may_pass)}

    async def _pause(self) -> None:
        """Until it is time to plan again, or one of them is gone."""
        end = self._clock.monotonic() + _TRY_AGAIN_SECONDS
        before = self._present()
        while not self._is_stopping and self._clock.monotonic() < end:
            if self._present() != before:
                return
            await self._clock.sleep(_LOOK_AGAIN_SECONDS)

    def _present(self) -> frozenset[str]:
        pods = should_go(self._observer.snapshot(), self._request.node, even_if_leaving=True)
        return frozenset(pod.uid for pod in pods)
