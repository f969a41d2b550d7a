"""The sections about planning: what is accepted in each, and how a refusal reads."""

from typing import Any

import pytest

from rescheduler import config
from tests.unit.config import samples

PRICE = {"nodeSelector": "spot", "price": 1}

REFUSED: list[tuple[str, Any, str, str]] = [
    ("pods", {"priorityThreshold": True}, "priorityThreshold", "a whole number, found true"),
    ("pods", {"priorityThreshold": 1.5}, "priorityThreshold", "a whole number, found the number"),
    ("pods", {"priorityThreshold": 2**31}, "priorityThreshold", "at most 2147483647, found 2147"),
    ("pods", {"priorityThreshold": "high"}, "priorityThreshold", 'the string "high"'),
    ("pods", {"minPodAge": "-1s"}, "minPodAge", "must be between 0s and 168h"),
    ("pods", {"minPodAge": "169h"}, "minPodAge", "must be between 0s and 168h"),
    ("pods", {"minPodAge": 60}, "minPodAge", "expected a duration"),
    ("pods", {"minReplicas": 0}, "minReplicas", "must be at least 1"),
    ("pods", {"minReplicas": True}, "minReplicas", "expected a whole number, found true"),
    ("pods", {"emptyDir": "yes"}, "emptyDir", '"yes": unknown name; '),
    ("pods", {"emptyDir": True}, "emptyDir", "Never, WhenAsked, Allowed, found true"),
    ("pods", {"localStorage": True}, "localStorage", 'found true; write "Allowed"'),
    ("pods", {"localStorage": False}, "localStorage", 'found false; write "Never"'),
    ("pods", {"localStorage": "allowed"}, "localStorage", 'did you mean "Allowed"?'),
    ("pods", {"jobs": True}, "jobs", 'found true; write "Allowed"'),
    ("pods", {"jobs": 1}, "jobs", "expected one of Never, WhenAsked, Allowed, found the number 1"),
    ("pods", {"barePods": False}, "barePods", 'found false; write "Never"'),
    ("pods", {"barePods": None}, "barePods", "Never, WhenAsked, Allowed, found null"),
    ("pods", {"recreate": "always"}, "recreate", "known: Never, WhenAsked, Allowed"),
    ("pods", {"recreate": "allow"}, "recreate", 'did you mean "Allowed"?'),
    ("pods", {"recreate": False}, "recreate", "one of Never, WhenAsked, Allowed"),
    ("pods", {"groupLabel": "a=b"}, "groupLabel", "not the name of a label"),
    ("pods", {"groupLabel": "A/b"}, "groupLabel", "DNS subdomain"),
    ("pods", {"groupLabel": 5}, "groupLabel", "put it in quotes"),
    ("stability", {"margin": -1}, "margin", "at most 100 (percentage points), found -1"),
    ("stability", {"margin": True}, "margin", "expected a number, found true"),
    ("stability", {"moveCost": 101}, "moveCost", "at least 0 and at most 100"),
    ("stability", {"moveCost": float("nan")}, "moveCost", "expected a number"),
    ("stability", {"cooldown": "10m"}, "cooldown", "expected a mapping"),
    ("stability", {"cooldown": {"pod": "-1s"}}, "cooldown.pod", "between 0s and 24h"),
    ("stability", {"cooldown": {"node": 600}}, "cooldown.node", "expected a duration"),
    ("stability", {"cooldown": {"workload": "1d"}}, "cooldown.workload", "unknown unit"),
    ("inFlight", {"perNode": -1}, "perNode", "must be at least 0"),
    ("inFlight", {"perNamespace": 1.0}, "perNamespace", "expected a whole number"),
    ("inFlight", {"perWorkload": "10%"}, "perWorkload", "expected a whole number"),
    ("nodeMaintenance", {"cordonedNodes": "true"}, "cordonedNodes", "true or false"),
    ("nodeMaintenance", {"removedNodes": "karpenter"}, "removedNodes", "true or false"),
    ("nodeMaintenance", {"excludedNamespaces": []}, "excludedNamespaces", "one of Stay, Move"),
    ("nodeMaintenance", {"excludedNamespaces": "Moves"}, "excludedNamespaces", '"Move"?'),
    ("nodeAutoscaler", {"scaleDownUtilization": "50%"}, "scaleDownUtilization", "a number, found"),
    ("nodeAutoscaler", {"scaleDownUtilization": 101}, "scaleDownUtilization", "at most 100 (per c"),
    ("nodeAutoscaler", {"nodeSelector": "-"}, "nodeSelector", "not a label selector"),
    ("nodeAutoscaler", {"packedNodes": "-"}, "packedNodes", "not a label selector"),
    ("nodeAutoscaler", {"threshold": 50}, "threshold", "unknown field; "),
    ("resourceOptimization", {"cpuTarget": 0}, "cpuTarget", "more than 0 and at most 100"),
    ("resourceOptimization", {"memoryTarget": 101}, "memoryTarget", "more than 0 and at most"),
    ("resourceOptimization", {"memoryTarget": False}, "memoryTarget", "a number, found false"),
    ("costOptimization", {"moveCost": -0.1}, "moveCost", "at least 0 and at most 100 (per cent)"),
    ("costOptimization", {"prices": PRICE}, "prices", "a list of nodeSelector and price"),
    ("costOptimization", {"prices": None}, "prices", "a list of nodeSelector and price"),
    ("costOptimization", {"prices": [None]}, "prices[0]", "a mapping with nodeSelector and price"),
    ("costOptimization", {"prices": ["spot=1"]}, "prices[0]", "expected a mapping"),
    ("costOptimization", {"prices": [{"price": 1}]}, "prices[0].nodeSelector", "is missing"),
    ("costOptimization", {"prices": [{"nodeSelector": "a"}]}, "prices[0].price", "is missing"),
    (
        "costOptimization",
        {"prices": [PRICE, {**PRICE, "price": 2}]},
        "prices[1].nodeSelector",
        'duplicate of costOptimization.prices[0].nodeSelector ("spot"), which counts',
    ),
    ("costOptimization", {"prices": [{**PRICE, "price": -1}]}, "prices[0].price", "at least 0"),
    ("costOptimization", {"prices": [{**PRICE, "price": True}]}, "prices[0].price", "a number"),
    ("costOptimization", {"prices": [{**PRICE, "price": "1"}]}, "prices[0].price", "without quot"),
    ("costOptimization", {"prices": [{**PRICE, "price": 1e10}]}, "prices[0].price", "1000000000"),
    ("costOptimization", {"prices": [{**PRICE, "prise": 1}]}, "prices[0].prise", '"price"'),
    (
        "costOptimization",
        {"prices": [{**PRICE, "nodeSelector": "a="}, {**PRICE, "nodeSelector": "-"}]},
        "prices[1].nodeSelector",
        "not a label selector",
    ),
]


@pytest.mark.parametrize(("section", "fields", "path", "part"), REFUSED)
def test_refused(section: str, fields: Any, path: str, part: str) -> None:  # noqa: ANN401
    ((found_path, message),) = samples.problems(samples.own(**{section: fields}))
    assert found_path == f"{section}.{path}"
    assert part in message


@pytest.mark.parametrize("text", [".nan", ".inf", "-.inf"])
@pytest.mark.parametrize(
    "field", ["stability: {margin: X}", "costOptimization: {prices: [{nodeSelector: a, price: X}]}"]
)
def test_what_is_no_ordinary_number_is_refused(field: str, text: str) -> None:
    head = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
    ((_, message),) = samples.text_problems(head + field.replace("X", text))
    assert message.startswith("must be at least 0 and at most")


@pytest.mark.parametrize(
    "fields",
    [
        {"pods": {"priorityThreshold": None, "groupLabel": ""}},
        {"pods": {"priorityThreshold": -(2**31), "minPodAge": "168h"}},
        {"stability": {"margin": 0, "moveCost": 100, "cooldown": None}},
        {"stability": {"cooldown": {"pod": "0s", "workload": "24h"}}},
        {"inFlight": {"perNode": 0, "perNamespace": 0, "perWorkload": 2**31 - 1}},
        {"resourceOptimization": {"cpuTarget": 80, "memoryTarget": None}},
        {"costOptimization": {"prices": [{"nodeSelector": "", "price": 0}], "moveCost": 0}},
        {"pods": None, "inFlight": None, "nodeMaintenance": None, "costOptimization": {}},
    ],
)
def test_accepted_at_the_bounds(fields: dict[str, Any]) -> None:
    samples.parsed(samples.own(**fields))


ABOVE = [
    ({"resourceOptimization": {"cpuTarget": 81}}, "cpuTarget", "81 is above cpuThreshold, 80, so"),
    (
        {"memoryThreshold": 60, "resourceOptimization": {"memoryTarget": 60.5}},
        "memoryTarget",
        "60.5 is above memoryThreshold, 60, so a relieved node would be overloaded still: make it",
    ),
]


@pytest.mark.parametrize(("fields", "path", "part"), ABOVE)
def test_low_above_high(fields: dict[str, Any], path: str, part: str) -> None:
    ((found_path, message),) = samples.problems(samples.own(**fields))
    assert found_path == f"resourceOptimization.{path}"
    assert part in message
    ((found_path, message),) = samples.problems(samples.stock(samples.profile(**fields)))
    assert found_path == f"profiles[0].pluginConfig[0].args.resourceOptimization.{path}"
    assert part in message


def test_low_above_high_is_not_told_of_a_threshold_that_was_refused() -> None:
    document = samples.own(cpuThreshold="90", resourceOptimization={"cpuTarget": 85})
    assert [path for path, _ in samples.problems(document)] == ["cpuThreshold"]


def test_all_problems_of_all_sections_at_once() -> None:
    document = samples.own(
        pods={"minReplicas": 0, "recreate": "x"},
        enabledStrategies=["CostOptimisation"],
        inFlight={"perNode": -1},
        resourceOptimization={"cpuTarget": 90, "memoryTarget": 90},
        costOptimization={"prices": [{"nodeSelector": "", "price": -1}, {}]},
    )
    assert [path for path, _ in samples.problems(document)] == [
        "pods.minReplicas",
        "pods.recreate",
        "enabledStrategies[0]",
        "inFlight.perNode",
        "resourceOptimization.cpuTarget",
        "resourceOptimization.memoryTarget",
        "costOptimization.prices[0].price",
        "costOptimization.prices[1].nodeSelector",
        "costOptimization.prices[1].price",
    ]


def test_profiles_that_give_other_prices_contradict_each_other() -> None:
    halves = [
        samples.profile("a", costOptimization={"prices": [PRICE]}),
        samples.profile("b", costOptimization={"prices": [{**PRICE, "price": 1.0}]}),
    ]
    assert samples.parsed(samples.stock(*halves)).cost_optimization.prices[0].price == 1
    other = samples.profile("c", costOptimization={"prices": []})
    ((path, message),) = samples.problems(samples.stock(*halves, other))
    assert path == "profiles[2].pluginConfig[0].args.costOptimization.prices"
    assert message.startswith("contradicts profiles[0]")


def test_null_is_left_out_of_the_effective_document() -> None:
    document: Any = config.to_document(config.Configuration())
    assert "priorityThreshold" not in document["pods"]
    assert document["resourceOptimization"] == {}
    assert document["costOptimization"] == {"prices": [], "moveCost": 0.25}
