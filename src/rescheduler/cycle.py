"""One pass of the flow, from cluster state to finished moves: the one file that knows all."""

from dataclasses import dataclass, replace
from typing import Final

import structlog

from rescheduler import migrate
from rescheduler.clock import Clock
from rescheduler.config import Configuration, Scope
from rescheduler.kube import KubeApi
from rescheduler.migrate import Intent, Outcome
from rescheduler.model import names
from rescheduler.model.cluster import Pod
from rescheduler.model.moves import Move, Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import observing
from rescheduler.plan import NEEDS, STRATEGIES, plan

_ALWAYS_NEEDED: Final = frozenset({"nodes", "pods"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def run_once(kube: KubeApi, clock: Clock, configuration: Configuration) -> Report:
    """Safe to call at any time and after any crash: what the cluster shows decides everything."""
    enabled = [name for name in configuration.enabled_strategies if name in STRATEGIES]
    for strategy in set(configuration.enabled_strategies) - set(enabled):
        _rests(strategy, "it is not there yet")
    needed = _ALWAYS_NEEDED.union(*(NEEDS[name] for name in enabled))
    # 1. Observe.
    #    One pass has no history: one sample of usage has to do.
    usage = replace(configuration.usage, debounce=1)
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
        # 3. Plan, with the strategies that can see what they need.
        able = tuple(name for name in enabled if not _is_blind(name, snapshot))
        if enabled and not able:
            return Report(moved=0, failed=0, summary="nothing moved: every strategy rests, blind")
        decided = plan(snapshot, replace(configuration, enabled_strategies=able))
        _explain(decided, snapshot)
        if not decided.moves:
            return Report(moved=0, failed=0, summary=f"nothing moved: {decided.summary}")
        # 4. Migrate.
        move = decided.moves[0]
        observer.assume(move)
        try:
            return await _migrate(kube, clock, configuration, move)
        finally:
            observer.forget(move)


def _is_blind(strategy: str, snapshot: Snapshot) -> bool:
    missing = [gap for gap in snapshot.gaps if gap.source in NEEDS[strategy] | _ALWAYS_NEEDED]
    for gap in missing:
        _rests(strategy, gap.reason)
    return bool(missing)


def _rests(strategy: str, because: str) -> None:
    structlog.get_logger().warning("strategy rests", strategy=strategy, because=because)


def _marked(snapshot: Snapshot, scope: Scope) -> tuple[Pod, ...]:
    marked = (
        row
        for row, annotations in snapshot.pods.annotations.items()
        if names.PREVIOUS_DELETION_COST in annotations
    )
    return tuple(pod for pod in snapshot.pods_of(marked) if scope.covers(pod.namespace))


async def _migrate(kube: KubeApi, clock: Clock, configuration: Configuration, move: Move) -> Report:
    intent = await migrate.intend(kube, move)
    outcome = (
        intent
        if isinstance(intent, Outcome)
        else await migrate.carry_out(kube, clock, intent, configuration.migration)
    )
    pod = f"{move.namespace}/{move.pod}"
    if outcome.moved:
        summary = f"moved {pod} from {move.source} to {move.target}: {move.reason}"
    else:
        summary = f"did not move {pod}: {outcome.reason}: {outcome.message}"
    return Report(moved=int(outcome.moved), failed=int(not outcome.moved), summary=summary)


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
    log.info(
        "planned",
        moves=len(decided.moves),
        summary=decided.summary,
        nodes=len(snapshot.nodes),
        pods=len(snapshot.rows),
        unreadable=len(snapshot.unreadable),
    )
    for refusal in decided.refusals:
        log.debug("stays", pod=f"{refusal.namespace}/{refusal.pod}", because=refusal.reason)
