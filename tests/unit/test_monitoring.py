"""Dashboard, alerts, runbooks and the page of metrics agree with the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler import plan
from rescheduler.model.podmigration import Reason
from rescheduler.plan.strategies import BY_NAME
from rescheduler.serve import CATALOGUE
from rescheduler.serve.metrics.catalogue import Kind
from rescheduler.serve.metrics.recording import RESULTS
from tools import generate, monitoring

ROOT = Path(__file__).parents[2]
RULES = yaml.safe_load((ROOT / "manifests/monitoring/alerts.yaml").read_text())
ALERTS: list[dict[str, Any]] = [each for group in RULES["groups"] for each in group["rules"]]
PANELS = json.loads((ROOT / "manifests/monitoring/dashboard.json").read_text())["panels"]
EXPRESSIONS = [
    *(each["expr"] for each in ALERTS),
    *(target["expr"] for panel in PANELS for target in panel["targets"]),
    *re.findall(r"\| `([^`]*rescheduler_[^`]*)` \|\n", monitoring._PAGE),  # noqa: SLF001
]
SUFFIXES = {Kind.HISTOGRAM: ("_bucket", "_sum", "_count")}
KNOWN = {
    family.name + suffix: family
    for family in CATALOGUE
    for suffix in SUFFIXES.get(family.kind, ("",))
}


def test_what_is_generated_is_up_to_date() -> None:
    assert generate.METRICS.read_text() == monitoring.page(), "run make generate"
    assert generate.DASHBOARD.read_text() == monitoring.dashboard(), "run make generate"


def test_what_is_named_instead_of_other_names_is_there() -> None:
    told = re.findall(r"rescheduler_[a-z_]+", monitoring._NAMES)  # noqa: SLF001
    assert told
    assert set(told) <= {family.name for family in CATALOGUE}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_every_metric_and_label_that_is_asked_for_is_there(expression: str) -> None:
    names = re.findall(r"rescheduler_[a-z_]+", expression.replace(".*rescheduler.*", ""))
    assert set(names) <= KNOWN.keys()
    labels = {label for name in names for label in KNOWN[name].labels} | {"instance", "le", "job"}
    asked = re.findall(r'(\w+)(?:=~|!~|!=|=)\\?"', expression)
    for by in re.findall(r"by \(([^)]*)\)", expression):
        asked += [each.strip() for each in by.split(",")]
    assert set(asked) <= labels
    for label, value in re.findall(r'(result|reason)=~?"([^"]*)"', expression):
        if label == "result" and "moves_total" in expression:
            assert set(re.split(r"\\*\|", value)) <= set(RESULTS)
        elif label == "reason":
            assert value in list(Reason)


def test_every_metric_is_shown_or_watched_or_explained_elsewhere() -> None:
    """At least two thirds of them: the rest is for whoever digs."""
    text = " ".join(EXPRESSIONS)
    used = [family.name for family in CATALOGUE if family.name in text]
    assert len(used) >= len(CATALOGUE) * 2 / 3


def test_who_is_blind_for_what_plans_can_do_without_is_no_alarm() -> None:
    [blind] = [each["expr"] for each in ALERTS if each["alert"] == "ReschedulerBlind"]
    left_out = re.findall(r'resource!="(\w+)"', blind)
    assert sorted(left_out) == sorted(plan.needs(BY_NAME) - plan.musts(BY_NAME))


def test_every_alert_is_tested_a_moment_before_it_fires_and_when_it_does() -> None:
    """`make test-monitoring` has promtool run that file."""
    path = ROOT / "tests/monitoring/alerts_test.yaml"
    tests = [each["alert_rule_test"] for each in yaml.safe_load(path.read_text())["tests"]]
    tested = {}
    for silent, *firing in tests:
        assert silent["exp_alerts"] == []
        for each in firing:
            [expected] = each["exp_alerts"]
            assert each["alertname"] == silent["alertname"]
            assert 0 < seconds(each["eval_time"]) - seconds(silent["eval_time"]) <= 30
            tested[each["alertname"]] = expected["exp_labels"]["severity"]
    assert tested == {each["alert"]: each["labels"]["severity"] for each in ALERTS}


def seconds(duration: str) -> int:
    units = {"h": 3600, "m": 60, "s": 1}
    return sum(int(number) * units[unit] for number, unit in re.findall(r"(\d+)([hms])", duration))


def test_every_alert_has_its_runbook_and_every_runbook_its_alert() -> None:
    sections = re.findall(r"^## (\w+)$", (ROOT / "docs/runbooks.md").read_text(), re.MULTILINE)
    assert sections == [each["alert"] for each in ALERTS]
    for alert in ALERTS:
        link = alert["annotations"]["runbook_url"]
        assert link.endswith(f"docs/runbooks.md#{alert['alert'].lower()}")
        assert alert["labels"]["severity"] in ("critical", "warning", "info")
        assert {"summary", "description"} <= alert["annotations"].keys()
