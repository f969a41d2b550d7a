"""One move that a person asks for: judged as planning judges, and left as a record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from rescheduler import plan
from rescheduler.clock import Clock
from rescheduler.config import Configuration, permits
from rescheduler.controller import pausing_by_hand
from rescheduler.controller.pausing import StillPaused
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.migrate.deciding import records
from rescheduler.model import podmigration
from rescheduler.model.moves import Move, Way
from rescheduler.model.pausing import annotations_of, pause_of
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files import take
from rescheduler.plan.explaining import Explanation, explain, row_of
from rescheduler.plan.loads import Loads
from rescheduler.wire import POD_MIGRATIONS


class Refused(ReschedulerError):
    """The message says every reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    full_name: str
    target: str
    """Empty: the best one."""
    known: Sequence[Mapping[str, Any]]
    """Records of its namespace."""


async def ask(
    kube: KubeApi, clock: Clock, configuration: Configuration, asked: Asked, *, waits: bool
) -> dict[str, Any]:
    """The record. Raises Refused, and StillPaused for one who would wait in vain."""
    lease = await pausing_by_hand.read(kube, configuration.leader_election)
    pause = pause_of(annotations_of(lease))
    if pause is not None and waits:
        raise StillPaused(pause)
    snapshot = (await take(kube, clock, configuration.usage)).snapshot
    move = _decided(snapshot, configuration, asked)
    of_pod = [each for each in asked.known if podmigration.pod_uid(each) == move.uid]
    attempts = [podmigration.attempt_of(each) for each in of_pod]
    body = records.build(
        move,
        configuration.migration,
        attempt=max(attempts, default=0) + 1,
        may_recreate=permits(configuration.pods.recreate, asked=True),
    )
    if unfinished := [each for each in of_pod if podmigration.is_unfinished(each)]:
        name = unfinished[-1]["metadata"]["name"]
        raise Refused(f"{move.full_name} is being moved already: see podmigration {name}")
    try:
        return await kube.create(POD_MIGRATIONS, move.namespace, body)
    except errors.AlreadyExists:
        # Ours, whose answer was lost, or of somebody who wants the same.
        return await kube.get(POD_MIGRATIONS, move.namespace, body["metadata"]["name"])
    except errors.Forbidden as problem:
        raise Refused(
            f"it cannot be asked for ({problem}); ask whoever administers the cluster for the "
            "right to, and check: kubectl auth can-i create podmigrations.rescheduler.io "
            f"-n {move.namespace}"
        ) from None


def _decided(snapshot: Snapshot, configuration: Configuration, asked: Asked) -> Move:
    row = row_of(snapshot, asked.full_name)
    if row is None:
        raise Refused(f"there is no pod {asked.full_name}, or it has ended")
    planned = replace(configuration, enabled_strategies=())
    explained = explain(snapshot, planned, row, plan.plan(snapshot, planned))
    pod = explained.pod
    if explained.stays_when_asked:
        raise Refused(f"{pod.full_name} stays: {'; '.join(explained.stays_when_asked)}")
    _log_verdicts(explained)
    if asked.target:
        _insist_on(explained, asked.target)
    namespace, name = pod.full_name.split("/", 1)
    return Move(
        namespace=namespace,
        pod=name,
        uid=pod.uid,
        source=pod.node,
        target=asked.target or _best(snapshot, explained),
        strategy=podmigration.MANUAL,
        reason="asked for by rescheduler migrate",
        way=explained.way if explained.way is Way.RECREATE else Way.SURGE,
        asked=True,
    )


def _log_verdicts(explained: Explanation) -> None:
    log = structlog.get_logger()
    fits = sum(not each.reasons for each in explained.verdicts)
    log.info("nodes judged", pod=explained.pod.full_name, fits=fits, of=len(explained.verdicts))
    for each in explained.verdicts:
        if each.reasons:
            log.debug("node does not take it", node=each.node, because="; ".join(each.reasons))


def _insist_on(explained: Explanation, target: str) -> None:
    if target == explained.pod.node:
        raise Refused(f"{explained.pod.full_name} is on {target} already")
    verdicts = {each.node: each.reasons for each in explained.verdicts}
    if target not in verdicts:
        raise Refused(f"there is no node {target}")
    if verdicts[target]:
        raise Refused(f"{target} does not take it: {'; '.join(verdicts[target])}")


def _best(snapshot: Snapshot, explained: Explanation) -> str:
    """The least loaded of those that take it."""
    loads = Loads(snapshot)
    highest = {
        node.name: max(points)
        for node, points in zip(snapshot.nodes, loads.percent.tolist(), strict=True)
    }
    fitting = [each.node for each in explained.verdicts if not each.reasons]
    if not fitting:
        raise Refused(
            f"no node takes {explained.pod.full_name}: see rescheduler explain pod "
            f"{explained.pod.full_name}"
        )
    return min(fitting, key=lambda name: (highest[name], name))


async def who_carries_it_out(kube: KubeApi, configuration: Configuration) -> list[str]:
    """What to tell where that is nobody at the moment."""
    election = configuration.leader_election
    lease = await pausing_by_hand.read(kube, election)
    pause = pause_of(annotations_of(lease))
    if pause is not None:
        return [f"{pause}; it begins after `rescheduler resume`"]
    spec = (lease or {}).get("spec") or {}
    if election.leader_elect and not spec.get("holderIdentity"):
        return ["nobody leads: it begins when a rescheduler runs (rescheduler run --config FILE)"]
    return []
