"""What is stuck, why, and the very command that helps: from records and nodes. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rescheduler.cli.render.ages import age
from rescheduler.cli.render.layout import counted
from rescheduler.config import Configuration
from rescheduler.documents.durations import SECOND, format_nanoseconds
from rescheduler.model import podmigration, strategies
from rescheduler.model.pausing import Pause
from rescheduler.model.podmigration import Reason, reasons, retries

Record = dict[str, Any]

DEPLOYMENT: Final = "rescheduler-scheduler"
"""As `manifests/rescheduler` has it."""
BY_HAND: Final = "by hand"
START: Final = "rescheduler run --config FILE"

_LONG_SECONDS: Final = 600.0
"""Under way for longer than a copy may take to become Ready, and its original to end."""
_SOON_SECONDS: Final = 60.0
"""Who waits for longer waits for somebody who leads."""
_WAITING_SECONDS: Final = 3600.0
"""Where somebody leads: turns come within minutes, unless something is in the way."""
_SAYS_NOTHING: Final = reasons.OF_ITS_WORKLOAD | {Reason.REFUSED}
"""Of these the circuit breaker takes no notice, or not always."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stuck:
    what: str
    why: str
    todo: str
    """The very command."""


def strategy_of(record: Record) -> str:
    # Whoever writes a record may name it as he likes: what we do not know somebody asked for.
    name = podmigration.strategy_of(record)
    return name if name in strategies.ALL else BY_HAND


def of_pause(pause: Pause | None) -> Iterable[Stuck]:
    if pause is not None:
        yield Stuck(what="everything new", why=str(pause), todo="rescheduler resume")


# ---------------------------------------------------------------------- with nobody to act


def of_nobody(records: Sequence[Record], now: datetime, start: str) -> Iterable[Stuck]:
    """What waits, and what is in the middle, until somebody leads."""
    waiting = [each for each in _waiting(records) if _seconds(each, now) > _SOON_SECONDS]
    if waiting:
        what = f"{len(waiting)} that wait for their turn"
        yield Stuck(what=what, why="nobody leads, so nobody begins them", todo=start)
    if under_way := _under_way(records):
        what = f"{len(under_way)} under way"
        yield Stuck(what=what, why="nobody leads, so nobody goes on with them", todo=start)


# ---------------------------------------------------------------------- although somebody acts


def of_waiting(
    records: Sequence[Record], now: datetime, configuration: Configuration, holder: str
) -> Iterable[Stuck]:
    """Those that wait for hours, a namespace at a time: they have their turns by namespace."""
    long: dict[str, list[Record]] = {}
    for each in _waiting(records):
        if _seconds(each, now) > _WAITING_SECONDS:
            long.setdefault(each["metadata"]["namespace"], []).append(each)
    for namespace, found in sorted(long.items()):
        first = max(found, key=lambda each: _seconds(each, now))
        why, todo = _why_it_waits(first, records, configuration, holder)
        yield Stuck(
            what=f"{counted(len(found), 'PodMigration')} in namespace {namespace}, waiting for "
            f"{age(podmigration.created_at(first), now)}",
            why=why,
            todo=todo,
        )


def _why_it_waits(
    record: Record, records: Sequence[Record], configuration: Configuration, holder: str
) -> tuple[str, str]:
    namespace, settings = record["metadata"]["namespace"], configuration.migration
    breaker, under_way = settings.circuit_breaker, _under_way(records)
    failed = _failed_in_a_row(records)
    if 0 < breaker.failures <= failed:
        pause = format_nanoseconds(round(breaker.pause_seconds) * SECOND)
        why = f"the last {failed} failed, so a single one is tried every {pause} (circuitBreaker)"
        return why, "rescheduler get migrations -A -o wide"
    if podmigration.waits_for_target(record):
        why = f"{holder or 'whoever runs'} has chosen no target for it, and its log says why"
        return why, _log_of(holder, record, configuration.leader_election.resource_namespace)
    if len(under_way) >= settings.workers:
        why = f"{len(under_way)} under way, and no more may be (migration.workers)"
        return why, "rescheduler get migrations -A -o wide"
    if beside := [each for each in under_way if each["metadata"]["namespace"] == namespace]:
        why = f"{len(beside)} under way there, for which they may wait"
        return why, f"rescheduler get migrations -n {namespace} -o wide"
    why = f"{holder or 'whoever runs'} has not begun them, and its log says why"
    return why, _log_of(holder, record, configuration.leader_election.resource_namespace)


def _log_of(holder: str, record: Record, namespace: str) -> str:
    metadata = record["metadata"]
    # A pod's name, as the Deployment makes it, and who in it.
    pod, _, rest = holder.partition("_")
    if pod.startswith(f"{DEPLOYMENT}-") and rest:
        return f"kubectl -n {namespace} logs {pod} | grep {metadata['name']}"
    return f"rescheduler get migrations {metadata['name']} -n {metadata['namespace']} -o wide"


def _failed_in_a_row(records: Iterable[Record]) -> int:
    """As the circuit breaker counts, the last ones."""
    ended = [(at, each) for each in records if (at := podmigration.ended_at(each)) is not None]
    failed = 0
    for _, each in sorted(ended, key=lambda pair: pair[0], reverse=True):
        if not podmigration.has_failed(each):
            break
        failed += podmigration.reason_of(each) not in _SAYS_NOTHING
    return failed


def of_under_way(records: Sequence[Record], now: datetime) -> Iterable[Stuck]:
    for each in _under_way(records):
        if _seconds(each, now) > _LONG_SECONDS:
            yield Stuck(
                what=_full_name(each),
                why=podmigration.message_of(each) or "it takes long",
                todo=f"kubectl -n {each['metadata']['namespace']} delete pmig "
                f"{each['metadata']['name']}   # takes it back",
            )


def of_nodes(maintenance: Mapping[str, str]) -> Iterable[Stuck]:
    for node, told in sorted(maintenance.items()):
        if " stay" in told:
            yield Stuck(what=f"node {node}", why=told, todo=f"rescheduler drain {node} --dry-run")


# ---------------------------------------------------------------------- failed, and left so


def of_failed(
    records: Iterable[Record], pods: Collection[str] | None, attempts: int
) -> Iterable[Stuck]:
    """What a person asked for and nobody has tried again, and what strategies have given up. Who is
    gone needs nobody's help.
    """
    by_pod: dict[str, list[Record]] = {}
    for each in sorted(records, key=podmigration.attempt_of):
        by_pod.setdefault(podmigration.pod_uid(each), []).append(each)
    for uid, found in by_pod.items():
        last = found[-1]
        is_there = pods is None or uid in pods
        if is_there and podmigration.has_failed(last) and (why := _why_left(found, attempts)):
            name, namespace = last["metadata"]["name"], last["metadata"]["namespace"]
            yield Stuck(
                what=_full_name(last), why=why, todo=f"rescheduler retry {name} -n {namespace}"
            )


def _why_left(records: Sequence[Record], attempts: int) -> str:
    """Of one pod; empty: it is tried again by itself."""
    last = records[-1]
    told = f"{podmigration.reason_of(last)}: {podmigration.message_of(last)}"
    if podmigration.evicted_by(last):
        return ""  # whoever evicts tries again, and need not wait for it
    if strategy_of(last) == BY_HAND:
        return told
    failed = [each for each in records if podmigration.has_failed(each)]
    # Older records may be gone by now: the last one knows how many there were.
    times = retries.counted(failed, max(len(failed), podmigration.attempt_of(last)))
    return f"failed {_times(times)}, and no strategy tries again: {told}" * (times >= attempts)


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


# ---------------------------------------------------------------------- records


def _under_way(records: Iterable[Record]) -> list[Record]:
    return [each for each in records if podmigration.is_in_progress(each)]


def _waiting(records: Iterable[Record]) -> list[Record]:
    return [
        each
        for each in records
        if podmigration.is_unfinished(each) and not podmigration.is_in_progress(each)
    ]


def _full_name(record: Record) -> str:
    return f"{record['metadata']['namespace']}/{podmigration.pod_name(record)}"


def _seconds(record: Record, now: datetime) -> float:
    told = podmigration.status_of(record).get("startTime")
    since = podmigration.time_of(told) or podmigration.created_at(record)
    return (now - since).total_seconds() if since else 0.0
