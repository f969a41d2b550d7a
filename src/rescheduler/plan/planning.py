"""One plan: every enabled strategy at one desk, in order, and what came of it."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

import numpy as np

from rescheduler.config import Configuration
from rescheduler.model.columns import NONE, Numbers
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan, Refusal, Report, Way
from rescheduler.model.resources import CPU, MEMORY
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.model.strategies import NODE_MAINTENANCE
from rescheduler.plan import asked_for, fitting, movable
from rescheduler.plan.balancing.taking_part import taking_part
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.fitting import Memory
from rescheduler.plan.loads import RESOURCES, Figures, Mask
from rescheduler.plan.strategies import BY_NAME, IN_ORDER, Strategy
from rescheduler.plan.waves import waves

ALWAYS_NEEDED: Final = movable.NEEDS | fitting.NEEDS
"""What every strategy has to see: the rules of who may move, and where to."""
WELCOME: Final = movable.WELCOME
"""What makes plans better, and keeps nobody from planning when it is not to be had."""


def needs(strategies: Iterable[str]) -> frozenset[str]:
    """The resources that these have to see, or are glad to."""
    return musts(strategies) | WELCOME


def musts(strategies: Iterable[str]) -> frozenset[str]:
    """Those without which one of them rests."""
    return ALWAYS_NEEDED.union(*(BY_NAME[name].needs for name in strategies))


def plan(
    snapshot: Snapshot,
    configuration: Configuration,
    *,
    search: Search | None = None,
    memory: Memory | None = None,
) -> Plan:
    """Pure: the same snapshot, configuration, seed and number of steps give the same plan."""
    return plan_at(Desk(snapshot, configuration, search=search, memory=memory))


def plan_at(desk: Desk) -> Plan:
    before = desk.loads.percent
    eligible = taking_part(desk)
    pods_before = _pods_by_node(desk)
    desk.search.lap("")
    reports = [_decide(strategy, desk) for strategy in _who_decides(desk)]
    _note_what_was_not_seen(desk)
    _note_unasked_maintenance(desk)
    after = desk.loads.percent
    changed = {node for planned in desk.moves for node in (planned.source, planned.target)}
    return Plan(
        moves=tuple(_moves(desk)),
        refusals=tuple(_refusals(desk)),
        reports=tuple(reports),
        nodes=tuple(
            _loads(desk, (before, after), (pods_before, _pods_by_node(desk)), changed, eligible)
        ),
        imbalances=tuple(_imbalances(desk, before, after, eligible)),
        word=desk.loads.word,
        notes=tuple(desk.notes),
        emptying=tuple(desk.emptying),
        denials=tuple(desk.denials),
        steps=desk.steps,
        seed=desk.search.seed,
    )


def foretold(snapshot: Snapshot, configuration: Configuration, moves: Sequence[Move]) -> Plan:
    """What loads come to when moves are made that somebody else has decided."""
    desk = Desk(snapshot, configuration)
    before, eligible, pods_before = desk.loads.percent, taking_part(desk), _pods_by_node(desk)
    pods_after, rows, numbers = pods_before.copy(), _rows_by_uid(snapshot), snapshot.node_numbers
    changed: set[int] = set()
    for move in moves:
        row, source, target = (
            rows.get(move.uid, NONE),
            numbers.get(move.source, NONE),
            numbers.get(move.target, NONE),
        )
        if NONE in (row, source, target):
            continue
        desk.loads.move(row, source, target)
        pods_after[source] -= 1
        pods_after[target] += 1
        changed |= {source, target}
    after = desk.loads.percent
    return Plan(
        moves=tuple(moves),
        nodes=tuple(_loads(desk, (before, after), (pods_before, pods_after), changed, eligible)),
        imbalances=tuple(_imbalances(desk, before, after, eligible)),
        word=desk.loads.word,
    )


def _rows_by_uid(snapshot: Snapshot) -> dict[str, int]:
    return {snapshot.pods.uids[row]: row for row in snapshot.rows.tolist()}


# ------------------------------------------------------------------ deciding


def _who_decides(desk: Desk) -> Iterable[Strategy]:
    # Who asks by a record waits for an answer, whatever else is enabled.
    if asked_for.is_needed(desk):
        yield asked_for.STRATEGY
    for strategy in IN_ORDER:
        if strategy.name in desk.configuration.enabled_strategies:
            yield strategy


def _decide(strategy: Strategy, desk: Desk) -> Report:
    if why := _why_it_rests(strategy, desk):
        return Report(strategy=strategy.name, acted=False, blind=True, summary=why)
    desk.strategy, desk.is_asked = strategy.name, strategy.is_asked
    report = strategy.decide(desk)
    desk.search.lap(strategy.name)
    return report


def _why_it_rests(strategy: Strategy, desk: Desk) -> str:
    blind = _blind(desk.snapshot.gaps, strategy.needs | ALWAYS_NEEDED)
    if blind:
        return "; ".join(f"{gap.source} cannot be seen: {gap.reason}" for gap in blind)
    if strategy.by_load and desk.loads.outage:
        return f"usage is unknown: {desk.loads.outage}"
    return ""


def _blind(gaps: Iterable[Gap], needed: Collection[str]) -> list[Gap]:
    return [gap for gap in gaps if gap.source in needed and not gap.left_out]


# ------------------------------------------------------------------ telling


def _moves(desk: Desk) -> Iterable[Move]:
    pods = desk.snapshot.pods
    for planned, wave in zip(desk.moves, waves(desk), strict=True):
        namespace, name = pods.names[planned.row].split("/", 1)
        yield Move(
            namespace=namespace,
            pod=name,
            uid=pods.uids[planned.row],
            source=desk.nodes[planned.source].name,
            target=desk.nodes[planned.target].name,
            strategy=planned.strategy,
            reason=planned.reason,
            way=planned.way,
            asked=planned.asked,
            forced=desk.configuration.forced is not None,
            is_ready=desk.movable.is_ready(planned.row),
            group=planned.group,
            wave=wave,
            charged=planned.way is Way.SURGE and desk.movable.charged(planned.row) is not None,
        )


def _refusals(desk: Desk) -> Iterable[Refusal]:
    """Of pods that do not move after all, by name."""
    moved = {planned.row for planned in desk.moves}
    names = desk.snapshot.pods.names
    for row in sorted(desk.refused.keys() - moved, key=lambda row: names[row]):
        yield Refusal.of(names[row], desk.refused[row])


def _loads(
    desk: Desk,
    loads: tuple[Figures, Figures],
    pods: tuple[Numbers, Numbers],
    changed: Collection[int],
    eligible: Mask,
) -> Iterable[NodeLoad]:
    """`loads`, `pods`: before and after the plan."""
    columns = zip(
        desk.nodes,
        *(each.tolist() for each in loads),
        *(each.tolist() for each in pods),
        eligible.tolist(),
        strict=True,
    )
    for number, (node, then, now, pods_then, pods_now, counts) in enumerate(columns):
        known = _by_resource(then)
        yield NodeLoad(
            node=node.name,
            before=known,
            after=_by_resource(now) if number in changed else known,
            pods_before=pods_then,
            pods_after=pods_now,
            eligible=counts,
        )


def _by_resource(percents: list[float]) -> dict[str, float]:
    """Nothing where it is unknown, which is not equal to itself."""
    cpu, memory = percents
    return {CPU: cpu, MEMORY: memory} if cpu == cpu else {}  # noqa: PLR0124


def _pods_by_node(desk: Desk) -> Numbers:
    places = desk.placement.place[desk.snapshot.rows]
    return np.bincount(places[places != NONE], minlength=len(desk.nodes)).astype(np.int32)


def _imbalances(desk: Desk, before: Figures, after: Figures, eligible: Mask) -> Iterable[Imbalance]:
    numbers = np.flatnonzero(eligible)
    if not len(numbers):
        return
    # Who was emptied has nothing to be balanced any more.
    left = eligible & ~desk.closed
    for column, resource in enumerate(RESOURCES):
        then, now = before[numbers, column], after[left, column]
        yield Imbalance(
            resource=resource,
            before=float(then.max() - then.min()),
            after=float(now.max() - now.min()) if len(now) else 0.0,
            most=desk.nodes[numbers[then.argmax()]].name,
            least=desk.nodes[numbers[then.argmin()]].name,
        )


def _note_what_was_not_seen(desk: Desk) -> None:
    left_out = [
        gap.source
        for gap in desk.snapshot.gaps
        if gap.left_out and gap.source in musts(desk.configuration.enabled_strategies)
    ]
    if left_out:
        desk.note(f"not in the file, so taken as if there were none: {', '.join(left_out)}")


def _note_unasked_maintenance(desk: Desk) -> None:
    if NODE_MAINTENANCE in desk.configuration.enabled_strategies:
        return
    for node in desk.nodes:
        if is_in_maintenance(node.labels):
            desk.note(
                f"{node.name} is labelled for maintenance, and NodeMaintenance is not among "
                "enabledStrategies: nobody empties it"
            )
