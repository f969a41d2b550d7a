"""A plan as machines read it: complete, in order, and the same bytes for the same plan."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from rescheduler.cli.render.documents import as_list, as_text
from rescheduler.model.moves import Plan
from rescheduler.model.plan_documents import of_plan
from tests.unit.cli.plans import load, move, plan_of_many, plan_of_three, stays


@pytest.fixture(params=["json", "yaml"])
def form(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def read(text: str, form: str) -> Any:  # noqa: ANN401
    return json.loads(text) if form == "json" else yaml.safe_load(text)


def test_everything_is_in_it(form: str) -> None:
    document = read(as_text(of_plan(plan_of_three()), form), form)
    assert list(document) == [
        *("apiVersion", "kind", "moves", "strategies", "imbalance", "loads", "nodes"),
        *("refusals", "notes", "steps", "seed"),
    ]
    assert (document["apiVersion"], document["kind"]) == ("rescheduler.io/v1alpha1", "Plan")
    first, second, third = document["moves"]
    assert first == {
        "pod": {"namespace": "shop", "name": "web-1", "uid": "uid-web-1"},
        "from": "a",
        "to": "b",
        "strategy": "LoadBalancing",
        "reason": "cpu requests: a 90.0 %, b 10.0 %; gap 60.0 points after the move",
        "way": "surge",
        "wave": 0,
        "asked": False,
    }
    assert (second["group"], third["way"]) == ("shop/trio", "recreate")
    assert document["strategies"][0] == {
        "name": "LoadBalancing",
        "acted": True,
        "summary": "cpu requests: imbalance 80.0 to 20.0 points",
        "figures": {"after": 20.0, "before": 80.0, "bound": None},
    }
    assert document["imbalance"] == {
        "cpu": {"before": 80.0, "after": 20.0, "most": "a", "least": "b"}
    }
    assert document["loads"] == "requests"
    assert document["nodes"][0] == {
        "name": "a",
        "eligible": True,
        "before": {"cpu": 90.0, "memory": 40.0, "pods": 9},
        "after": {"cpu": 60.0, "memory": 40.0, "pods": 6},
    }
    assert document["refusals"] == [
        {
            "reason": "it belongs to a DaemonSet",
            "count": 2,
            "pods": ["shop/agent-1", "shop/agent-2"],
        },
        {"reason": "cpu: requests 500, 30 free", "count": 1, "pods": ["shop/agent-2"]},
        {"reason": "cpu: requests 900, 30 free", "count": 1, "pods": ["shop/big"]},
    ]
    assert document["notes"] == list(plan_of_three().notes)
    assert (document["steps"], document["seed"]) == (1234, 7)


def test_a_plan_of_nothing(form: str) -> None:
    document = read(as_text(of_plan(Plan()), form), form)
    assert (document["moves"], document["imbalance"], document["nodes"]) == ([], {}, [])


def test_the_same_plan_gives_the_same_bytes(form: str) -> None:
    plan = plan_of_three()
    backwards = replace(plan.reports[0], figures=dict([*plan.reports[0].figures.items()][::-1]))
    again = replace(plan, reports=(backwards, *plan.reports[1:]))
    assert as_text(of_plan(again), form) == as_text(of_plan(plan), form)


def test_names_are_whole_and_cannot_command_a_terminal(form: str) -> None:
    evil = "x\x1b]0;title\x07\x7f\x9b2J\n\N{RIGHT-TO-LEFT OVERRIDE}é\N{GRINNING FACE}"
    plan = Plan(moves=(move(evil),), refusals=(stays(evil, evil),), nodes=(load(evil),))
    text = as_text(of_plan(plan), form)
    assert text.isascii()
    assert all(each.isprintable() or each == "\n" for each in text)
    document = read(text, form)
    assert document["moves"][0]["pod"]["name"] == evil
    assert document["refusals"][0]["reason"] == evil
    assert document["nodes"][0]["name"] == evil


def test_thousands_of_moves_are_all_written(form: str) -> None:
    plan = plan_of_many(900, 2000)
    text = as_text(of_plan(plan), form)
    # To read so much YAML takes longer than to write it.
    moves = len(json.loads(text)["moves"]) if form == "json" else text.count("\n  from: ")
    assert moves == 2000


@pytest.mark.parametrize("items", [[], [of_plan(plan_of_three())], [of_plan(plan_of_three())] * 3])
def test_a_list_is_written_one_by_one_and_reads_the_same(form: str, items: list[Any]) -> None:
    head = {"apiVersion": "v1", "kind": "List", "metadata": {}}
    own = [json.loads(json.dumps(each)) for each in items]  # the same one twice is no alias
    assert as_list(head, items, form) == as_text({**head, "items": own}, form)
