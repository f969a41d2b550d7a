"""One pass alone: looks, plans, carries it out, and says what came of it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import structlog

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller.events import Trail, recording
from rescheduler.controller.last_check import LastCheck
from rescheduler.controller.leader_session import LeaderSession
from rescheduler.controller.passes import Pass, Passes
from rescheduler.controller.pausing import Pausing
from rescheduler.controller.plans import Tidings, keeping
from rescheduler.controller.shutdown import GRACE_SECONDS, HEARING_SECONDS, to_an_end
from rescheduler.controller.whole_cluster import WholeCluster
from rescheduler.kube import KubeApi
from rescheduler.migrate import Figures, Migrator, Outcome, migrating
from rescheduler.migrate.queue.plan_run import PlanRun
from rescheduler.model.moves import Move, Plan
from rescheduler.model.pausing import Pause
from rescheduler.observe import Observer, observing


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def dry_run(
    kube: KubeApi, clock: Clock, configuration: Configuration, *, proposes: bool = False
) -> Report:
    """Says what it would do, and does nothing; where it `proposes`, the plan is written down."""
    async with _observing(kube, clock, configuration) as observer:
        purpose = WholeCluster(kube, configuration, observer)
        if not proposes:
            seen = await Passes(clock, observer, None, purpose).one()
            return _of_dry_run(seen.plan)
        async with keeping(kube, clock, configuration, observer, None) as proposing:
            seen = await Passes(clock, observer, None, purpose, proposing=proposing).one()
            await proposing.look()
            return _of_dry_run(seen.plan)


async def run(session: LeaderSession, clock: Clock, configuration: Configuration) -> Report:
    """Returns when everything that it has begun has ended."""
    kube, term = session.kube, session.leadership.term
    async with (
        recording(kube, clock) as recorder,
        _observing(kube, clock, configuration) as observer,
        migrating(
            kube,
            clock,
            configuration,
            holder=term.holder,
            fence=term.number,
            planner=LastCheck(observer, lambda: configuration),
            ended=(trail := Trail(recorder)).ended,
            is_paused=lambda: session.pausing.is_paused,
        ) as migrator,
    ):
        trail.see(observer.snapshot())
        await migrator.synced()
        await session.pausing.known()
        if (pause := session.pausing.pause) is not None:
            return await _end_what_has_begun(session, migrator, pause)
        # What an earlier process left in the middle goes on by itself. Whoever had to wait for
        # that begins nothing new: its picture of the cluster is from before.
        if migrator.unfinished > sum(1 for _ in migrator.targetless()):
            return await _end_what_is_unfinished(session, migrator)
        purpose = WholeCluster(kube, configuration, observer, trail)
        approved: list[PlanRun] = []
        async with keeping(
            kube,
            clock,
            configuration,
            observer,
            migrator,
            carry_out=approved.append,
            is_paused=lambda: session.pausing.is_paused,
            tidings=Tidings(tell=trail.tell),
        ) as proposing:
            # What somebody has approved comes first, and is all that is done then.
            await proposing.look()
            if approved:
                for each in approved:
                    await _carry_out(session, migrator, each)
                await proposing.look()
                return _of_approved(approved)
            passes = Passes(
                clock,
                observer,
                migrator,
                purpose,
                is_paused=lambda: session.pausing.is_paused,
                proposing=proposing,
            )
            seen = await passes.one()
            await _carry_out(session, migrator, seen.run)
            await proposing.look()
            return _of_pass(seen)


@asynccontextmanager
async def _observing(
    kube: KubeApi, clock: Clock, configuration: Configuration
) -> AsyncIterator[Observer]:
    # One pass has no history: one sample of usage has to do.
    usage = replace(configuration.usage, debounce=1)
    needed = plan.needs(configuration.enabled_strategies)
    async with observing(kube, clock, needed, usage) as observer:
        await observer.settled()
        await observer.measure()
        yield observer


async def _end_what_is_unfinished(session: LeaderSession, migrator: Migrator) -> Report:
    unfinished, may_write = migrator.unfinished, session.leadership.may_write
    await to_an_end(migrator.idle(), migrator, may_write=may_write, stop=_log_stop)
    return _of_unfinished(unfinished, migrator.figures)


async def _end_what_has_begun(session: LeaderSession, migrator: Migrator, pause: Pause) -> Report:
    may_write = session.leadership.may_write
    await to_an_end(migrator.idle(), migrator, may_write=may_write, stop=_log_stop)
    return _of_pause(pause, migrator)


async def _carry_out(session: LeaderSession, migrator: Migrator, run: PlanRun | None) -> None:
    if run is None:
        return

    def stop() -> None:
        run.stop()
        _log_stop()

    may_write = session.leadership.may_write
    doing = _unless_paused(run, migrator, session.pausing)
    await to_an_end(doing, migrator, may_write=may_write, stop=stop)


async def _unless_paused(run: PlanRun, migrator: Migrator, pausing: Pausing) -> None:
    """Paused in the middle, what has begun comes to its end, and the rest is left."""
    running = asyncio.ensure_future(run.run())
    paused = asyncio.ensure_future(pausing.paused())
    try:
        await asyncio.wait([running, paused], return_when=asyncio.FIRST_COMPLETED)
        if not running.done():
            run.stop()
            await migrator.idle()
            # Whoever waits for a move hears of its end in a moment.
            await asyncio.wait([running], timeout=HEARING_SECONDS)
        if running.done():
            running.result()
    finally:
        for task in (running, paused):
            task.cancel()
        await asyncio.gather(running, paused, return_exceptions=True)


def _log_stop() -> None:
    structlog.get_logger().info(
        "rescheduler stopping: no new moves", because="interrupted", grace_seconds=GRACE_SECONDS
    )


# ---------------------------------------------------------------------- what came of it


def _of_unfinished(count: int, figures: Figures) -> Report:
    counted = f"{count} unfinished {'migration' if count == 1 else 'migrations'}"
    ended = f"{figures.completed} moved, {figures.failed} not"
    left = count - figures.completed - figures.failed
    if left > 0:
        ended += f", {left} left to the next run (NotFinished)"
    reasons = ", ".join(f"{times} {reason}" for reason, times in sorted(figures.reasons.items()))
    return Report(
        moved=figures.completed,
        failed=figures.failed + max(left, 0),
        summary=f"went on with {counted}: {ended}{f' ({reasons})' if reasons else ''}",
    )


def _of_pause(pause: Pause, migrator: Migrator) -> Report:
    figures, left = migrator.figures, migrator.unfinished
    begun = f"of what had begun, {figures.completed} moved and {figures.failed} did not; "
    ended = begun if figures.completed + figures.failed else ""
    waiting = f"{left} wait for the end of the pause; " if left else ""
    return Report(
        moved=figures.completed,
        failed=figures.failed,
        summary=f"{pause}; {ended}{waiting}nothing new was begun: rescheduler resume ends it",
    )


def _of_dry_run(decided: Plan) -> Report:
    told = "; ".join(
        f"would move {each.full_name} from {each.source} to {each.target}: {each.reason}"
        for each in decided.moves
    )
    return Report(moved=0, failed=0, summary=told or f"nothing to move: {decided.summary}")


def _of_approved(runs: list[PlanRun]) -> Report:
    told = [_in_words(move, outcome) for run in runs for move, outcome in run.outcomes]
    told += [
        f"did not move {move.full_name}: {run.why_skipped[move.uid]}"
        for run in runs
        for move in run.skipped
    ]
    return Report(
        moved=sum(run.moved for run in runs),
        failed=sum(run.failed for run in runs),
        summary="; ".join(told) or "nothing moved: nothing was left of the plan that was approved",
    )


def _of_pass(seen: Pass) -> Report:
    run, denials = seen.run, seen.plan.denials
    denied = [f"{each.namespace}/{each.record}: {each.reason}: {each.message}" for each in denials]
    if run is None or not run.outcomes:
        told = [*denied, f"nothing moved: {seen.plan.summary}"]
        return Report(moved=0, failed=len(denied), summary="; ".join(told))
    told = [*denied, *(_in_words(move, outcome) for move, outcome in run.outcomes)]
    return Report(moved=run.moved, failed=run.failed + len(denied), summary="; ".join(told))


def _in_words(move: Move, outcome: Outcome) -> str:
    if outcome.moved:
        return f"moved {move.full_name} from {move.source} to {move.target}: {move.reason}"
    return f"did not move {move.full_name}: {outcome.reason}: {outcome.message}"
