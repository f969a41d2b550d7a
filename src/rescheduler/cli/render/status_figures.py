"""How the rescheduler stands, from what the cluster keeps: records, the Lease, nodes. Pure.

So a restart loses nothing, and it can be told without any rescheduler running.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from rescheduler.cli.render import status_stuck
from rescheduler.cli.render.status_deployment import Installed, trouble_with
from rescheduler.cli.render.status_passes import LastPass, last_passes
from rescheduler.cli.render.status_stuck import START, Stuck, strategy_of
from rescheduler.config import Configuration
from rescheduler.model import podmigration, reschedule_plan, windows
from rescheduler.model.pausing import Pause, annotations_of, pause_of
from rescheduler.model.podmigration import reasons

Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    holder: str
    since: datetime | None
    renewed: datetime | None
    is_alive: bool
    """It renewed the lease in time, as far as our clock and its agree."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """Of what has ended, as far as records are kept."""

    moved: int = 0
    failed: int = 0
    gave_way: int = 0
    """Somebody had other plans with the pod: neither moved nor failed, as in the metrics."""
    fallbacks: int = 0
    """Moved, or tried to be, in another way than planned."""
    retries: int = 0
    """Further attempts."""
    last: datetime | None = None

    @property
    def success_percent(self) -> float | None:
        ended = self.moved + self.failed
        return 100 * self.moved / ended if ended else None

    @property
    def fallback_percent(self) -> float | None:
        ended = self.moved + self.failed
        return 100 * self.fallbacks / ended if ended else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What was read of the cluster."""

    records: Sequence[Record]
    lease: Record | None
    knows_lease: bool = True
    """Else there may be one."""
    installed: Installed | None = None
    """None: it is run otherwise, or nobody may look."""
    maintenance: Mapping[str, str] = field(default_factory=dict)
    """What stands on nodes about who is left there, by node."""
    pods: Collection[str] | None = None
    """The UIDs of those that there are; None: nobody knows."""
    missing: tuple[str, ...] = ()
    plans: Sequence[Record] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    leader: Leader | None
    pause: Pause | None
    total: Tally
    strategies: Mapping[str, Tally]
    passes: tuple[LastPass, ...]
    kept_since: datetime | None
    """The oldest record."""
    under_way: tuple[Record, ...] = ()
    waiting: int = 0
    targetless: int = 0
    """Of these, those for which a target is being chosen."""
    evictions: Mapping[str, int] = field(default_factory=dict)
    """Of pods that are being moved because of them, by who evicts; the most first."""
    stuck: tuple[Stuck, ...] = ()
    missing: tuple[str, ...] = ()
    """What could not be seen, and the way out."""
    imbalance: Mapping[str, float] = field(default_factory=dict)
    """In points, by resource."""
    nodes: int = 0
    pods: int = 0
    knows_lease: bool = True
    elects: bool = True
    """Else nobody holds the Lease, whoever runs."""
    knows_records: bool = True
    window: str = ""
    """When the next one opens; empty: one is open, or there is none."""
    plans_waiting: tuple[str, ...] = ()
    """Names of those that somebody has to say something to, the youngest first."""
    plans_running: tuple[str, ...] = ()
    predictions_failing: tuple[str, ...] = ()
    """Of which strategies, again and again, and why: a sentence each."""
    first: str = ""
    """What to do before anything else, if there is such a thing."""

    @property
    def is_led(self) -> bool | None:
        """None: nobody knows."""
        if not self.knows_lease or not self.elects:
            return None
        return self.leader is not None and self.leader.is_alive

    @property
    def next_step(self) -> str:
        if self.first:
            return self.first
        if self.stuck:
            return self.stuck[0].todo
        if self.plans_waiting and self.is_led is not False:
            return f"rescheduler get plans {self.plans_waiting[0]} -o yaml"
        return START if self.is_led is False else "rescheduler plan"


def leader_of(lease: Record | None, now: datetime) -> Leader | None:
    spec = (lease or {}).get("spec") or {}
    holder = spec.get("holderIdentity") or ""
    if not holder:
        return None
    renewed = _time(spec.get("renewTime"))
    patience = float(spec.get("leaseDurationSeconds") or 0)
    age = (now - renewed).total_seconds() if renewed else None
    return Leader(
        holder=holder,
        since=_time(spec.get("acquireTime")),
        renewed=renewed,
        is_alive=age is not None and age <= patience,
    )


def of(seen: Seen, configuration: Configuration, now: datetime) -> Status:
    records, election = seen.records, configuration.leader_election
    unfinished = [each for each in records if podmigration.is_unfinished(each)]
    under_way = [each for each in unfinished if podmigration.is_in_progress(each)]
    by_strategy: dict[str, list[Record]] = {}
    for each in records:
        by_strategy.setdefault(strategy_of(each), []).append(each)
    found = Status(
        leader=leader_of(seen.lease, now) if election.leader_elect else None,
        pause=pause_of(annotations_of(seen.lease)),
        total=_tally(records),
        strategies={name: _tally(found) for name, found in sorted(by_strategy.items())},
        passes=last_passes(records),
        kept_since=min(filter(None, map(podmigration.created_at, records)), default=None),
        under_way=tuple(under_way),
        waiting=len(unfinished) - len(under_way),
        evictions=dict(
            Counter(filter(None, map(podmigration.evicted_by, unfinished))).most_common()
        ),
        targetless=sum(map(podmigration.waits_for_target, unfinished)),
        missing=seen.missing,
        knows_lease=seen.knows_lease,
        elects=election.leader_elect,
        window=windows.in_words(configuration.windows, now),
        plans_waiting=tuple(map(reschedule_plan.name_of, filter(_needs_a_word, seen.plans[::-1]))),
        plans_running=tuple(map(reschedule_plan.name_of, filter(_is_running, seen.plans[::-1]))),
        predictions_failing=tuple(map(str, reschedule_plan.failing(seen.plans).values())),
    )
    return replace(found, stuck=tuple(_stuck(found, seen, configuration, now)))


def _needs_a_word(plan: Record) -> bool:
    return (
        reschedule_plan.is_open(plan)
        and reschedule_plan.reason_of(plan) == reschedule_plan.Reason.NEEDS_APPROVAL
    )


def _is_running(plan: Record) -> bool:
    return reschedule_plan.phase_of(plan) is reschedule_plan.Phase.RUNNING


def _stuck(
    found: Status, seen: Seen, configuration: Configuration, now: datetime
) -> Iterable[Stuck]:
    records = seen.records
    yield from status_stuck.of_pause(found.pause)
    trouble = _of_deployment(found, seen.installed, configuration)
    if trouble is not None:
        yield trouble
    if found.is_led is False:
        start = trouble.todo if trouble else START
        # Paused, they would wait all the same.
        those = records if found.pause is None else found.under_way
        yield from status_stuck.of_nobody(those, now, start)
    elif found.pause is None:
        holder = found.leader.holder if found.leader else ""
        yield from status_stuck.of_waiting(records, now, configuration, holder)
    yield from status_stuck.of_under_way(found.under_way, now)
    yield from status_stuck.of_nodes(seen.maintenance)
    yield from status_stuck.of_failed(records, seen.pods, configuration.migration.retry.attempts)


def _of_deployment(
    found: Status, installed: Installed | None, configuration: Configuration
) -> Stuck | None:
    election = configuration.leader_election
    if installed is None or found.is_led:
        return None
    lease = f"{election.resource_namespace}/{election.resource_name}"
    return trouble_with(installed, lease if found.is_led is False else "")


def _tally(records: Iterable[Record]) -> Tally:
    ended = [each for each in records if podmigration.is_over(each)]
    failed = [podmigration.reason_of(each) for each in ended if podmigration.has_failed(each)]
    gave_way = sum(reason in reasons.GAVE_WAY for reason in failed)
    return Tally(
        moved=len(ended) - len(failed),
        failed=len(failed) - gave_way,
        gave_way=gave_way,
        fallbacks=sum(bool(podmigration.fallback_of(each)) for each in ended),
        retries=sum(podmigration.attempt_of(each) > 1 for each in ended),
        last=max(filter(None, map(podmigration.ended_at, ended)), default=None),
    )


def _time(text: str | None) -> datetime | None:
    try:
        return podmigration.time_of(text)
    except ValueError:
        return None
