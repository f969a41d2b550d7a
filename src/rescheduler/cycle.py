"""One pass of the flow, from cluster state to finished moves: the one file that knows all."""

from dataclasses import dataclass

import structlog

from rescheduler import migrate
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.kube import KubeApi
from rescheduler.migrate import Intent, Outcome
from rescheduler.model.cluster import Pod, Snapshot
from rescheduler.model.moves import Plan
from rescheduler.observe import observe
from rescheduler.plan import plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    moved: int
    failed: int
    summary: str
    """What was done and why, in one sentence."""


async def run_once(kube: KubeApi, clock: Clock, configuration: Configuration) -> Report:
    """Safe to call at any time and after any crash: what the cluster shows decides everything."""
    # 1. Observe.
    snapshot = await observe(kube, node_selector=str(configuration.scope.node_selector))
    # 2. Finish or undo what an earlier process left in the middle. Whoever had to do that starts
    #    nothing new in the same pass: its picture of the cluster is from before.
    if unfinished := await _unfinished(kube, configuration, snapshot):
        return await _resume(kube, clock, configuration, unfinished)
    await migrate.sweep_marks(kube, _in_scope(snapshot, configuration))
    # 3. Plan.
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
        else await migrate.carry_out(kube, clock, intent, _settings(configuration))
    )
    pod = f"{move.namespace}/{move.pod}"
    if outcome.moved:
        summary = f"moved {pod} from {move.source} to {move.target}: {move.reason}"
    else:
        summary = f"did not move {pod}: {outcome.reason}: {outcome.message}"
    return Report(moved=int(outcome.moved), failed=int(not outcome.moved), summary=summary)


def _in_scope(snapshot: Snapshot, configuration: Configuration) -> list[Pod]:
    namespaces = configuration.scope.namespaces
    return [pod for pod in snapshot.pods if namespaces is None or pod.namespace in namespaces]


async def _unfinished(
    kube: KubeApi, configuration: Configuration, snapshot: Snapshot
) -> list[Intent]:
    return await migrate.find_unfinished(
        kube,
        namespaces=configuration.scope.namespaces,
        nodes=[node.name for node in snapshot.nodes],
    )


async def _resume(
    kube: KubeApi, clock: Clock, configuration: Configuration, unfinished: list[Intent]
) -> Report:
    outcomes = [
        await migrate.carry_out(kube, clock, intent, _settings(configuration))
        for intent in unfinished
    ]
    moved = sum(outcome.moved for outcome in outcomes)
    ended = "; ".join(
        f"{intent.namespace}/{intent.pod}: {outcome.reason}: {outcome.message}"
        for intent, outcome in zip(unfinished, outcomes, strict=True)
    )
    summary = f"ended {len(outcomes)} unfinished migrations: {ended}"
    return Report(moved=moved, failed=len(outcomes) - moved, summary=summary)


def _settings(configuration: Configuration) -> migrate.Settings:
    migration = configuration.migration
    return migrate.Settings(
        ready_timeout_seconds=migration.ready_timeout_seconds,
        settle_seconds=migration.settle_seconds,
        budget_timeout_seconds=migration.budget_timeout_seconds,
        eviction_grace_seconds=migration.eviction_grace_period_seconds,
    )


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
