"""What a pass has decided becomes a plan that people can read; what of it is begun now."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import repeat
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import APPROVE, AUTO, DRY_RUN, Configuration
from rescheduler.controller.plans.book import Book
from rescheduler.kube import errors
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model import reschedule_plan, windows
from rescheduler.model.moves import Move, Plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Made, Origin, Phase, Reason
from rescheduler.model.snapshot import Snapshot

_SAME_NAMES: Final = 3
_DRY_RUN: Final = "mode is DryRun: nothing of it is moved"


async def _nothing() -> None:
    """Nobody keeps them."""


def _sees_nothing(_snapshot: Snapshot, _decided: Plan) -> None:
    """Nor looks what came of them."""


class Proposing:
    def __init__(self, book: Book, clock: Clock, configuration: Configuration) -> None:
        self.runs: dict[str, PlanRun | None] = {}
        """By UID of the plan: those that are carried out here; None: about to be."""
        self.to_be_begun: set[str] = set()
        """Names of plans that are being written to be begun: the watch may tell of one before the
        answer to our own request does, and it does not wait for anybody.
        """
        self.look: Callable[[], Awaitable[None]] = _nothing
        """Brings all plans up to date at once."""
        self.see: Callable[[Snapshot, Plan], None] = _sees_nothing
        """Hears what a pass has found."""
        self._book = book
        self._clock = clock
        self._configuration = configuration
        self._is_told = False
        self._is_defect_told = False

    def seen(self, snapshot: Snapshot, decided: Plan) -> None:
        """By a pass, before it does anything: what came of earlier plans shows there."""
        try:
            self.see(snapshot, decided)
        except Exception:  # noqa: BLE001 - what is to be done does not wait for what is told of it
            self._tell_defect("what came of plans could not be told")

    def _tell_defect(self, words: str) -> None:
        if not self._is_defect_told:
            self._is_defect_told = True
            structlog.get_logger().exception(f"{words}: internal error, please report")

    async def propose(self, decided: Plan, moves: Sequence[Move]) -> Sequence[Move]:
        """Those that are begun now, each with the name of its plan."""
        now, later = self._shared_out(moves)
        if not self._book.is_open:
            self._tell_that_nothing_waits(later)
            return now
        try:
            await self._leave_to_people(decided, later)
            return await self._to_be_begun(decided, now) if now else ()
        except errors.NotLeading:
            raise
        except Exception:  # noqa: BLE001 - what is to be done does not wait for what is told of it
            self._tell_defect("a plan could not be written")
            return now

    @property
    def is_window_open(self) -> bool:
        return windows.are_open(self._configuration.windows, self._clock.now())

    @property
    def acts_by_itself(self) -> bool:
        """Nobody has to say yes, and it is time for it."""
        return self._configuration.mode == AUTO and self.is_window_open

    def begun(self, run: PlanRun | None) -> None:
        """It is carried out from now on; None: nothing is, as there was a pause meanwhile."""
        for name in {move.plan for move in run.left if move.plan} if run is not None else ():
            plan = self._book.get(name)
            if plan is not None:
                self.runs[reschedule_plan.uid_of(plan)] = run
        # Nobody is about to begin any other: it ends, or was deleted.
        for uid in [uid for uid, known in self.runs.items() if known is None]:
            del self.runs[uid]

    def _shared_out(self, moves: Sequence[Move]) -> tuple[Sequence[Move], Sequence[Move]]:
        """What is begun at once, and what waits for people."""
        mode = self._configuration.mode
        if mode == DRY_RUN:
            return (), moves
        if mode == AUTO and self.is_window_open:
            return moves, ()
        return [each for each in moves if each.asked], [each for each in moves if not each.asked]

    def _tell_that_nothing_waits(self, later: Sequence[Move]) -> None:
        if not later or self._is_told or self._configuration.mode != APPROVE:
            return
        self._is_told = True
        structlog.get_logger().warning(
            "plans cannot be written down, so nobody can approve one, and nothing is moved",
            problem=self._book.doubt(),
        )

    # ------------------------------------------------------------------ what waits

    async def _leave_to_people(self, decided: Plan, moves: Sequence[Move]) -> None:
        if self.acts_by_itself:
            return
        now, settings = self._clock.now(), self._configuration.plans
        plans = self._book.all()
        refused = reschedule_plan.refused_uids(plans, settings.expire_after_seconds, now)
        moves = [each for each in moves if each.uid not in refused]
        standing = reschedule_plan.standing_proposal(filter(self._is_of_our_kind, plans))
        if standing is not None and self._stands(standing, moves, now):
            return
        if moves and any(map(self._says_so, filter(reschedule_plan.is_open, plans), repeat(moves))):
            return
        if not moves:
            if standing is not None:
                await self._book.stand(standing, reschedule_plan.not_needed())
            return
        body = self._body(decided, moves, now)
        made = await self._book.create(body)
        if made is None:
            return
        await self._book.stand(made, self.standing(made))
        structlog.get_logger().info(
            "plan proposed",
            plan=reschedule_plan.name_of(made),
            moves=reschedule_plan.size_of(made),
            waits_for=str(self._waits_for(made)[0]),
        )

    def _is_of_our_kind(self, plan: Object) -> bool:
        """Who only looks and who leads may have different settings, and plan otherwise: neither
        takes back what the other has proposed.
        """
        return reschedule_plan.is_dry(plan) == (self._configuration.mode == DRY_RUN)

    def _says_so(self, plan: Object, moves: Sequence[Move]) -> bool:
        kept = moves[: reschedule_plan.MOST_MOVES]
        return reschedule_plan.likeness(plan) == {(m.uid, m.source, m.target) for m in kept}

    def _stands(self, standing: Object, moves: Sequence[Move], now: datetime) -> bool:
        """It says the same already, or somebody may be reading it."""
        if self._says_so(standing, moves):
            return True
        made = reschedule_plan.created_at(standing)
        age = (now - made).total_seconds() if made is not None else 0.0
        return age < self._configuration.plans.review_seconds

    def standing(self, plan: Object) -> reschedule_plan.Standing:
        """How one stands that nothing of has begun."""
        is_open, is_dry = reschedule_plan.is_open(plan), reschedule_plan.is_dry(plan)
        # One of who leads takes the place of one that was only looked for, but not the other way.
        others = (each for each in self._book.all() if is_dry or not reschedule_plan.is_dry(each))
        return reschedule_plan.of_waiting(
            plan,
            now=self._clock.now(),
            expire_after_seconds=self._configuration.plans.expire_after_seconds,
            newest=reschedule_plan.standing_proposal(others),
            moves_pods=self._configuration.mode != DRY_RUN,
            waits_for=self._waits_for(plan) if is_open else None,
        )

    def is_for_us(self, plan: Object) -> bool:
        """To be kept, and for how long. Who only looks needs no lease: another one may lead, whose
        settings may be different.
        """
        return self._configuration.mode != DRY_RUN or reschedule_plan.is_dry(plan)

    def leaves_to_others(self, plan: Object, standing: reschedule_plan.Standing) -> bool:
        """By whose settings it expires, and who say what it waits for."""
        if self.is_for_us(plan):
            return False
        if standing.phase is Phase.EXPIRED:
            end = reschedule_plan.expiry_told(plan)
            return end is None or self._clock.now() < end
        return standing.phase is Phase.WAITING and reschedule_plan.is_open(plan)

    def _waits_for(self, plan: Object) -> tuple[Reason | str, str]:
        if reschedule_plan.is_dry(plan):
            return Reason.DRY_RUN, _DRY_RUN
        name = reschedule_plan.name_of(plan)
        if self._configuration.mode == AUTO:
            opens = windows.in_words(self._configuration.windows, self._clock.now())
            return Reason.OUTSIDE_WINDOW, f"{opens}; not to wait: rescheduler approve {name}"
        return Reason.NEEDS_APPROVAL, f"rescheduler approve {name}, or reject"

    # ------------------------------------------------------------------ what is begun

    async def _to_be_begun(self, decided: Plan, moves: Sequence[Move]) -> Sequence[Move]:
        now = self._clock.now()
        for number in range(_SAME_NAMES):
            body = self._body(decided, moves, now, number)
            name = reschedule_plan.name_of(body)
            self.to_be_begun.add(name)
            try:
                made = await self._book.create(body)
                if made is None:
                    return moves
                if reschedule_plan.is_over(made):
                    continue  # of one who died in this very second
                self.runs[reschedule_plan.uid_of(made)] = None
                running = reschedule_plan.of_running(made, {}, skipped={}, goes_on=True)
                await self._book.stand(made, running)
            finally:
                self.to_be_begun.discard(name)
            known = reschedule_plan.uids_of(made)
            return [replace(each, plan=name) if each.uid in known else each for each in moves]
        return moves

    def _body(self, decided: Plan, moves: Sequence[Move], now: datetime, number: int = 0) -> Object:
        settings = self._configuration
        gains = reschedule_plan.gains_of(decided, moves, settings.thresholds)
        made = Made(origin=Origin.PASS, mode=settings.mode, at=now, number=number)
        return reschedule_plan.build(self._book.namespace, moves, gains, made)
