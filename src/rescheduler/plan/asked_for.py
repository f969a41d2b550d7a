"""Targets for PodMigrations that name none: chosen before any strategy decides.

Each is moved by itself, as one that names its target is: cooldowns and maxReschedulePods do not
hold it, nor does its group go with it. Who gets no target is told why, and is not asked for again.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from rescheduler.config import Forced
from rescheduler.model import podmigration
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Denial, Passing, Report, Way
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason
from rescheduler.plan import emptying
from rescheduler.plan.desk import Desk
from rescheduler.plan.movable import Movable
from rescheduler.plan.nowhere import why_nowhere
from rescheduler.plan.records import SOURCE
from rescheduler.plan.relocating import after_the_move, best_of, gently
from rescheduler.plan.strategies.strategy import Strategy

NAME: Final = podmigration.MANUAL
_MOST: Final = 1_000
"""That are decided in one plan: somebody may have made any number, and the others are next."""


def is_needed(desk: Desk) -> bool:
    """Whoever empties a node by command plans its own pods only."""
    return desk.configuration.forced is None and any(_waiting(desk))


def decide(desk: Desk) -> Report:
    asking = _in_turn(_waiting(desk))
    rows = _rows_of(desk, asking)
    free: dict[int, Object] = {}
    for record in asking:
        if (row := rows.get(podmigration.pod_uid(record))) is None:
            _deny(desk, record, Reason.NOT_NOW, "the pod is gone", is_gone=True)
        elif row not in free and not _is_on_its_way(desk, row):
            source = podmigration.source_of(record)
            if not _is_on(desk, row, source):
                _deny(desk, record, Reason.NOT_NOW, f"it is not on {source}")
            elif why := _why_it_stays(desk, record, row):
                desk.refuse(row, why)
                is_passing = all(isinstance(each, Passing) for each in why)
                reason = Reason.NOT_NOW if is_passing else Reason.NOT_MOVABLE
                _deny(desk, record, reason, "; ".join(why))
            else:
                free[row] = record
    _place(desk, free)
    return _report(desk, len(asking))


# ---------------------------------------------------------------------- who asks


def _waiting(desk: Desk) -> Iterator[Object]:
    """Those of our namespaces, unless another record moves the same pod: they are next."""
    found = desk.snapshot.objects.get(SOURCE, {})
    taken: set[str] | None = None
    for (namespace, _), record in found.items():
        if not podmigration.waits_for_target(record):
            continue
        if taken is None:
            taken = {
                podmigration.pod_uid(each)
                for each in found.values()
                if podmigration.is_unfinished(each) and not podmigration.waits_for_target(each)
            }
        covers = desk.configuration.scope.covers(namespace)
        if covers and podmigration.pod_uid(record) not in taken:
            yield record


def _in_turn(waiting: Iterable[Object]) -> list[Object]:
    """The oldest of each namespace, then the second of each, and so on: whoever makes thousands
    holds up nobody else.
    """
    lines: dict[str, list[tuple[str, str, Object]]] = defaultdict(list)
    for record in waiting:
        metadata = record["metadata"]
        created = str(metadata.get("creationTimestamp") or "")
        lines[metadata["namespace"]].append((created, metadata["name"], record))
    places = [
        (nth, *place)
        for line in lines.values()
        for nth, place in enumerate(sorted(line, key=lambda each: each[:2]))
    ]
    return [each[-1] for each in sorted(places, key=lambda each: each[:3])[:_MOST]]


def _rows_of(desk: Desk, asking: Sequence[Object]) -> Mapping[str, int]:
    """By UID, of the pods that are there under the name that the record says."""
    pods = desk.snapshot.pods
    names = {
        podmigration.pod_uid(each): f"{each['metadata']['namespace']}/{podmigration.pod_name(each)}"
        for each in asking
    }
    return {
        uid: row
        for row in desk.snapshot.rows.tolist()
        if (uid := pods.uids[row]) in names and pods.names[row] == names[uid]
    }


def _is_on_its_way(desk: Desk, row: int) -> bool:
    """By a plan of an earlier pass, which has a target for it and waits for its turn."""
    return bool(desk.snapshot.pods.flags[row] & int(Flag.LEAVING))


# ---------------------------------------------------------------------- who may go


def _is_on(desk: Desk, row: int, node: str) -> bool:
    place = int(desk.placement.place[row])
    return place != NONE and desk.nodes[place].name == node


def _why_it_stays(desk: Desk, record: Object, row: int) -> list[str]:
    """Wherever to. As of one that is begun: what an earlier attempt came to does not hold it."""
    rules, source = desk.movable, podmigration.source_of(record)
    if podmigration.is_forced(record):
        forced = replace(desk.configuration, forced=Forced())
        rules = Movable(desk.snapshot, forced, desk.placement)
    why = list(rules.why_it_stays(row, asked=podmigration.is_asked(record), begun=True))
    if not desk.in_scope[desk.placement.place[row]]:
        why.append(f"its source {source} is not in scope.nodeSelector")
    if not why and desk.way(row) is Way.RECREATE and not _may_go_first(desk, record, row):
        because = desk.movable.why_recreated(row)
        why.append(f"its move would recreate it, and spec.mayRecreate is not true: {because}")
    return why


def _may_go_first(desk: Desk, record: Object, row: int) -> bool:
    """Nobody misses one that is not Ready, and whoever asked may have said that it may."""
    return podmigration.may_recreate(record) or not desk.movable.is_ready(row)


# ---------------------------------------------------------------------- where to


def _place(desk: Desk, free: Mapping[int, Object]) -> None:
    """As many as possible. Those of a group, which are not to take it along, one by one."""
    reason = partial(_words, desk, free)
    alone = [row for row in free if len(desk.unit(row)) == 1]
    start = desk.mark()
    emptying.place_most(desk, emptying.units(desk, alone), reason)
    moved = {move.row for move in desk.moves[start:]}
    for row, record in free.items():
        if row in moved:
            continue
        why = _settle(desk, row, free)
        if why:
            desk.refuse(row, [why])
        # Whoever is left when time is up is decided by the next plan.
        if why and not desk.ended:
            _deny(desk, record, Reason.NO_TARGET, why)


def _settle(desk: Desk, row: int, free: Mapping[int, Object]) -> str:
    """Why it stays; empty: it moves."""
    if not desk.take_step():
        return desk.ended
    targets = best_of(desk.targets(row), gently(desk)(row))
    if not targets:
        return why_nowhere(desk, row)
    desk.move(row, targets[0], _words(desk, free, row, targets[0]), asked=True)
    return ""


def _words(desk: Desk, free: Mapping[int, Object], row: int, target: int) -> str:
    why = podmigration.why_of(free[row]) or "a PodMigration asks for it"
    return f"{why}; {after_the_move(desk, row, target)}"


# ---------------------------------------------------------------------- telling


def _deny(desk: Desk, record: Object, reason: Reason, why: str, *, is_gone: bool = False) -> None:
    metadata = record["metadata"]
    desk.denials.append(
        Denial(
            namespace=metadata["namespace"],
            record=metadata["name"],
            record_uid=metadata.get("uid") or "",
            reason=reason,
            message=why,
            is_gone=is_gone,
        )
    )


def _report(desk: Desk, asking: int) -> Report:
    chosen, denied = len(desk.moves), len(desk.denials)
    asks = "PodMigration asks" if asking == 1 else "PodMigrations ask"
    summary = f"{asking} {asks} for a target: {chosen} get one, {denied} do not"
    summary += f"; {desk.ended}" if desk.ended else ""
    figures = {"asking": asking, "chosen": chosen, "denied": denied}
    return Report(strategy=NAME, acted=chosen > 0, summary=summary, figures=figures)


STRATEGY: Final = Strategy(name=NAME, decide=decide, is_asked=True)
