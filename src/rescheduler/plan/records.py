"""What the records of migrations say: who is on its way, and whose moves failed.

As they are kept in the cluster: whoever plans next, after a crash or somewhere else, reads the
same. Where there are none, because nobody installed them or nobody may look, nobody waits.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final

from rescheduler.config import Configuration
from rescheduler.documents import durations
from rescheduler.model import controllers, podmigration
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.moves import Passing
from rescheduler.model.objects import Object, spec
from rescheduler.model.podmigration import (
    Reason,
    attempt_of,
    has_failed,
    message_of,
    owner_of,
    pod_uid,
    reason_of,
    reasons,
    retries,
)
from rescheduler.model.snapshot import Snapshot

SOURCE: Final = podmigration.PLURAL

_FORCED_REST_SECONDS: Final = 5.0
"""At most, when what stood in the way passes and somebody waits for the node: kubectl drain asks
for an eviction again after as long.
"""
_NO_COPY_SECONDS: Final = 600.0
"""For so long no surge is planned for a workload of which admission lets nobody make a right copy:
policies change by hand, not by themselves.
"""
_SIZED: Final = {"ReplicaSet": "replicasets", "StatefulSet": "statefulsets"}
"""Where those are found that say how many of their pods should be there, and how many are Ready."""


class Records:
    def __init__(self, snapshot: Snapshot, configuration: Configuration) -> None:
        self._snapshot = snapshot
        self._retry = configuration.migration.retry
        self._rest = configuration.stability.cooldown.workload_seconds
        self._forced = configuration.forced
        self._all = snapshot.objects.get(SOURCE, {})

    def __len__(self) -> int:
        """Most clusters have none at most times: then nobody has to be asked about."""
        return len(self._all)

    def why_it_waits(self, row: int) -> tuple[str, ...]:
        """Because of migrations of this very pod."""
        uid = self._snapshot.pods.uids[row]
        known = self.unfinished.get(uid)
        # Who moves by command chooses for it, too.
        if known and not (self._forced is not None and podmigration.waits_for_target(known)):
            return (Passing("it is being moved already"),)
        failed = self._failed.get(uid)
        return tuple(self._why_held_back(failed)) if failed else ()

    def why_its_workload_waits(self, row: int) -> tuple[str, ...]:
        number = int(self._snapshot.pods.owner[row])
        if number == NONE:
            return ()
        owner = self._snapshot.owners[number]
        if owner and owner.uid in self._unreplaced:
            return (self._unreplaced[owner.uid],)
        record = self._left_short.get(owner.uid) if owner else None
        words = f"its workload's last move left it short: look at pmig {record}"
        return (Passing(words),) if record else ()

    def why_no_copy(self, row: int) -> str:
        """What admission said to a copy of a pod of the same workload, not long ago."""
        number = int(self._snapshot.pods.owner[row])
        owner = self._snapshot.owners[number] if number != NONE else None
        return self._no_copies.get(owner.uid, "") if owner and self._all else ""

    def why_it_would_come_back(self, row: int) -> tuple[str, ...]:
        """Because its controller puts pods where they were, whatever a scheduler says."""
        number, node = int(self._snapshot.pods.owner[row]), int(self._snapshot.node_of_pod[row])
        owner = self._snapshot.owners[number] if NONE not in (number, node) else None
        if owner is None:
            return ()
        told = self._put_back.get((owner.uid, self._snapshot.nodes[node].name))
        return (told,) if told else ()

    @cached_property
    def unfinished(self) -> Mapping[str, Object]:
        """By the UID of the pod: neither completed nor failed."""
        return {
            pod_uid(record): record
            for record in self._all.values()
            if not podmigration.is_over(record)
        }

    def moving(self) -> Iterable[int]:
        """Rows of pods whose migration is not finished, but for those that are only ending."""
        if not self.unfinished:
            return
        known = self.unfinished
        uids = enumerate(self._snapshot.pods.uids)
        for row, uid in [each for each in uids if each[1] in known]:
            if not podmigration.is_taken_over(known[uid]):
                yield row

    # ------------------------------------------------------------------ failures

    @cached_property
    def _failed(self) -> Mapping[str, list[Object]]:
        """By the UID of the pod, in order of their attempts."""
        found: dict[str, list[Object]] = {}
        for _, record in sorted(self._all.items()):
            # Nothing was tried for want of a target, and there may be one now.
            is_tried = has_failed(record) and reason_of(record) != Reason.NO_TARGET
            if is_tried and not self._is_forgiven(record):
                found.setdefault(pod_uid(record), []).append(record)
        return {uid: sorted(records, key=attempt_of) for uid, records in found.items()}

    def _why_held_back(self, failed: list[Object]) -> Iterable[str]:
        last = failed[-1]
        name, why = last["metadata"]["name"], reason_of(last) or "of no known reason"
        forgiven = self._attempts_forgiven.get(pod_uid(last), 0)
        failures = retries.failures(failed, forgiven=forgiven)
        counted = failures.counted
        if counted >= self._retry.attempts:
            yield (
                f"{_moves(counted)} failed, the last as {why} (pmig {name}): it stays until "
                f"`rescheduler retry {name}`"
            )
            return
        first = self._retry.back_off_seconds
        # Who is controlled is made anew when it is evicted.
        is_passing = reasons.is_passing(why, other_way=bool(owner_of(last)))
        if self._forced is not None and is_passing:
            first = min(first, _FORCED_REST_SECONDS)
        rest = failures.rest_seconds(first)
        if any(self._is_within(each, rest) for each in failed):
            words = f"its move failed as {why} (pmig {name}): back-off of {_text(rest)}"
            yield Passing(words) if is_passing else words

    def _is_forgiven(self, record: Object) -> bool:
        uid = record["metadata"].get("uid")
        return self._forced is not None and uid in self._forced.forgiven

    @cached_property
    def _attempts_forgiven(self) -> Mapping[str, int]:
        """By the UID of the pod: the number of the last of them."""
        found: dict[str, int] = {}
        for record in filter(self._is_forgiven, self._all.values()):
            found[pod_uid(record)] = max(found.get(pod_uid(record), 0), attempt_of(record))
        return found

    @cached_property
    def _no_copies(self) -> Mapping[str, str]:
        """By the UID of the workload: why, with the name of the record."""
        found: dict[str, str] = {}
        for (_, name), record in sorted(self._all.items()):
            owner = owner_of(record).get("uid")
            is_so = has_failed(record) and reason_of(record) in reasons.NO_COPY
            if owner and is_so and self._is_within(record, _NO_COPY_SECONDS):
                found[owner] = f"{message_of(record) or reason_of(record)} (pmig {name})"
        return found

    @cached_property
    def _left_short(self) -> Mapping[str, str]:
        """By the UID of the workload, until it is whole again and has rested: the name of the
        record.
        """
        found: dict[str, str] = {}
        for (namespace, name), record in sorted(self._all.items()):
            owner = owner_of(record)
            was_left = has_failed(record) and reason_of(record) == reasons.LEFT_SHORT
            if (
                owner.get("uid")
                and was_left
                and not controllers.is_foreign(_kind(owner))
                and (self._still_rests(record) or self._is_short(namespace, owner))
            ):
                found[owner["uid"]] = name
        return found

    @cached_property
    def _unreplaced(self) -> Mapping[str, str]:
        """By the UID of a controller of which we know no more than its pods: who was evicted and
        not made anew, in words. However long ago, and whoever asks: the next one may be lost, too.
        """
        return {
            owner["uid"]: f"nobody has made {podmigration.pod_name(record)} of its {_kind(owner)} "
            f"anew, which was evicted: the others stay until somebody does, or `kubectl delete "
            f"pmig {record['metadata']['name']}`"
            for record, owner in self._of_foreign(reasons.LEFT_SHORT)
            if controllers.is_unreplaced(record, self._pods_of(owner["uid"]))
        }

    @cached_property
    def _put_back(self) -> Mapping[tuple[str, str], str]:
        """The same of who was made anew and is where he was; by UID of the controller, and node."""
        found: dict[tuple[str, str], str] = {}
        for record, owner in self._of_foreign(Reason.BACK_ON_SOURCE):
            made, name = podmigration.new_pod_of(record), record["metadata"]["name"]
            if made.get("uid") in self._pods_of(owner["uid"]):
                found[owner["uid"], made.get("node", "")] = (
                    f"its {_kind(owner)} has put {made.get('name')} back on {made.get('node')}: "
                    f"its pods there stay until `kubectl delete pmig {name}`"
                )
        return found

    def _of_foreign(self, reason: Reason) -> Iterable[tuple[Object, Object]]:
        """Migrations that failed for this reason, with their owner."""
        for _, record in sorted(self._all.items()):
            owner = owner_of(record)
            is_so = has_failed(record) and reason_of(record) == reason
            if is_so and owner.get("uid") and controllers.is_foreign(_kind(owner)):
                yield record, owner

    def _pods_of(self, uid: str) -> Mapping[str, str]:
        """Names by UID, of those that the controller counts."""
        pods, number = self._snapshot.pods, self._owner_numbers.get(uid)
        rows = [] if number is None else self._snapshot.rows_of_owner(number)
        return {
            pods.uids[row]: pods.names[row].rpartition("/")[2]
            for row in rows
            if not int(pods.flags[row]) & int(Flag.TERMINATING)
        }

    @cached_property
    def _owner_numbers(self) -> Mapping[str, int]:
        """By UID."""
        owners = enumerate(self._snapshot.owners)
        return {each.uid: number for number, each in owners if each is not None}

    def _still_rests(self, record: Object) -> bool:
        return not self._is_forgiven(record) and self._is_within(record, self._rest)

    def _is_short(self, namespace: str, owner: Object) -> bool:
        """As far as is known: of others one cannot see it."""
        source = _SIZED.get(owner.get("kind", ""), "")
        found = self._snapshot.find(source, namespace, owner.get("name", ""))
        if found is None or found["metadata"].get("uid") != owner["uid"]:
            return False
        ready: int = (found.get("status") or {}).get("readyReplicas") or 0
        wanted: int = spec(found).get("replicas", 1)
        return ready < wanted

    def _is_within(self, record: Object, seconds: float) -> bool:
        """It ended less than so long ago. Without a clock nobody rests."""
        try:
            ended = podmigration.ended_at(record) or podmigration.created_at(record)
        except (TypeError, ValueError):
            return False
        if ended is None or ended.tzinfo is None or not self._snapshot.taken_at:
            return False
        return self._snapshot.taken_at - ended.timestamp() < seconds


def _kind(owner: Object) -> str:
    return controllers.known_as(owner.get("kind", ""), owner.get("apiVersion", ""))


def _moves(times: int) -> str:
    return "its only move" if times == 1 else f"{times} moves of it"


def _text(seconds: float) -> str:
    return durations.format_nanoseconds(round(seconds) * durations.SECOND)
