"""One pass of the flow, from cluster state to finished moves: the one file that knows all."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import structlog

from rescheduler import migrate, plan
from rescheduler.clock import Clock
from rescheduler.config import NEVER, Configuration, Scope
from rescheduler.kube import KubeApi
from rescheduler.migrate import Intent, Outcome
from rescheduler.model import names
from rescheduler.model.cluster import Pod
from rescheduler.model.moves import Move, Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import observing

_DECIDING_SECONDS: Final = 5.0
"""After which a search ends with the best that it has found: what it looks at grows old."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def run_once(kube: KubeApi, clock: Clock, configuration: Configuration) -> Report:
    """Safe to call at any time and after any crash: what the cluster shows decides everything."""
    # 1. Observe.
    #    One pass has no history: one sample of usage has to do.
    usage = replace(configuration.usage, debounce=1)
    needed = plan.needs(configuration.enabled_strategies)
    async with observing(kube, clock, needed, usage) as observer:
        await observer.settled()
        await observer.measure()
        snapshot = observer.with_usage(observer.snapshot())
        # 2. Finish or undo what an earlier process left in the middle. Whoever had to do that
        #    starts nothing new in the same pass: its picture of the cluster is from before.
        scope = configuration.scope
        unfinished = await migrate.find_unfinished(kube)
        if ours := [intent for intent in unfinished if scope.covers(intent.namespace)]:
            return await _resume(kube, clock, configuration, ours)
        await migrate.sweep_marks(kube, _marked(snapshot, scope), unfinished)
        # 3. Plan.
        end = clock.monotonic() + _DECIDING_SECONDS
        search = plan.Search(stop=lambda: clock.monotonic() >= end)
        decided = plan.plan(snapshot, _carried_out(configuration), search=search)
        _explain(decided, snapshot)
        # 4. Migrate, one after the other: each was judged as of when those before it are done.
        outcomes: list[tuple[Move, Outcome]] = []
        for move in decided.moves:
            if any(_may_rest_on(move, failed) for failed in _failed(outcomes)):
                continue
            observer.assume(move)
            try:
                outcomes.append((move, await _migrate(kube, clock, configuration, move)))
            finally:
                observer.forget(move)
    return _report(decided, outcomes)


def _failed(outcomes: Iterable[tuple[Move, Outcome]]) -> Iterable[Move]:
    return (move for move, outcome in outcomes if not outcome.moved)


def _may_rest_on(move: Move, failed: Move) -> bool:
    """It was judged as if the other had been done: it may want its room, or is of its group. The
    rest goes on, or one pod that cannot be moved would hold up all others in every pass.
    """
    return move.target == failed.source or (bool(move.group) and move.group == failed.group)


def _carried_out(configuration: Configuration) -> Configuration:
    """As far as moves are carried out today: pods of ReplicaSets, by surge. What is not moved must
    not be planned either, or moves would rest on it that are.
    """
    pods = replace(configuration.pods, interruptions=NEVER, bare_pods=False, jobs=False)
    return replace(configuration, pods=pods)


def _report(decided: Plan, outcomes: Sequence[tuple[Move, Outcome]]) -> Report:
    if not outcomes:
        return Report(moved=0, failed=0, summary=f"nothing moved: {decided.summary}")
    moved = sum(outcome.moved for _, outcome in outcomes)
    told = "; ".join(_told(move, outcome) for move, outcome in outcomes)
    return Report(moved=moved, failed=len(outcomes) - moved, summary=told)


def _told(move: Move, outcome: Outcome) -> str:
    if outcome.moved:
        return f"moved {move.full_name} from {move.source} to {move.target}: {move.reason}"
    return f"did not move {move.full_name}: {outcome.reason}: {outcome.message}"


def _marked(snapshot: Snapshot, scope: Scope) -> tuple[Pod, ...]:
    marked = (
        row
        for row, annotations in snapshot.pods.annotations.items()
        if names.PREVIOUS_DELETION_COST in annotations
    )
    return tuple(pod for pod in snapshot.pods_of(marked) if scope.covers(pod.namespace))


async def _migrate(
    kube: KubeApi, clock: Clock, configuration: Configuration, move: Move
) -> Outcome:
    intent = await migrate.intend(kube, move)
    if isinstance(intent, Outcome):
        return intent
    return await migrate.carry_out(kube, clock, intent, configuration.migration)


async def _resume(
    kube: KubeApi, clock: Clock, configuration: Configuration, unfinished: list[Intent]
) -> Report:
    outcomes = [
        await migrate.carry_out(kube, clock, intent, configuration.migration)
        for intent in unfinished
    ]
    moved = sum(outcome.moved for outcome in outcomes)
    ended = "; ".join(
        f"{intent.namespace}/{intent.pod}: {outcome.reason}: {outcome.message}"
        for intent, outcome in zip(unfinished, outcomes, strict=True)
    )
    summary = f"ended {len(outcomes)} unfinished migrations: {ended}"
    return Report(moved=moved, failed=len(outcomes) - moved, summary=summary)


def _explain(decided: Plan, snapshot: Snapshot) -> None:
    log = structlog.get_logger()
    for report in decided.reports:
        told = log.warning if report.blind else log.info
        words = "strategy acts" if report.acted else "strategy rests"
        told(words, strategy=report.strategy, because=report.summary)
    for note in decided.notes:
        log.warning("note", text=note)
    log.info(
        "planned",
        moves=len(decided.moves),
        summary=decided.summary,
        nodes=len(snapshot.nodes),
        pods=len(snapshot.rows),
        unreadable=len(snapshot.unreadable),
    )
    for refusal in decided.refusals:
        log.debug("stays", pod=refusal.full_name, because="; ".join(refusal.reasons))
