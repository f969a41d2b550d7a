"""How the rescheduler stands, from what the cluster keeps: records, the Lease, nodes. Pure.

So a restart loses nothing, and it can be told without any rescheduler running.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from rescheduler.cli.render.status_passes import LastPass, last_passes
from rescheduler.model import podmigration, strategies
from rescheduler.model.pausing import Pause, annotations_of, pause_of
from rescheduler.model.podmigration import Phase, reasons

Record = dict[str, Any]

_LONG_SECONDS: Final = 600.0
"""Under way for longer than a copy may take to become Ready, and its original to end."""
_WAITING_SECONDS: Final = 60.0
_BY_HAND: Final = "by hand"


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
class Stuck:
    what: str
    why: str
    todo: str
    """The very command."""


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
    stuck: tuple[Stuck, ...] = ()
    missing: tuple[str, ...] = ()
    """What could not be seen, and the way out."""
    imbalance: Mapping[str, float] = field(default_factory=dict)
    """In points, by resource."""
    nodes: int = 0
    pods: int = 0
    knows_lease: bool = True
    knows_records: bool = True
    first: str = ""
    """What to do before anything else, if there is such a thing."""

    @property
    def next_step(self) -> str:
        if self.first:
            return self.first
        if self.stuck:
            return self.stuck[0].todo
        leads = not self.knows_lease or (self.leader is not None and self.leader.is_alive)
        return "rescheduler plan" if leads else _START


_START: Final = "rescheduler run --config rescheduler.yaml"


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


def of(  # noqa: PLR0913 - each of them may be missing
    records: Sequence[Record],
    lease: Record | None,
    now: datetime,
    *,
    maintenance: Mapping[str, str],
    missing: Iterable[str] = (),
    knows_lease: bool = True,
    pods: Collection[str] | None = None,
) -> Status:
    """`maintenance`: what stands on nodes about who is left there, by node. `pods`: the UIDs of
    those that there are; None: nobody knows.
    """
    leader, pause = leader_of(lease, now), pause_of(annotations_of(lease))
    unfinished = [each for each in records if podmigration.is_unfinished(each)]
    under_way = [each for each in unfinished if podmigration.phase_of(each) is Phase.IN_PROGRESS]
    waiting = [each for each in unfinished if podmigration.phase_of(each) is not Phase.IN_PROGRESS]
    leads = leader is not None and leader.is_alive
    stuck = [
        *_of_pause(pause),
        *(_of_waiting(waiting, now, leads=leads or not knows_lease) if pause is None else ()),
        *(_of_deserted(under_way) if knows_lease and not leads else ()),
        *_of_under_way(under_way, now),
        *_of_nodes(maintenance),
        *_of_failed(records, pods),
    ]
    by_strategy: dict[str, list[Record]] = {}
    for each in records:
        by_strategy.setdefault(_strategy(each), []).append(each)
    return Status(
        leader=leader,
        pause=pause,
        total=_tally(records),
        strategies={name: _tally(found) for name, found in sorted(by_strategy.items())},
        passes=last_passes(records),
        kept_since=min(filter(None, map(podmigration.created_at, records)), default=None),
        under_way=tuple(under_way),
        waiting=len(waiting),
        stuck=tuple(stuck),
        missing=tuple(missing),
        knows_lease=knows_lease,
    )


def _strategy(record: Record) -> str:
    # Whoever writes a record may name it as he likes: what we do not know somebody asked for.
    name = podmigration.strategy_of(record)
    return name if name in strategies.ALL else _BY_HAND


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


def _of_pause(pause: Pause | None) -> Iterable[Stuck]:
    if pause is not None:
        yield Stuck(what="everything new", why=str(pause), todo="rescheduler resume")


def _of_waiting(waiting: Sequence[Record], now: datetime, *, leads: bool) -> Iterable[Stuck]:
    old = [each for each in waiting if _seconds(each, now) > _WAITING_SECONDS]
    if old and not leads:
        what = f"{len(old)} that wait for their turn"
        yield Stuck(what=what, why="nobody leads, so nobody begins them", todo=_START)


def _of_deserted(under_way: Sequence[Record]) -> Iterable[Stuck]:
    if under_way:
        what = f"{len(under_way)} under way"
        yield Stuck(what=what, why="nobody leads, so nobody goes on with them", todo=_START)


def _of_under_way(under_way: Sequence[Record], now: datetime) -> Iterable[Stuck]:
    for each in under_way:
        if _seconds(each, now) > _LONG_SECONDS:
            yield Stuck(
                what=_full_name(each),
                why=podmigration.message_of(each) or "it takes long",
                todo=f"kubectl -n {each['metadata']['namespace']} delete pmig "
                f"{each['metadata']['name']}   # takes it back",
            )


def _of_nodes(maintenance: Mapping[str, str]) -> Iterable[Stuck]:
    for node, told in sorted(maintenance.items()):
        if " stay" in told:
            yield Stuck(what=f"node {node}", why=told, todo=f"rescheduler drain {node} --dry-run")


def _of_failed(records: Iterable[Record], pods: Collection[str] | None) -> Iterable[Stuck]:
    """What a person asked for, and nobody tried again since; who is gone needs nobody's help."""
    latest: dict[str, Record] = {}
    for each in sorted(records, key=podmigration.attempt_of):
        latest[podmigration.pod_uid(each)] = each
    for uid, each in latest.items():
        if pods is not None and uid not in pods:
            continue
        if podmigration.has_failed(each) and _strategy(each) == _BY_HAND:
            name, namespace = each["metadata"]["name"], each["metadata"]["namespace"]
            yield Stuck(
                what=_full_name(each),
                why=f"{podmigration.reason_of(each)}: {podmigration.message_of(each)}",
                todo=f"rescheduler retry {name} -n {namespace}",
            )


def _full_name(record: Record) -> str:
    return f"{record['metadata']['namespace']}/{podmigration.pod_name(record)}"


def _seconds(record: Record, now: datetime) -> float:
    told = podmigration.status_of(record).get("startTime")
    since = podmigration.time_of(told) or podmigration.created_at(record)
    return (now - since).total_seconds() if since else 0.0


def _time(text: str | None) -> datetime | None:
    try:
        return podmigration.time_of(text)
    except ValueError:
        return None
