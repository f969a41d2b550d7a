"""Plan files: read as they were written, or refused with every problem by its field."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.cli.render import documents
from rescheduler.controller.plans import files
from rescheduler.documents import strict_yaml
from rescheduler.errors import ConfigurationError
from rescheduler.model import plan_documents, reschedule_plan
from rescheduler.model.moves import Move, NodeLoad, Plan, Refusal, Way
from rescheduler.model.reschedule_plan import Gains, Made, Origin

Document = dict[str, Any]
LOADS = {"cpu": 12.345, "memory": 67.89}
NEEDED = {"allOrNothing": False}
DEFINITION = Path(__file__).parents[4] / "manifests" / "rescheduler" / "plan-crd.yaml"
EXAMPLE = Path(__file__).parents[2] / "cli" / "plan.yaml"
DEFINITION = Path(__file__).parents[4] / "src/rescheduler/plan-crd.yaml"
TAKEN_AT = "2026-11-18T09:30:00Z"


def move(number: int = 1) -> Move:
    return Move(
        namespace="shop",
        pod=f"web-{number}",
        uid=f"uid-{number}",
        source="a",
        target="b",
        strategy="LoadBalancing",
        reason="why",
        way=Way.RECREATE,
        wave=number,
    )


def of_command(*moves: Move) -> Document:
    document = plan_documents.of_plan(Plan(moves=moves or (move(1), move(2))))
    return plan_documents.with_origin(document, TAKEN_AT, "cluster-1")


def of_object() -> Document:
    at = datetime.fromisoformat(TAKEN_AT)
    made = Made(origin=Origin.PASS, mode="Auto", at=at)
    body = reschedule_plan.build("kube-system", [move(1), move(2)], Gains(summary="why"), made)
    return {**body, "status": {"phase": "Completed"}}


def read(document: object) -> files.PlanFile:
    return files.read(json.dumps(document), "plan.yaml")


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_what_the_command_prints_is_read(form: str) -> None:
    found = files.read(documents.as_text(of_command(), form), "plan")
    assert [(each.full_name, each.source, each.target) for each in found.moves] == [
        ("shop/web-1", "a", "b"),
        ("shop/web-2", "a", "b"),
    ]
    assert [(each.way, each.wave, each.asked) for each in found.moves] == [
        (Way.RECREATE, 1, True),
        (Way.RECREATE, 2, True),
    ]
    assert (found.taken_at, found.cluster) == (
        datetime(2026, 11, 18, 9, 30, tzinfo=UTC),
        "cluster-1",
    )


def test_a_plan_object_is_read() -> None:
    found = read(of_object())
    assert [each.uid for each in found.moves] == ["uid-1", "uid-2"]
    assert found.place_of(1, "to") == "spec.moves[1].to"


def test_each_field_that_a_plan_may_have_may_stand_in_a_file() -> None:
    definition = yaml.safe_load(DEFINITION.read_text())
    [version] = definition["spec"]["versions"]
    fields = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    document = of_object()
    assert read({**document, "spec": {**dict.fromkeys(fields), **NEEDED, **document["spec"]}})


def test_it_says_itself_that_it_is_all_or_nothing() -> None:
    document = of_object()
    assert not read(document).all_or_nothing
    assert read({**document, "spec": {**document["spec"], "allOrNothing": True}}).all_or_nothing


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_of_a_large_cluster_it_is_read_too(form: str) -> None:
    """Each node stands in it, and each pod that stays."""
    nodes = tuple(
        NodeLoad(
            node=f"node-{number:05}",
            before=LOADS,
            after=LOADS,
            pods_before=30,
            pods_after=30,
            eligible=True,
        )
        for number in range(1_500)
    )
    refusals = tuple(Refusal.of(f"shop/pod-{number:06}", ("why",)) for number in range(45_000))
    plan = Plan(moves=(move(1),), nodes=nodes, refusals=refusals)
    document = plan_documents.with_origin(plan_documents.of_plan(plan), TAKEN_AT, "cluster-1")
    text = documents.as_text(document, form)
    assert len(text) > strict_yaml.LARGEST_BYTES
    assert files.read(text, "plan.yaml") == read(of_command(move(1)))


def test_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(of_command())
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(text.encode())))
    assert files.load("-") == (text, "standard input")


def test_the_example_of_the_tests_is_one() -> None:
    assert len(files.read(EXAMPLE.read_text(), "plan.yaml").moves) == 1


def _edit(change: Callable[[Document], object]) -> Document:
    document = of_command()
    change(document)
    return document


def _other_uid(document: Document) -> Document:
    return {**document["moves"][0]["pod"], "uid": "another"}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "expected a plan: what rescheduler plan -o yaml prints"),
        ({"kind": "Plan"}, 'apiVersion: missing; expected "rescheduler.io/v1alpha1"'),
        (_edit(lambda d: d.update(kind="Pod")), 'kind: expected "Plan" or "ReschedulePlan"'),
        ({"kind": "List", "items": []}, "one plan is carried out at a time: rescheduler get plans"),
        ({"kind": "ReschedulePlanList"}, "one plan is carried out at a time"),
        (_edit(lambda d: d.pop("takenAt")), "takenAt: required field is missing"),
        (_edit(lambda d: d.update(takenAt="today")), "takenAt: expected a time such as"),
        (_edit(lambda d: d.update(takenAt="2026-11-18T09:30:00")), "takenAt: expected a time"),
        (_edit(lambda d: d.pop("moves")), "moves: required field is missing"),
        (_edit(lambda d: d.update(moves=[])), "moves: is empty: there is nothing to move"),
        (_edit(lambda d: d.update(moves="all")), "moves: expected a list of moves"),
        (_edit(lambda d: d.update(moves=None)), "moves: expected a list of moves, found null"),
        (_edit(lambda d: d.update(moves=[None])), "moves[0]: expected a move, found null"),
        (
            _edit(lambda d: d["moves"][1].update(group="g" * 300)),
            "moves[1].group: must have at most 253 characters, has 300",
        ),
        (
            _edit(lambda d: d["moves"][1]["pod"].update(namespace="n" * 64)),
            "moves[1].pod.namespace: must have at most 63 characters, has 64",
        ),
        (_edit(lambda d: d.update(mooves=[])), 'mooves: unknown field; did you mean "moves"?'),
        (_edit(lambda d: d["moves"][0].pop("to")), "moves[0].to: required field is missing"),
        (_edit(lambda d: d["moves"][0].update(to="")), "moves[0].to: must not be empty"),
        (_edit(lambda d: d["moves"][1].update(to="a")), 'moves[1].to: is "a", where the pod comes'),
        (_edit(lambda d: d["moves"][1].update(towards="c")), "moves[1].towards: unknown field"),
        (_edit(lambda d: d["moves"][1]["pod"].pop("uid")), "moves[1].pod.uid: required field"),
        (_edit(lambda d: d["moves"][1].update(pod="web-2")), "moves[1].pod: expected a mapping"),
        (_edit(lambda d: d["moves"][1].update(way="jump")), "moves[1].way: "),
        (_edit(lambda d: d["moves"][1].update(wave=-1)), "moves[1].wave: must be at least 0"),
        (
            _edit(lambda d: d["moves"].append(d["moves"][0])),
            "moves[2]: moves shop/web-1 again, as moves[0]",
        ),
        (
            _edit(lambda d: d["moves"].append({**d["moves"][0], "pod": _other_uid(d)})),
            "moves[2]: moves shop/web-1 again, as moves[0]",
        ),
        (
            _edit(lambda d: d.update(moves=d["moves"] * 300)),
            "moves: has 600 moves, and may have 500",
        ),
        ({**of_object(), "spec": None}, "spec: is needed"),
        ({**of_object(), "spec": []}, "spec: expected a mapping, found a list"),
        (
            {**of_object(), "spec": {**of_object()["spec"], "allOrNothing": "yes"}},
            "spec.allOrNothing: expected true or false",
        ),
    ],
)
def test_refused_with_the_field(document: object, words: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        read(document)
    assert words in str(refusal.value)
    assert "plan.yaml" in str(refusal.value)


def test_all_problems_are_told_at_once() -> None:
    document = of_command()
    document["moves"][0]["to"] = ""
    document["moves"][1]["way"] = "jump"
    with pytest.raises(ConfigurationError) as refusal:
        read(document)
    assert len(refusal.value.problems) == 2
