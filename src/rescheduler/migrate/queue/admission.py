"""Which of the migrations that wait may begin now, and how many may run at once. Pure: the time is
handed in.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from rescheduler.config import CircuitBreaker, InFlight
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.surge import rehearsing
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase, Reason, reasons

_NO_LIMIT: Final = 2**31
_BETWEEN_CUTS_SECONDS: Final = 5.0
"""Trouble comes to all that run at once, and is one trouble."""


# ---------------------------------------------------------------------- which


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Of a pod that is to move."""

    uid: str
    is_recreated: bool
    """Its pods end before their successors begin: one at a time."""


def admitted(
    waiting: Iterable[Object],
    running: Iterable[Object],
    *,
    room: int,
    limits: InFlight,
    workloads: Mapping[str, Workload | None],
    overdue: Container[str] = (),
) -> Iterator[Object]:
    """Those that may begin beside what is running, in order; `workloads` by UID of the pod,
    `overdue` are groups of which no further members are waited for.

    What has begun already, before a restart, goes on in any case. A group begins as a whole, and is
    held by the room alone: its members wait for each other, so half of it would wait for ever.
    """
    used: Counter[object] = Counter()
    begun: Counter[str] = Counter()
    """Members of groups that are on their way."""
    for record in running:
        used.update(_taken(_claims(record, limits, workloads)))
        begun[podmigration.group_of(record)] += 1
    are_none_running = not used
    groups: dict[str, list[Object]] = {}
    for record in waiting:
        group = podmigration.group_of(record)
        if podmigration.phase_of(record) is Phase.IN_PROGRESS:
            are_none_running = False
            room -= 1
            begun[group] += 1
            used.update(_taken(_claims(record, limits, workloads)))
            yield record
        elif group:
            groups.setdefault(group, []).append(record)
        elif room > 0:
            claims = list(_claims(record, limits, workloads))
            if all(used[claim.on] < claim.limit for claim in claims):
                are_none_running = False
                room -= 1
                used.update(_taken(claims))
                yield record
    for group, members in groups.items():
        is_whole = begun[group] + len(members) >= podmigration.group_size(members[0])
        # A group that stays incomplete is let in to end: nobody will ask for the rest any more.
        is_ripe = is_whole or group in overdue
        has_room = len(members) <= room or (are_none_running and room > 0)
        # Those that have begun, before a restart, wait for the rest.
        are_free = not any(used["pod", podmigration.pod_uid(each)] for each in members)
        if are_free and (begun[group] or (is_ripe and has_room)):
            room -= len(members)
            are_none_running = False
            used.update(("pod", podmigration.pod_uid(each)) for each in members)
            yield from members


class _Claim(NamedTuple):
    on: object
    limit: int
    """It is only made while fewer others are."""
    counts: bool = True
    """Others count it in turn."""


def _taken(claims: Iterable[_Claim]) -> Iterator[object]:
    return (claim.on for claim in claims if claim.counts)


def _claims(
    record: Object, limits: InFlight, workloads: Mapping[str, Workload | None]
) -> Iterator[_Claim]:
    uid, namespace = podmigration.pod_uid(record), record["metadata"]["namespace"]
    status = records.read_status(record)
    # Two that move the same pod would each keep a copy of it.
    yield _Claim(("pod", uid), 1)
    if status.is_ending:
        return
    if limits.per_node and status.is_starting:
        limit = _NO_LIMIT if podmigration.is_asked(record) else limits.per_node
        yield _Claim(("start", podmigration.target_of(record)), limit)
    if limits.per_namespace:
        yield _Claim(("namespace", namespace), limits.per_namespace)
    workload = workloads.get(uid)
    if workload is not None:
        is_recreated = workload.is_recreated or podmigration.is_recreated(record)
        together = 1 if is_recreated else limits.per_workload or _NO_LIMIT
        yield _Claim(("workload", workload.uid), together)
        # While one of its pods is missing, no other takes any risk.
        yield _Claim(("missing", workload.uid), 1, counts=is_recreated)


# ---------------------------------------------------------------------- how many

# Fewer while the API server is in trouble, none for a while when one after the other fails.


@dataclass(slots=True)
class Concurrency:
    """Halved on trouble, one more with each migration that ended well: as TCP finds its speed."""

    most: int
    _allowed: float = 0.0
    _cut_at: float = float("-inf")

    def __post_init__(self) -> None:
        self._allowed = float(self.most)

    @property
    def allowed(self) -> int:
        return max(1, int(self._allowed))

    def trouble(self, now: float) -> None:
        if now - self._cut_at >= _BETWEEN_CUTS_SECONDS:
            self._cut_at = now
            self._allowed = max(1.0, self._allowed / 2)

    def success(self) -> None:
        self._allowed = min(float(self.most), self._allowed + 1)


@dataclass(slots=True)
class Breaker:
    settings: CircuitBreaker
    failures: int = 0
    """In a row."""
    _open_until: float = float("-inf")

    def learn(self, outcome: Outcome, now: float) -> bool:
        """Whether it opens by this one."""
        if outcome.moved:
            self.failures = 0
        if outcome.moved or _says_nothing_of_others(outcome):
            return False
        was_paused = self.pause_left(now) > 0
        self.failures += 1
        if self._is_tripped:
            self._open_until = now + self.settings.pause_seconds
        return self._is_tripped and not was_paused

    @property
    def _is_tripped(self) -> bool:
        return 0 < self.settings.failures <= self.failures

    def pause_left(self, now: float) -> float:
        """Seconds for which none may begin."""
        return max(0.0, self._open_until - now) if self._is_tripped else 0.0

    @property
    def is_on_trial(self) -> bool:
        """After the pause a single one is tried."""
        return self._is_tripped


def _says_nothing_of_others(outcome: Outcome) -> bool:
    """What is about this pod or its namespace alone, and would be the same tomorrow."""
    if outcome.reason is Reason.REFUSED:
        return rehearsing.is_of_policy(outcome.message)
    return outcome.reason in reasons.OF_ITS_WORKLOAD
