"""Empties one node, as NodeMaintenance does, and tells how it goes.

Where somebody leads, the moves are only asked for, and the leader makes them; where nobody does,
they are made here, with the lease in hand.
"""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Final

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller.drain.emptying import DECIDING_SECONDS, Emptying
from rescheduler.controller.drain.one_node import OneNode
from rescheduler.controller.drain.progress import Progress, Say, Voice
from rescheduler.controller.drain.request import Request
from rescheduler.controller.events import Trail, recording, silent
from rescheduler.controller.last_check import LastCheck
from rescheduler.controller.leader_session import (
    AnotherLeads,
    Connect,
    insist_on_an_answer,
    leader_session,
    until_free,
)
from rescheduler.controller.passes import Passes
from rescheduler.controller.pausing import Pausing, looking_for_pauses
from rescheduler.controller.shutdown import to_an_end
from rescheduler.kube import KubeApi
from rescheduler.leading import Leadership, Term
from rescheduler.migrate import migrating
from rescheduler.migrate.hygiene import cordoning
from rescheduler.model.moves import Plan
from rescheduler.observe import Observer, observing

_SEEING_SECONDS: Final = 10.0
_LOOK_SOON_SECONDS: Final = 0.05


class Drain:
    def __init__(self, clock: Clock, configuration: Configuration, node: str, say: Say) -> None:
        """Its `forced` says what is skipped of all that kubectl drain would take."""
        self.progress = Progress()
        self._clock = clock
        self._request = Request(configuration, node)
        self._voice = Voice(say)
        self._has_begun = False

    async def preview(self, connect: Connect) -> Plan:
        """What it would begin with; changes nothing."""
        async with connect() as kube, self._observing(kube) as observer:
            await observer.settled()
            self._request.insist_on_namespaces(observer.snapshot())
            self._request.forgive(observer.snapshot())
            purpose = self._purpose(kube, observer, Trail(silent))
            passes = Passes(self._clock, observer, None, purpose, deciding_seconds=DECIDING_SECONDS)
            decided = (await passes.one()).plan
            self.progress.planned = len(decided.moves)
            return decided

    # ------------------------------------------------------------------ with or without a leader

    async def run(self, connect: Connect) -> None:
        """Until nobody is left who could go; `progress` says what came of it.

        Raises:
            StillPaused: before it has begun. Paused later, it waits.
        """
        await insist_on_an_answer(connect, self._request.configuration.leader_election)
        while True:
            try:
                await self._lead(connect)
            except AnotherLeads as problem:
                self.progress.leader = problem.holder
                self._voice.leads(problem.holder)
            else:
                return
            election = self._request.configuration.leader_election
            async with (
                connect() as kube,
                looking_for_pauses(kube, self._clock, election) as pausing,
            ):
                if await self._follow(kube, pausing):
                    return
            self.progress.leave_to_others()

    async def _lead(self, connect: Connect) -> None:
        election = self._request.configuration.leader_election
        async with leader_session(connect, self._clock, election) as session:
            if self._has_begun:
                self._voice.leads_no_longer(self.progress.leader)
            self.progress.leader = ""
            await session.run(self._drain(session.kube, session.pausing, session.leadership))

    async def _follow(self, kube: KubeApi, pausing: Pausing) -> bool:
        """Whether it was done before the lease was free: then nobody carries out what is left."""
        election = self._request.configuration.leader_election
        draining = asyncio.ensure_future(self._drain(kube, pausing))
        ending = asyncio.ensure_future(until_free(kube, self._clock, election))
        try:
            await asyncio.wait([draining, ending], return_when=asyncio.FIRST_COMPLETED)
            if draining.done():
                await draining
                return True
            return False
        finally:
            for task in (draining, ending):
                task.cancel()
            await asyncio.gather(draining, ending, return_exceptions=True)

    async def _drain(
        self, kube: KubeApi, pausing: Pausing, leadership: Leadership | None = None
    ) -> None:
        """Without leadership the moves are only asked for."""
        if not self._has_begun:
            await pausing.refuse_while_paused()
        pausing.listeners.append(self._voice.hear_of_pause)
        term = leadership.term if leadership else Term("", 0)
        async with recording(kube, self._clock) as recorder, self._observing(kube) as observer:
            trail = Trail(recorder)
            await observer.settled()
            trail.see(observer.snapshot())
            self._request.insist_on_node(observer.snapshot())
            self._request.insist_on_namespaces(observer.snapshot())
            if not self._has_begun:
                # Whoever asks again may have mended what they failed of.
                self._request.forgive(observer.snapshot())
            self._has_begun = True
            # Before it goes on: from there on it may end at any time.
            under_way = self._request.under_way(observer.snapshot(), self.progress.ended)
            self.progress.expect(under_way)
            configuration = self._request.configuration
            async with migrating(
                kube,
                self._clock,
                configuration,
                holder=term.holder,
                fence=term.number,
                planner=LastCheck(observer, lambda: configuration),
                carry_out=leadership is not None,
                begins=self._request.is_ours_to_begin,
                ended=trail.ended,
                is_paused=lambda: pausing.is_paused,
            ) as migrator:
                await migrator.synced()
                await self._cordon(kube)
                await self._see_cordon(observer)
                purpose = self._purpose(kube, observer, trail)
                emptying = Emptying(self._clock, observer, migrator, purpose, pausing)
                await to_an_end(
                    emptying.run(),
                    migrator,
                    may_write=leadership.may_write if leadership else lambda: False,
                    stop=emptying.stop,
                )

    def _purpose(self, kube: KubeApi, observer: Observer, trail: Trail) -> OneNode:
        return OneNode(kube, observer, self._request, self.progress, self._voice, trail)

    def _observing(self, kube: KubeApi) -> AbstractAsyncContextManager[Observer]:
        configuration = self._request.configuration
        needed = plan.needs(configuration.enabled_strategies)
        return observing(kube, self._clock, needed, configuration.usage)

    # ------------------------------------------------------------------ the cordon

    async def _cordon(self, kube: KubeApi) -> None:
        node = self._request.node
        changed = await cordoning.apply(kube, node, cordoning.to_drain)
        if changed or not self.progress.is_cordoned:
            self._voice.cordoned(node, by_us=changed is not None)
        self.progress.is_cordoned = True

    async def _see_cordon(self, observer: Observer) -> None:
        """A move away from a node that takes pods again is not begun: so it has to be seen."""
        end = self._clock.monotonic() + _SEEING_SECONDS
        while self._clock.monotonic() < end:
            snapshot = observer.snapshot()
            number = snapshot.node_numbers.get(self._request.node)
            if number is None or snapshot.nodes[number].unschedulable:
                return
            await self._clock.sleep(_LOOK_SOON_SECONDS)
