"""One pass of the flow, from cluster state to finished moves: the one file that knows all."""

from dataclasses import dataclass

import structlog

from rescheduler import migrate
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.kube import KubeApi
from rescheduler.migrate import Intent, Outcome
from rescheduler.model.cluster import Snapshot
from rescheduler.model.moves import Plan
from rescheduler.observe import observe
from rescheduler.plan import STRATEGIES, plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def run_once(kube: KubeApi, clock: Clock, configuration: Configuration) -> Report:
    """Safe to call at any time and after any crash: what the cluster shows decides everything."""
    log = structlog.get_logger()
    # 1. Observe.
    snapshot = await observe(kube, node_selector=str(configuration.scope.node_selector))
    # 2. Finish or undo what an earlier process left in the middle. Whoever had to do that starts
    #    nothing new in the same pass: its picture of the cluster is from before.
    scope = configuration.scope
    unfinished = await migrate.find_unfinished(kube)
    if ours := [intent for intent in unfinished if scope.covers(intent.namespace)]:
        return await _resume(kube, clock, configuration, ours)
    in_scope = [pod for pod in snapshot.pods if scope.covers(pod.namespace)]
    await migrate.sweep_marks(kube, in_scope, unfinished)
    # 3. Plan.
    for strategy in set(configuration.enabled_strategies) - set(STRATEGIES):
        log.info("strategy rests", strategy=strategy, because="it is not there yet")
    decided = plan(snapshot, configuration)
    _explain(decided, snapshot)
    if not decided.moves:
        return Report(moved=0, failed=0, summary=f"nothing moved: {decided.summary}")
    # 4. Migrate.
    move = decided.moves[0]
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
        pods=len(snapshot.pods),
    )
    for refusal in decided.refusals:
        log.debug("stays", pod=f"{refusal.namespace}/{refusal.pod}", because=refusal.reason)
