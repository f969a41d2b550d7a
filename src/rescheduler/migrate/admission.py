"""Which of the migrations that wait may begin now. Pure."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass

from rescheduler.config import InFlight
from rescheduler.migrate.deciding import records
from rescheduler.migrate.deciding.stages import Method, Phase
from rescheduler.model.objects import Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Of a pod that is to move."""

    uid: str
    size: int
    is_restarted: bool
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
        used.update(key for key, _ in _keys(record, limits, workloads))
        begun[group_of(record)] += 1
    are_none_running = not used
    groups: dict[str, list[Object]] = {}
    for record in waiting:
        standing = records.standing_of(record)
        group = group_of(record)
        if standing.phase is Phase.IN_PROGRESS:
            are_none_running = False
            room -= 1
            begun[group] += 1
            used.update(key for key, _ in _keys(record, limits, workloads))
            yield record
        elif group:
            groups.setdefault(group, []).append(record)
        elif room > 0:
            keys = list(_keys(record, limits, workloads))
            if all(used[key] < limit for key, limit in keys):
                are_none_running = False
                room -= 1
                used.update(key for key, _ in keys)
                yield record
    for group, members in groups.items():
        is_whole = begun[group] + len(members) >= members[0]["spec"]["group"]["size"]
        # A group that stays incomplete is let in to end: nobody will ask for the rest any more.
        is_ripe = is_whole or group in overdue
        has_room = len(members) <= room or (are_none_running and room > 0)
        # Those that have begun, before a restart, wait for the rest.
        are_free = not any(used["pod", each["spec"]["pod"]["uid"]] for each in members)
        if are_free and (begun[group] or (is_ripe and has_room)):
            room -= len(members)
            are_none_running = False
            used.update(("pod", each["spec"]["pod"]["uid"]) for each in members)
            yield from members


def group_of(record: Object) -> str:
    """With its namespace; empty: it moves alone."""
    group = (record["spec"].get("group") or {}).get("id")
    return f"{record['metadata']['namespace']}/{group}" if group else ""


def _keys(
    record: Object, limits: InFlight, workloads: Mapping[str, Workload | None]
) -> Iterator[tuple[object, int]]:
    spec, namespace = record["spec"], record["metadata"]["namespace"]
    # Two that move the same pod would each keep a copy of it.
    yield ("pod", spec["pod"]["uid"]), 1
    if limits.per_node:
        for node in (spec.get("source"), spec["target"]):
            yield ("node", node), limits.per_node
    if limits.per_namespace:
        yield ("namespace", namespace), limits.per_namespace
    workload = workloads.get(spec["pod"]["uid"])
    if workload is not None:
        is_restarted = workload.is_restarted or spec.get("method") == Method.STEER
        together = 1 if is_restarted else limits.of_workload(workload.size)
        yield ("workload", workload.uid), together
