"""Whoever may not see a namespace reads of none of its names in any answer, whatever the cluster.

Clusters, plans and reasons are those that planning is tested with: budgets, quotas, affinities of
pods to those of other namespaces, spreads, volumes, groups.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from rescheduler.config import Configuration
from rescheduler.controller.dashboard import questions
from rescheduler.model.published import Now, Role
from rescheduler.plan import Search
from rescheduler.plan.planning import plan as planned
from rescheduler.serve.dashboard.access import Viewer
from rescheduler.serve.dashboard.answers import Asked, overview, past, plan, pods
from rescheduler.serve.dashboard.book import Book
from rescheduler.serve.dashboard.rights import EVERYTHING, Rights
from rescheduler.serve.dashboard.view import Decided, View
from tests.unit.plan.support import random_workloads
from tests.unit.plan.support.cluster_objects import Object
from tests.unit.plan.support.made_changes import Hands
from tests.unit.plan.support.object_snapshots import snapshot_of

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
CLUSTERS = 12
SETTINGS: Sequence[Mapping[str, Any]] = (
    {"enabledStrategies": ["LoadBalancing", "ResourceOptimization"], "imbalanceThreshold": 5},
    {"excludedNamespaces": ["w0-red", "w0-blue", "w0-green"], "excludedPodSelector": "tier=x"},
    {"scope": {"namespaces": ["w0-red", "w0-blue"]}, "enabledStrategies": ["TopologySpread"]},
    {"pods": {"minReplicas": 4, "priorityThreshold": 100}},
)


def view_of(number: int) -> tuple[View, list[Object]]:
    objects = random_workloads.cluster(f"hidden {number}")
    configuration: Configuration = Hands((), SETTINGS[number % len(SETTINGS)]).configuration
    snapshot = snapshot_of(objects, taken_at=AT.timestamp())
    found = planned(snapshot, configuration, search=Search(steps=200))
    view = View(
        serial=1,
        at=AT,
        snapshot=snapshot,
        now=Now(role=Role.LEADING, is_synced=True),
        configuration=configuration,
        decided=Decided(plan=found, at=AT, seconds=0.1),
    )
    return view, objects


def answers(view: View, rights: Rights) -> Iterator[tuple[str, str]]:
    """Each with its name, as it is sent."""

    def asked(path: Mapping[str, str] | None = None, **query: str) -> Asked:
        return Asked(view, Viewer(rights=rights), questions(), path=path, query=query)

    def said(document: object) -> str:
        return msgspec.json.encode(document).decode()

    plain: Mapping[str, Callable[[Asked], Any]] = {
        "overview": overview.overview,
        "plan": plan.plan,
        "history": past.history,
        "settings": past.settings,
    }
    for name, find in plain.items():
        yield name, said(find(asked()))
    yield "refusals", said(pods.refusals(asked(limit="1000")))
    listed = pods.pods(asked(limit="1000"))
    yield "pods", said(listed)
    for node in view.snapshot.nodes:
        yield f"node {node.name}", said(pods.node(asked({"name": node.name})))
    for each in listed.items:
        found = pods.pod(asked({"namespace": each.namespace, "name": each.name}))
        yield f"pod {each.namespace}/{each.name}", said(found)
    book = Book(rights)
    book.update(view, asked().loads)
    yield "cluster", said(book.document())


def names_in(objects: Sequence[Object], namespace: Callable[[str], bool]) -> set[str]:
    found = set()
    for each in objects:
        where = each["metadata"].get("namespace", "")
        if where and namespace(where):
            found |= {where, str(each["metadata"]["name"])}
    return found


@pytest.mark.parametrize("number", range(CLUSTERS))
def test_no_name_of_a_hidden_namespace_is_in_any_answer(number: int) -> None:
    view, objects = view_of(number)
    spaces = sorted({str(each["metadata"].get("namespace", "")) for each in objects} - {""})
    assert len(spaces) > 1
    own = spaces[number % len(spaces)]
    ours = names_in(objects, lambda each: each == own)
    hidden = names_in(objects, lambda each: each != own) - ours
    hidden -= {str(each["metadata"]["name"]) for each in objects if each["kind"] == "Node"}
    pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, sorted(hidden)))})(?![\w-])")
    assert any(pattern.search(text) for _, text in answers(view, EVERYTHING))
    told = {}
    for name, text in answers(view, Rights(frozenset({own}))):
        if found := pattern.search(text):
            told[name] = text[max(0, found.start() - 120) : found.end() + 60]
    assert not told


@pytest.mark.parametrize("number", range(4))
def test_every_pod_is_explained_as_by_the_command(number: int) -> None:
    """Also those of which the command leaves something out, as there is nothing to say."""
    view, _ = view_of(number)
    names = view.snapshot.pods.names
    remedies = 0
    for row in view.snapshot.rows.tolist():
        namespace, name = names[row].split("/")
        path = {"namespace": namespace, "name": name}
        asked = Asked(view, Viewer(rights=EVERYTHING), questions(), path=path)
        found = msgspec.to_builtins(pods.pod(asked))
        told = questions().explain(view, row)
        for field in (
            "node",
            "stays",
            "staysWhenAsked",
            "refusals",
            "nodes",
            "way",
            "nothingHelps",
        ):
            assert found[field] == told[field], field
        assert [[{"amount": None, **each} for each in alike] for alike in told["remedies"]] == (
            found["remedies"]
        )
        remedies += len(told["remedies"])
    assert remedies
