"""What is sent of a cluster, and what of its changes: whoever applies them has the whole."""

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from bench.big_state import BigState
from rescheduler.controller.dashboard import questions
from rescheduler.model.moves import NodeLoad
from rescheduler.model.resources import CPU, MEMORY
from rescheduler.serve.dashboard.access import Viewer
from rescheduler.serve.dashboard.answers import Asked, overview
from rescheduler.serve.dashboard.book import Book
from rescheduler.serve.dashboard.documents.cluster import Cluster, ClusterPatch
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights
from rescheduler.serve.dashboard.view import View
from tests.unit.serve.dashboard.shown import NODES, PODS, decided, view_of

QUESTIONS = questions()
SEEN = Rights(frozenset({"team-0", "team-1"}))


def update(book: Book, view: View) -> ClusterPatch | None:
    return book.update(view, QUESTIONS.loads(view.snapshot))


class Copy:
    """Of a cluster, as a page keeps it: by the words of the documents alone."""

    def __init__(self, whole: Cluster) -> None:
        said = msgspec.to_builtins(whole)
        self.version = said["version"]
        self.nodes: list[dict[str, Any]] = _rows(said["nodes"])
        self.names = {key: list(said[key]) for key in ("zones", "pools", "namespaces", "kinds")}
        self.workloads = _rows(said["workloads"])
        self.moves = said["moves"]
        self.pods: Counter[tuple[int, ...]] = Counter()
        rows, place = _rows({**said["pods"], "perNode": []}, "workload"), 0
        for node, count in enumerate(said["pods"]["perNode"]):
            for row in rows[place : place + count]:
                self.pods[(node, *_figures(row))] += 1
            place += count
        for row in rows[place:]:
            self.pods[(-1, *_figures(row))] += 1

    def apply(self, patch: ClusterPatch) -> None:
        said = msgspec.to_builtins(patch)
        assert said["since"] == self.version
        self.version = said["version"]
        for key, names in self.names.items():
            names.extend(said[key])
        if said["nodes"]:
            for row in _rows(said["nodes"]):
                number = row.pop("number")
                self.nodes[number : number + 1] = [row]
        if said["workloads"]:
            self.workloads += _rows(said["workloads"])
        for key, sign in (("removed", -1), ("added", 1)):
            for row in _rows(said[key] or {"node": []}, "node"):
                self.pods[(row["node"], *_figures(row))] += sign
        assert min(self.pods.values()) >= 0, "a pod was taken away that was not there"
        if said["moves"] is not None:
            self.moves = said["moves"]

    def readable(self) -> dict[str, Any]:
        """By names, as numbers may differ."""
        names, there = self.names, [each for each in self.nodes if not each["flags"] & 16]
        workloads = [
            (names["namespaces"][each["namespace"]], names["kinds"][each["kind"]], each["name"])
            for each in self.workloads
        ]
        pods = Counter(
            {
                (self.nodes[node]["name"] if node >= 0 else "", workloads[workload], *rest): count
                for (node, workload, *rest), count in self.pods.items()
                if count
            }
        )
        nodes = {
            each["name"]: {
                **each,
                "zone": names["zones"][each["zone"]],
                "pool": names["pools"][each["pool"]],
            }
            for each in there
        }
        return {"nodes": nodes, "pods": pods}


def _rows(columns: dict[str, list[Any]], by: str = "name") -> list[dict[str, Any]]:
    return [
        {key: values[place] for key, values in columns.items() if values}
        for place in range(len(columns[by]))
    ]


def _figures(row: dict[str, Any]) -> tuple[int, ...]:
    return row["workload"], row["cpu"], row["memory"], row["state"]


@pytest.mark.parametrize("rights", [EVERYTHING, SEEN], ids=["all", "some namespaces"])
@pytest.mark.parametrize("seed", range(3))
def test_whoever_applies_what_changes_has_the_whole(rights: Rights, seed: int) -> None:
    big, book = BigState(NODES, PODS), Book(rights)
    luck = random.Random(seed)  # noqa: S311 - repeatable
    assert update(book, view_of(big)) is not None
    copy = Copy(book.document())
    for serial in range(2, 12):
        big.some_events(luck.randrange(100), luck.randrange(1, 30))
        if serial == 6:
            view = view_of(big, serial)
            view = replace(view, decided=decided(view))
        else:
            view = view_of(big, serial)
        if (patch := update(book, view)) is not None:
            copy.apply(patch)
        fresh = Copy(book.document())
        assert copy.readable() == fresh.readable()
        assert copy.moves == fresh.moves
    anew = Book(rights)
    update(anew, view_of(big))
    assert Copy(anew.document()).readable()["pods"] == copy.readable()["pods"]


def test_nothing_is_sent_where_nothing_changed() -> None:
    big, book = BigState(NODES, PODS), Book(EVERYTHING)
    update(book, view_of(big))
    before = book.version
    assert update(book, view_of(big, 2)) is None
    assert book.version == before


def test_whoever_comes_first_takes_the_whole_and_goes_on_from_there() -> None:
    """Nobody is told what has changed since there was nothing: it is numbered all the same."""
    big, book = BigState(NODES, PODS), Book(EVERYTHING)
    view = view_of(big)
    assert book.update(view, QUESTIONS.loads(view.snapshot), is_told=False) is None
    copy = Copy(book.document())
    big.some_events(1, 20)
    patch = update(book, view_of(big, 2))
    assert patch is not None
    copy.apply(patch)
    assert copy.readable() == Copy(book.document()).readable()
    # Nor is anybody who has what was there before taken for one who has what is there now.
    big.some_events(2, 20)
    before, view = book.version, view_of(big, 3)
    assert book.update(view, QUESTIONS.loads(view.snapshot), is_told=False) is None
    assert book.version != before


def test_loads_that_only_tremble_are_not_sent() -> None:
    big, book = BigState(NODES, PODS), Book(EVERYTHING)
    view = view_of(big)
    loads = QUESTIONS.loads(view.snapshot)
    book.update(view, loads)
    assert book.update(replace(view, serial=2), replace(loads, used=loads.used * 1.001)) is None
    patch = book.update(replace(view, serial=3), replace(loads, used=loads.used * 1.5))
    assert patch is not None
    assert patch.nodes is not None
    assert patch.added is None


def test_only_what_moves_are_to_change_will_be_another() -> None:
    """What a plan was made of trembles, too: where nothing moves, nothing is foretold."""
    big, book = BigState(NODES, PODS), Book(EVERYTHING)
    view = view_of(big)
    told = decided(view)
    nodes = tuple(
        NodeLoad(
            node=each.name,
            before={},
            after={CPU: 99.0, MEMORY: 98.0},
            pods_before=0,
            pods_after=0,
            eligible=True,
        )
        for each in view.snapshot.nodes
    )
    view = replace(view, decided=replace(told, plan=replace(told.plan, nodes=nodes)))
    update(book, view)
    ends = {each for move in told.plan.moves for each in (move.source, move.target)}
    assert 0 < len(ends) < NODES
    found = book.document().nodes
    for name, cpu, memory, *planned in zip(
        found.name,
        found.cpu_load,
        found.memory_load,
        found.cpu_planned,
        found.memory_planned,
        strict=True,
    ):
        assert planned == ([990, 980] if name in ends else [cpu, memory]), name
    stats = overview.overview(Asked(view, Viewer(rights=EVERYTHING), QUESTIONS))
    assert stats.overloaded.planned == NODES
    # When all of it is done it is as it is now, until another plan is made.
    record = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "PodMigration"}
    records = {
        (move.namespace, move.uid): {
            **record,
            "metadata": {"namespace": move.namespace, "name": move.uid},
            "spec": {"pod": {"name": move.pod, "uid": move.uid}},
            "status": {"phase": "Completed"},
        }
        for move in told.plan.moves
    }
    view = replace(view, serial=2, records=records)
    update(book, view)
    found = book.document().nodes
    assert found.cpu_planned == found.cpu_load
    stats = overview.overview(Asked(view, Viewer(rights=EVERYTHING), QUESTIONS))
    assert stats.overloaded.planned is None
    assert {each.planned for each in stats.imbalance.values()} == {None}


def test_little_by_little_a_load_is_sent_all_the_same() -> None:
    """What trembles is held against what was sent, not against what was there a moment ago."""
    big, book = BigState(NODES, PODS), Book(EVERYTHING)
    view = view_of(big)
    loads = QUESTIONS.loads(view.snapshot)
    book.update(view, loads)
    patches = [
        book.update(
            replace(view, serial=2 + step), replace(loads, used=loads.used * (1 + step / 1000))
        )
        for step in range(200)
    ]
    assert any(patches)
    sent = book.document().nodes.cpu_load
    truth = [round(each) for each in 1000 * 1.199 * loads.used[:, 0] / loads.capacity[:, 0]]
    assert max(abs(ours - each) for ours, each in zip(sent, truth, strict=True)) <= 5


def test_of_hidden_namespaces_only_totals_are_there() -> None:
    big, book = BigState(NODES, PODS), Book(SEEN)
    view = view_of(big)
    view = replace(view, decided=decided(view))
    update(book, view)
    document = book.document()
    text = msgspec.json.encode(document).decode()
    for team in range(2, 12):
        assert f"team-{team}" not in text
        assert f"app-{team:04}" not in text
    assert set(document.namespaces) <= {"team-0", "team-1", "kube-system"}
    whole = Book(EVERYTHING)
    update(whole, view)
    assert document.nodes.cpu_load == whole.document().nodes.cpu_load
    per_node = zip(document.pods.per_node, document.nodes.other_pods, strict=True)
    assert [ours + others for ours, others in per_node] == whole.document().pods.per_node


def test_a_node_that_is_gone_keeps_its_number_and_says_so() -> None:
    small, book = BigState(NODES, PODS), Book(EVERYTHING)
    update(book, view_of(BigState(NODES + 1, PODS)))
    patch = update(book, view_of(small, 2))
    assert patch is not None
    document = book.document()
    assert len(document.nodes.name) == NODES + 1
    gone = [
        name
        for name, flags in zip(document.nodes.name, document.nodes.flags, strict=True)
        if flags & 16
    ]
    assert gone == [f"node-{NODES:04}"]
    assert document.pods.per_node[document.nodes.name.index(gone[0])] == 0
