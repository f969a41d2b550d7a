"""Somebody who says yes or no to plans, by a script, on virtual time."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from rescheduler.config import Configuration
from rescheduler.controller.plans import asking, by_hand
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.kube import Object
from rescheduler.model import reschedule_plan
from rescheduler.model.reschedule_plan import Decision, Phase
from rescheduler.simulation.configured import on_embedded
from rescheduler.wire import RESCHEDULE_PLANS

NAMESPACE: Final = "kube-system"
LOOK_SECONDS: Final = 60.0

Script = Callable[[int], Decision | None]
"""What to say to the plan of this number, counted from 0; None: nothing."""


@dataclass(slots=True)
class Operator:
    cluster: EmbeddedCluster
    script: Script
    said: dict[str, Decision | None] = field(default_factory=dict)
    """By name of the plan."""

    async def work(self) -> None:
        """For ever: looks each minute, and says once what it has to say."""
        async with self.cluster.connect() as kube:
            while True:
                for plan in self.plans():
                    name = reschedule_plan.name_of(plan)
                    if name in self.said or not reschedule_plan.is_open(plan):
                        continue
                    decision = self.script(len(self.said))
                    self.said[name] = decision
                    if decision is not None:
                        await by_hand.decide(
                            kube, self.cluster.clock, NAMESPACE, name, decision, "operator"
                        )
                await asyncio.sleep(LOOK_SECONDS)

    def plans(self) -> Sequence[Object]:
        """The oldest first."""
        return sorted(self.cluster.store.all(RESCHEDULE_PLANS), key=reschedule_plan.order_of)

    def of(self, phase: Phase) -> list[Object]:
        return [each for each in self.plans() if reschedule_plan.phase_of(each) is phase]

    async def rest(self, seconds: float) -> None:
        """Until nothing is proposed or carried out for so long."""
        quiet = 0.0
        while quiet < seconds:
            await asyncio.sleep(LOOK_SECONDS)
            is_calm = all(map(reschedule_plan.is_over, self.plans()))
            quiet = quiet + LOOK_SECONDS if is_calm else 0.0

    async def undo(self, plan: Object, configuration: Configuration) -> list[tuple[str, str]]:
        """Who stays, and why; when all others are back, or are told to have failed."""
        async with self.cluster.connect() as kube:
            clock = self.cluster.clock
            name = reschedule_plan.name_of(plan)
            judged = await asking.to_undo(
                kube, clock, on_embedded(configuration), name, by="operator"
            )
            stay = list(judged.stay)
            if judged.body is None:
                return stay
            made = reschedule_plan.name_of(await asking.ask(kube, clock, judged.body))
        while True:
            await asyncio.sleep(5.0)
            [found] = [each for each in self.plans() if reschedule_plan.name_of(each) == made]
            if reschedule_plan.is_over(found):
                progress = reschedule_plan.progress_of(found)
                moves = {each.uid: each for each in reschedule_plan.moves_of(found)}
                return stay + [
                    (moves[uid].full_name, each.message)
                    for uid, each in progress.items()
                    if each.state is not reschedule_plan.State.MOVED
                ]
