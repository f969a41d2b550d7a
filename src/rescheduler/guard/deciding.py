"""What is said to an eviction, rule by rule. Pure, but for what it remembers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rescheduler.guard import words
from rescheduler.guard.memory import Memory, Moment, Released
from rescheduler.guard.table import GuardTable, evicted
from rescheduler.guard.verdicts import Absent, Eviction, Hold, Pass, Verdict, Wanted, Why
from rescheduler.model import names, podmigration
from rescheduler.model.objects import Object, annotations
from rescheduler.model.podmigration import Phase, reasons

_ASK_AGAIN_SECONDS: Final = 3.0
"""So long it takes at most until a record that was asked for is in the table."""
_FIRST_REST_SECONDS: Final = 2.0
_LONGEST_REST_SECONDS: Final = 30.0
"""Before a move is asked for once more, for which the moment was wrong."""
_ENDING_SECONDS: Final = 30.0
"""After the end of its migration a pod is told to end, if it has not been before."""
_SUCCESSOR_SECONDS: Final = 60.0
"""After the end of its migration whoever evicts a pod tries once more: autoscalers every ten."""
_ADOPTED_SECONDS: Final = 10.0
"""So long after the end of its migration a copy is seen to have its controller, if it gets one."""
_SURE_SECONDS: Final = 2.0
"""After which a table shows what somebody did before he evicted."""
_HEARD_SECONDS: Final = 3.0
"""So long after its release a pod that is still well has not been evicted: a budget refused."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """An eviction of a pod that is there, and may be moved."""

    eviction: Eviction
    table: GuardTable
    row: int
    now: Moment
    records: Sequence[Object]
    patience: float

    @property
    def uid(self) -> str:
        return self.table.uid(self.row)


class Guard:
    """One in a process, asked by one thread."""

    def __init__(self, memory: Memory | None = None) -> None:
        self._memory = Memory() if memory is None else memory

    def not_asked(self, wanted: Wanted) -> None:
        """It could not be passed on: it is wanted again at the next eviction."""
        self._memory.not_asked(wanted.uid)

    def judge(self, eviction: Eviction, table: GuardTable | None, now: Moment) -> Verdict:
        if eviction.is_dry_run:
            return Pass(why=Why.DRY_RUN, words="it is a dry run")
        if table is None or table.is_stale(now.monotonic):
            return Pass(why=Why.NOT_SYNCED, words="the cluster is not known well enough")
        if eviction.user in table.rules.ourselves:
            return Pass(why=Why.OURSELVES, words="it is our own")
        # Admission comes before the look-up: pods are asked about that have long been gone.
        row = table.row(eviction.full_name)
        if row is None or table.is_terminating(row):
            return self._gone(eviction, now)
        if eviction.uid and eviction.uid != table.uid(row):
            return Pass(why=Why.GONE, words="another pod of that name is meant")
        if (moved := _whose_successor(eviction, table, row, now)) is not None:
            return self._moved(eviction, table, row, moved, now)
        return self._of_a_pod(eviction, table, row, now)

    def _gone(self, eviction: Eviction, now: Moment) -> Pass:
        held = self._memory.gone(eviction.full_name, "", now.monotonic)
        if held is None:
            return Pass(why=Why.GONE, words="it is gone, or about to be")
        seconds = None if held.is_released else now.monotonic - held.first
        return Pass(why=Why.AWAY, words="it was held, and is gone", held_seconds=seconds)

    def _moved(
        self, eviction: Eviction, table: GuardTable, row: int, record: Object, now: Moment
    ) -> Verdict:
        """Held once more: somebody may just have begun to empty its new node, and the table shows
        that only in a moment.
        """
        uid, patience = table.uid(row), table.patience_seconds(row)
        before = self._memory.gone(eviction.full_name, uid, now.monotonic)
        held = self._memory.hold(uid, eviction.full_name, patience, now.monotonic)
        if held is None:
            return self._passes(uid, Why.TOO_MANY, "too many evictions are held", now)
        if before is not None and not before.is_released:
            held.predecessor = before.first
        said = words.moved(record, table.node(row))
        if table.taken_at - held.first < _SURE_SECONDS:
            left = patience - (now.monotonic - held.first)
            return Hold(why=Why.ENDING, words=words.until(said, left), uid=uid, is_first=False)
        self._memory.forget(uid)
        since = held.predecessor
        seconds = now.monotonic - since if since is not None else None
        return Absent(why=Why.MOVED, words=said, held_seconds=seconds)

    def _of_a_pod(self, eviction: Eviction, table: GuardTable, row: int, now: Moment) -> Verdict:
        uid = table.uid(row)
        self._memory.gone(eviction.full_name, uid, now.monotonic)
        records, patience = table.records.get(uid, ()), table.patience_seconds(row)
        asked = _Asked(eviction, table, row, now, records, patience)
        if (moving := _whose_copy(asked)) is not None:
            return self._taking_over(asked, moving)
        if why_not := table.why_not_moved(row):
            return self._passes(uid, Why.NOT_MOVED, why_not, now)
        if who := table.who_opted_out(row):
            return self._passes(uid, Why.OPTED_OUT, f"{who} has opted out", now)
        if not table.is_ready(row):
            return self._passes(uid, Why.NOT_READY, "it is not Ready, so nobody misses it", now)
        return self._move_first(asked)

    def _taking_over(self, asked: _Asked, moving: Object) -> Verdict:
        """Its original ends as it is adopted: then it is moved in its turn."""
        left = asked.patience - self._held_for(asked)
        if left <= 0:
            return self._let_go(asked, Why.PATIENCE, "its patience is over")
        return self._holds(asked, Why.MOVING, words.taking_over(moving, left))

    # ------------------------------------------------------------------ moved first

    def _move_first(self, asked: _Asked) -> Verdict:
        uid, now = asked.uid, asked.now
        left = asked.patience - self._held_for(asked)
        if left <= 0:
            held = f"held for {words.duration(asked.patience)}"
            return self._let_go(asked, Why.PATIENCE, f"its patience is over: {held}")
        if why_failed := _why_failed(asked):
            return self._one_at_a_time(asked, why_failed, left)
        under_way = _under_way(asked.records)
        if asked.table.is_paused and not (under_way and podmigration.has_begun(under_way)):
            return self._passes(uid, Why.PAUSED, "nothing is moved, as somebody has paused us", now)
        if under_way is not None:
            return self._holds(asked, Why.MOVING, words.moving(under_way, left))
        if (moved := _just_moved(asked)) is not None:
            return self._holds(asked, Why.ENDING, words.ending(moved, left))
        if (failed := _failed_a_moment_ago(asked)) is not None:
            return self._holds(asked, Why.AGAIN, words.again(failed, left))
        return self._ask(asked, left)

    def _held_for(self, asked: _Asked) -> float:
        """Seconds: as this replica remembers, or as the records say to every one."""
        held = self._memory.of(asked.uid, asked.now.monotonic)
        ages = [asked.now.monotonic - held.first] if held else []
        ages += [asked.now.wall - since for since in _since(asked)]
        return max(ages, default=0.0)

    def _ask(self, asked: _Asked, left: float) -> Verdict:
        wanted = Wanted(
            namespace=asked.eviction.namespace,
            pod=asked.eviction.pod,
            uid=asked.uid,
            node=asked.table.node(asked.row),
            user=asked.eviction.user,
            attempt=_next_attempt(asked.records),
        )
        return self._holds(asked, Why.ASKED, words.asked(left), wanted)

    # ------------------------------------------------------------------ what could not be moved

    def _one_at_a_time(self, asked: _Asked, why_failed: str, left: float) -> Verdict:
        """It goes before its successor is there, and so no other of its workload does meanwhile."""
        if why := asked.table.why_not_whole(asked.row) or self._who_was_released(asked):
            return self._holds(asked, Why.TURN, words.turn(why, left))
        if before := _who_is_first(asked):
            return self._holds(asked, Why.TURN, words.turn(f"{before} goes first", left))
        return self._let_go(asked, Why.FAILED, why_failed)

    def _who_was_released(self, asked: _Asked) -> str:
        """A moment ago, so that the table need not show it yet."""
        table, owner, now = asked.table, _owner_uid(asked), asked.now.monotonic
        siblings = {table.uid(row): row for row in table.siblings(asked.row)}
        for uid, released in self._memory.released(owner, now):
            if uid == asked.uid:
                continue
            if uid in siblings:
                # Well, or we would not have come here.
                if table.taken_at < released.at + _HEARD_SECONDS:
                    return "another has just been let go"
            elif len(siblings) < released.siblings:
                return "the successor of another is not there yet"
            self._memory.is_back(owner, uid)
        return ""

    # ------------------------------------------------------------------ verdicts

    def _holds(
        self, asked: _Asked, why: Why, message: str, wanted: Wanted | None = None
    ) -> Verdict:
        uid, now = asked.uid, asked.now.monotonic
        is_first = self._memory.of(uid, now) is None
        held = self._memory.hold(uid, asked.eviction.full_name, asked.patience, now)
        if held is None:
            return self._passes(uid, Why.TOO_MANY, "too many evictions are held", asked.now)
        if wanted is not None and now - held.asked < _ASK_AGAIN_SECONDS:
            wanted = None
        if wanted is not None:
            held.asked = now
        return Hold(why=why, words=message, uid=uid, is_first=is_first, wanted=wanted)

    def _let_go(self, asked: _Asked, why: Why, said: str) -> Pass:
        now = asked.now.monotonic
        released = Released(now, len(asked.table.siblings(asked.row)), now + asked.patience)
        self._memory.release(_owner_uid(asked), asked.uid, released)
        held = self._memory.of(asked.uid, now)
        seconds = now - held.first if held and not held.is_released else None
        if held is not None:
            # It is not forgotten: should a budget refuse it, the next one is not held anew.
            held.is_released = True
        return Pass(why=why, words=said, uid=asked.uid, held_seconds=seconds)

    def _passes(self, uid: str, why: Why, said: str, now: Moment) -> Pass:
        held = self._memory.of(uid, now.monotonic)
        self._memory.forget(uid)
        seconds = now.monotonic - held.first if held and not held.is_released else None
        return Pass(why=why, words=said, uid=uid, held_seconds=seconds)


# ---------------------------------------------------------------------- what the records say


def _whose_successor(eviction: Eviction, table: GuardTable, row: int, now: Moment) -> Object | None:
    """The move of a pod of that name, which this user evicted, and whose successor this is. Who
    evicts by name alone, as kubectl does, and tries again would else evict that, wherever it is,
    and the next one, for ever. One whose node is being emptied is meant itself.
    """
    if eviction.uid or not table.takes_pods(row):
        return None
    node, uid = table.node(row), table.uid(row)
    for record in table.by_name.get(eviction.full_name, ()):
        is_its = podmigration.pod_uid(record) != uid and podmigration.source_of(record) != node
        is_by_him = annotations(record).get(names.EVICTED_BY) == eviction.user
        if is_its and is_by_him and _is_under_way_or_new(record, now):
            return record
    return None


def _is_under_way_or_new(record: Object, now: Moment, seconds: float = _SUCCESSOR_SECONDS) -> bool:
    if podmigration.has_failed(record):
        return False
    ended = podmigration.ended_at(record)
    return ended is None or now.wall - ended.timestamp() < seconds


def _whose_copy(asked: _Asked) -> Object | None:
    """The move whose copy it is, as long as no controller has adopted it, as far as is seen."""
    if asked.table.owner(asked.row) is not None:
        return None
    records = asked.table.records.get(asked.table.original_of(asked.row), ())
    last = records[-1] if records else None
    is_new = last is not None and _is_under_way_or_new(last, asked.now, _ADOPTED_SECONDS)
    return last if is_new else None


def _under_way(records: Sequence[Object]) -> Object | None:
    """Whoever asked for it."""
    found = [each for each in records if podmigration.is_unfinished(each)]
    return found[-1] if found else None


def _since(asked: _Asked) -> Iterator[float]:
    """When evictions began that are held: of those that were asked for by them."""
    for record in evicted(asked.records):
        is_about_this = podmigration.is_unfinished(record) or _is_fresh(record, asked)
        created = podmigration.created_at(record)
        if is_about_this and created is not None:
            yield created.timestamp()


def _is_fresh(record: Object, asked: _Asked) -> bool:
    """A failure counts until an eviction that began with it has passed for a while. Who evicts
    later asks anew.
    """
    ended = podmigration.ended_at(record)
    return ended is not None and asked.now.wall - ended.timestamp() < 2 * asked.patience


def _why_failed(asked: _Asked) -> str:
    """Why it cannot be moved first; empty: it may be."""
    if why := asked.table.not_asked.get(asked.uid):
        return f"no migration can be asked for: {why}"
    failed = _failed(asked.records, asked)
    return words.failed(failed) if failed is not None else ""


def _failed(records: Sequence[Object], asked: _Asked) -> Object | None:
    """Unless what stood in its way is likely gone in a moment: then it is tried again."""
    failed = _failures(records, asked)
    return failed[-1] if failed and not _is_passing(failed[-1]) else None


def _failed_a_moment_ago(asked: _Asked) -> Object | None:
    """What is tried again rests a little longer each time."""
    failed = _failures(asked.records, asked)
    ended = podmigration.ended_at(failed[-1]) if failed else None
    if ended is None:
        return None
    rest = min(_FIRST_REST_SECONDS * float(2 ** (len(failed) - 1)), _LONGEST_REST_SECONDS)
    return failed[-1] if asked.now.wall - ended.timestamp() < rest else None


def _failures(records: Sequence[Object], asked: _Asked) -> list[Object]:
    return [
        each
        for each in evicted(records)
        if podmigration.has_failed(each) and _is_fresh(each, asked)
    ]


def _is_passing(record: Object) -> bool:
    return reasons.is_passing(podmigration.reason_of(record), other_way=True)


def _just_moved(asked: _Asked) -> Object | None:
    """One that is there for longer was not removed: its ReplicaSet chose another one."""
    last = asked.records[-1] if asked.records else None
    if last is None or podmigration.phase_of(last) is not Phase.COMPLETED:
        return None
    ended = podmigration.ended_at(last)
    is_new = ended is not None and asked.now.wall - ended.timestamp() < _ENDING_SECONDS
    return last if is_new else None


def _who_is_first(asked: _Asked) -> str:
    """Of those of its workload that cannot be moved first, by the age of their records: so several
    replicas let the same one go.
    """
    table, mine = asked.table, _failed(asked.records, asked)
    if mine is None:
        return ""
    for row in table.siblings(asked.row):
        theirs = _failed(table.records.get(table.uid(row), ()), asked)
        if theirs is not None and _age_key(theirs) < _age_key(mine):
            return podmigration.pod_name(theirs)
    return ""


def _age_key(record: Object) -> tuple[str, str]:
    metadata = record["metadata"]
    return str(metadata.get("creationTimestamp") or ""), str(metadata["name"])


def _next_attempt(records: Sequence[Object]) -> int:
    return podmigration.attempt_of(records[-1]) + 1 if records else 1


def _owner_uid(asked: _Asked) -> str:
    owner = asked.table.owner(asked.row)
    return owner.uid if owner else ""
