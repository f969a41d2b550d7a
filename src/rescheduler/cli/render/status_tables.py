"""How the rescheduler stands, on one screen for people, or as a document for machines. Pure."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from rescheduler.cli.render.ages import age
from rescheduler.cli.render.layout import Page, counted
from rescheduler.cli.render.status_figures import Status, Tally
from rescheduler.cli.render.status_passes import LastPass
from rescheduler.model import podmigration

_WIDTH: Final = 12
_MOST: Final = 5
_UNKNOWN: Final = "not known"


def as_text(status: Status, page: Page, now: datetime) -> str:
    lines: list[str] = []
    for label, told in _told(status, page, now):
        lines += page.labelled(label, told, _WIDTH)
    return "\n".join(lines) + "\n"


def _told(status: Status, page: Page, now: datetime) -> Iterator[tuple[str, list[str]]]:
    yield "Leader", [_leader(status, now)]
    yield "Paused", [_paused(status)]
    yield "Cluster", [_cluster(status)] if status.nodes else []
    yield "Ended", [*_ended(status, now)]
    yield "Passes", [_pass(each, now) for each in status.passes]
    yield "Window", [f"closed: {status.window}"] if status.window else []
    yield "Plans", [*_plans(status)]
    yield "Under way", [*_under_way(status, page, now)]
    yield "Evictions", [*_evictions(status)]
    yield "Stuck", [*_stuck(status)]
    yield "Not seen", list(status.missing)
    yield "Next", [status.next_step]


def _leader(status: Status, now: datetime) -> str:
    leader = status.leader
    if not status.knows_lease:
        return _UNKNOWN
    if not status.elects:
        return f"{_UNKNOWN}: with leaderElect: false, whoever runs holds no lease"
    if leader is None:
        return "nobody"
    if not leader.is_alive:
        return f"nobody: {leader.holder} was last heard of {age(leader.renewed, now)} ago"
    return f"{leader.holder}, for {age(leader.since, now)}"


def _paused(status: Status) -> str:
    if not status.knows_lease:
        return _UNKNOWN
    return str(status.pause) if status.pause else "no"


def _cluster(status: Status) -> str:
    points = ", ".join(f"{name} {value:.1f}" for name, value in status.imbalance.items())
    uneven = f"; imbalance {points} points" if points else ""
    return f"{counted(status.nodes, 'node')}, {counted(status.pods, 'pod')}{uneven}"


def _ended(status: Status, now: datetime) -> Iterator[str]:
    total = status.total
    if not status.knows_records:
        yield _UNKNOWN
        return
    if total.last is None:
        yield "no migration yet, as far as records tell"
        return
    yield f"{_tally(total, now)}; records go back {age(status.kept_since, now)}"
    for name, each in status.strategies.items():
        if each.last is not None:
            yield f"- {name}: {_tally(each, now)}"


def _pass(each: LastPass, now: datetime) -> str:
    open_ = each.moves - each.ended
    going = f", {open_} not ended" if open_ else ""
    ended = f"{each.moved} of {each.moves} moved{going}"
    return f"{age(each.at, now)} ago: {ended}"


def _tally(tally: Tally, now: datetime) -> str:
    gave_way = f", {tally.gave_way} gave way" if tally.gave_way else ""
    last = f"the last {age(tally.last, now)} ago"
    success, fallback = tally.success_percent, tally.fallback_percent
    if success is None or fallback is None:
        return f"0 moved, 0 failed{gave_way}, {last}"
    return (
        f"{tally.moved} moved, {tally.failed} failed{gave_way} ({success:.0f} % success, "
        f"{fallback:.0f} % fell back, "
        f"{counted(tally.retries, 'retry').replace('retrys', 'retries')}), {last}"
    )


def _under_way(status: Status, page: Page, now: datetime) -> Iterator[str]:
    if not status.knows_records:
        yield _UNKNOWN
        return
    waiting = f", {status.waiting} waiting" if status.waiting else ""
    if status.targetless:
        waiting += f" (for {status.targetless} of them a target is being chosen)"
    yield f"{len(status.under_way)}{waiting}"
    for each in status.under_way[:_MOST]:
        told, metadata = podmigration.status_of(each), each["metadata"]
        words = podmigration.message_of(each)
        yield (
            f"- {metadata['namespace']}/{podmigration.pod_name(each)} "
            f"{podmigration.source_of(each)} {page.arrow} {podmigration.target_of(each)}: "
            f"{told.get('step') or 'Check'} for {age(_step_since(each), now)}"
            + (f" ({words})" if words else "")
        )
    if len(status.under_way) > _MOST:
        yield f"- and {len(status.under_way) - _MOST} more: rescheduler get migrations -A"


def _plans(status: Status) -> Iterator[str]:
    """Only where somebody has to know."""
    for name in status.plans_waiting[:_MOST]:
        yield f"{name} waits for approval: rescheduler approve {name}, or reject"
    for name in status.plans_running[:_MOST]:
        yield f"{name} is running"
    if (more := len(status.plans_waiting) - _MOST) > 0:
        yield f"and {more} more: rescheduler get plans"
    yield from status.predictions_failing


def _evictions(status: Status) -> Iterator[str]:
    """Only where there are any: few have the guard on."""
    if not status.evictions:
        return
    shown = [f"{user} ({count})" for user, count in [*status.evictions.items()][:_MOST]]
    more = len(status.evictions) - len(shown)
    others = f" and {more} more" if more else ""
    held = sum(status.evictions.values())
    yield f"{held} held while the pods are moved; by {', '.join(shown)}{others}"


def _step_since(record: dict[str, Any]) -> datetime | None:
    return podmigration.step_began_at(record) or podmigration.created_at(record)


def _stuck(status: Status) -> Iterator[str]:
    if not status.stuck:
        yield "nothing" if status.knows_records else _UNKNOWN
    for each in status.stuck[:_MOST]:
        yield f"{each.what}: {each.why}"
        yield f"  {each.todo}"
    if len(status.stuck) > _MOST:
        yield f"and {len(status.stuck) - _MOST} more: rescheduler status -o json"


def as_document(status: Status) -> dict[str, Any]:
    leader, pause = status.leader, status.pause
    return {
        "apiVersion": podmigration.API_VERSION,
        "kind": "Status",
        "isLed": status.is_led,
        "leader": leader
        and {
            "holder": leader.holder,
            "since": _text(leader.since),
            "renewed": _text(leader.renewed),
            "isAlive": leader.is_alive,
        },
        "paused": pause and {"since": _text(pause.since), "by": pause.by, "reason": pause.reason},
        "nodes": status.nodes,
        "pods": status.pods,
        "imbalance": {name: round(value, 3) for name, value in status.imbalance.items()},
        "ended": _document(status.total),
        "strategies": {name: _document(each) for name, each in status.strategies.items()},
        "recordsSince": _text(status.kept_since),
        "passes": [
            {"at": _text(each.at), "moves": each.moves, "moved": each.moved, "ended": each.ended}
            for each in status.passes
        ],
        "underWay": [
            {
                "namespace": each["metadata"]["namespace"],
                "name": each["metadata"]["name"],
                "pod": podmigration.pod_name(each),
                "step": podmigration.status_of(each).get("step"),
                "message": podmigration.message_of(each),
            }
            for each in status.under_way
        ],
        "waiting": status.waiting,
        "window": status.window or None,
        "plansWaiting": list(status.plans_waiting),
        "plansRunning": list(status.plans_running),
        "predictionsFailing": list(status.predictions_failing),
        "evictionsHeld": dict(status.evictions),
        "stuck": [{"what": s.what, "why": s.why, "todo": s.todo} for s in status.stuck],
        "notSeen": list(status.missing),
        "next": status.next_step,
    }


def _document(tally: Tally) -> dict[str, Any]:
    return {
        "moved": tally.moved,
        "failed": tally.failed,
        "gaveWay": tally.gave_way,
        "fallbacks": tally.fallbacks,
        "retries": tally.retries,
        "successPercent": tally.success_percent,
        "fallbackPercent": tally.fallback_percent,
        "last": _text(tally.last),
    }


def _text(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
