"""Nodes, pods, and why they stay. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
import numpy as np

from rescheduler.model import podmigration, refusal_kinds
from rescheduler.model.columns import NONE
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.moves import Refusal
from rescheduler.serve.dashboard import columns
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.answers.overview import thresholds
from rescheduler.serve.dashboard.answers.plan import planned_move
from rescheduler.serve.dashboard.documents.pods import (
    NodeDocument,
    PodExplanation,
    PodList,
    PodRow,
    RefusalKindCount,
    Refusals,
    RefusedPod,
    Taint,
)
from rescheduler.serve.dashboard.paging import Page
from rescheduler.serve.dashboard.refusing import not_found

_RESOURCES = ("cpu", "memory")
_MOST_REASONS = 20
_LONGEST_QUESTION = 200


# ---------------------------------------------------------------------- one node


def node(asked: Asked) -> NodeDocument:
    """Raises Refused."""
    snapshot, loads, name = asked.view.snapshot, asked.loads, asked.named("name")
    number = snapshot.node_numbers.get(name)
    if number is None:
        raise not_found(f"node {name}")
    found, page = snapshot.nodes[number], Page.of(asked.given_all)
    rows = np.flatnonzero(snapshot.place_of_pod == number)
    rows = rows[snapshot.pods.pod_class[rows] != NONE].astype(np.int32)
    seen = rows[columns.seen(snapshot, asked.rights, rows)]
    names = snapshot.pods.names
    ordered = sorted(seen.tolist(), key=lambda row: names[row])
    load = columns.percents(loads)[number]
    decided = asked.view.decided
    planned = (
        next((each for each in decided.plan.nodes if each.node == name), None) if decided else None
    )
    return NodeDocument(
        name=name,
        zone=columns.zone_of(found),
        pool=columns.pool_of(found),
        labels=dict(found.labels),
        taints=[
            Taint(**{key: str(each.get(key) or "") for key in ("key", "value", "effect")})
            for each in found.taints
        ],
        ready=found.ready,
        unschedulable=found.unschedulable,
        maintenance=is_in_maintenance(found.labels),
        allocatable={key: int(each) for key, each in found.allocatable.items()},
        load={key: int(each) / 10 for key, each in zip(_RESOURCES, load, strict=True) if each >= 0},
        planned={key: round(each, 1) for key, each in planned.after.items()} if planned else {},
        thresholds=thresholds(asked.view),
        loads=loads.word,
        unknown=asked.words(loads.unknown.get(number, "")),
        pods=Rows(asked).of(page.cut(ordered)),
        continue_=page.next(len(ordered)),
        total=len(ordered),
        other_pods=len(rows) - len(seen),
        commands={
            "explain": f"rescheduler explain node {name}",
            "drain": f"rescheduler drain {name}",
        },
    )


class Rows:
    """Of pods, with what is known of each."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        view = asked.view
        plan = view.decided.plan if view.decided else None
        self._moves = {each.uid: each for each in plan.moves} if plan else {}
        self._refusals = {each.full_name: each for each in plan.refusals} if plan else {}
        self._migrations = {
            podmigration.pod_uid(each): str(each["metadata"]["name"])
            for each in view.records.values()
            if podmigration.is_unfinished(each)
        }

    def of(self, rows: Iterable[int]) -> list[PodRow]:
        numbers = np.fromiter(rows, np.int32)
        if not len(numbers):
            return []
        snapshot, loads = self._asked.view.snapshot, self._asked.loads
        places = snapshot.place_of_pod[numbers]
        cpu, memory = columns.shares(loads, numbers, places)
        states = columns.states(snapshot, numbers, places)
        return [
            self._row(row, (int(cpu[place]), int(memory[place])), int(states[place]))
            for place, row in enumerate(numbers.tolist())
        ]

    def _row(self, row: int, share: tuple[int, int], state: int) -> PodRow:
        asked, snapshot = self._asked, self._asked.view.snapshot
        pod = snapshot.pod(row)
        _, kind, name = columns.workload_of(snapshot, pod.namespace, pod.owner)
        place = int(snapshot.place_of_pod[row])
        refusal = self._refusals.get(pod.full_name)
        move = self._moves.get(pod.uid)
        usage = snapshot.usage
        is_measured = usage is not None and not usage.outage and bool(usage.pod_measured[row])
        return PodRow(
            namespace=pod.namespace,
            name=pod.name,
            uid=pod.uid,
            workload=f"{kind}/{name}" if name else "",
            node=snapshot.nodes[place].name if place != NONE else "",
            requests={key: int(each) for key, each in pod.requests.items()},
            usage={key: round(each, 1) for key, each in pod.usage.items()} if is_measured else {},
            share={key: each / 10 for key, each in zip(_RESOURCES, share, strict=True)},
            state=columns.STATES[state],
            refusals=asked.words.all(refusal.reasons) if refusal else [],
            move=planned_move(asked, move) if move else None,
            migration=self._migrations.get(pod.uid, ""),
        )


# ---------------------------------------------------------------------- search


def pods(asked: Asked) -> PodList:
    page, snapshot = Page.of(asked.given_all), asked.view.snapshot
    rows = snapshot.rows
    rows = rows[columns.seen(snapshot, asked.rights, rows)]
    names = snapshot.pods.names
    if namespace := asked.given("namespace"):
        rows = np.array(
            [row for row in rows.tolist() if names[row].startswith(f"{namespace}/")], np.int32
        )
    words = asked.given("q").lower()[:_LONGEST_QUESTION].split()
    found: Sequence[int] = rows.tolist()
    if words:
        workloads = columns.Workloads()
        numbers = workloads.of(snapshot, rows).tolist()
        kinds = workloads.kinds.all
        said = [f"{kinds[kind]}/{name}".lower() for _, kind, name in workloads.rows]
        found = [
            row
            for row, number in zip(found, numbers, strict=True)
            if all(word in names[row] or word in said[number] for word in words)
        ]
    ordered = sorted(found, key=lambda row: names[row])
    return PodList(
        items=Rows(asked).of(page.cut(ordered)),
        continue_=page.next(len(ordered)),
        total=len(ordered),
    )


def pod(asked: Asked) -> PodExplanation:
    """Takes a while. Raises Refused."""
    namespace, name = asked.named("namespace"), asked.named("name")
    full_name, snapshot = f"{namespace}/{name}", asked.view.snapshot
    row = row_of(asked, full_name)
    if row is None:
        raise not_found(f"pod {full_name}")
    said = asked.questions.explain(asked.view, row)
    found = msgspec.convert(
        {"command": f"rescheduler explain pod {full_name}", **_completed(said)}, PodExplanation
    )
    words = asked.words
    found.stays, found.stays_when_asked = words.all(found.stays), words.all(found.stays_when_asked)
    found.refusals, found.recreated = words.all(found.refusals), words(found.recreated)
    for each in found.nodes:
        each.reasons = words.all(each.reasons)
    if found.move is not None:
        found.move.reason = words(found.move.reason)
    found.strategies, found.nothing_helps = (
        words.within(found.strategies),
        words.within(found.nothing_helps),
    )
    found.remedies = [
        each
        for each in found.remedies
        if not any(words(text) != text for change in each for text in (change.words, change.of))
    ]
    for change in (change for each in found.remedies for change in each):
        # As the list of a setting would be then, which names others.
        change.details = words.within(change.details)
    assert snapshot is asked.view.snapshot  # noqa: S101 - one view, one answer
    return found


def row_of(asked: Asked, full_name: str) -> int | None:
    """None: it is not there, or not seen."""
    snapshot = asked.view.snapshot
    if not asked.rights.sees(full_name.partition("/")[0]):
        return None
    try:
        row = list(snapshot.pods.names).index(full_name)
    except ValueError:
        return None
    return row if snapshot.pods.pod_class[row] != NONE else None


def _completed(said: dict[str, Any]) -> dict[str, Any]:
    """What the command leaves out where there is nothing to say is said here as nothing."""
    move = said["move"]
    remedies = [[{"amount": None, **change} for change in each] for each in said["remedies"]]
    return {**said, "move": {"group": "", **move} if move else None, "remedies": remedies}


# ---------------------------------------------------------------------- why not


def refusals(asked: Asked) -> Refusals:
    page, decided = Page.of(asked.given_all), asked.view.decided
    all_of_them = decided.plan.refusals if decided else ()
    namespace, kind, reason = (asked.given(name) for name in ("namespace", "kind", "reason"))
    seen = [
        each
        for each in all_of_them
        if asked.rights.sees(each.namespace) and (not namespace or each.namespace == namespace)
    ]
    kinds = [refusal_kinds.kind_of(each).value for each in seen]
    found = [
        each
        for each, of_kind in zip(seen, kinds, strict=True)
        if (not kind or of_kind == kind) and (not reason or reason in asked.words.all(each.reasons))
    ]
    found.sort(key=lambda each: each.full_name)
    return Refusals(
        kinds=_kinds(asked, seen, kinds),
        items=[
            RefusedPod(
                namespace=each.namespace,
                name=each.pod,
                reasons=asked.words.all(each.reasons),
                passing=each.passing,
            )
            for each in page.cut(found)
        ],
        continue_=page.next(len(found)),
        total=len(found),
    )


def _kinds(asked: Asked, seen: Sequence[Refusal], kinds: Sequence[str]) -> list[RefusalKindCount]:
    reasons: dict[str, Counter[str]] = {}
    for each, kind in zip(seen, kinds, strict=True):
        # The first one is why it counts as of this kind.
        reasons.setdefault(kind, Counter()).update(map(asked.words, each.reasons[:1]))
    counts = Counter(kinds)
    return [
        RefusalKindCount(
            kind=kind,
            count=count,
            reasons=[reason for reason, _ in reasons[kind].most_common(_MOST_REASONS)],
        )
        for kind, count in sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    ]
