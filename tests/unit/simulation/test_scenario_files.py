from pathlib import Path

import pytest

from rescheduler import wire
from rescheduler.embedded.virtual_time import START
from rescheduler.errors import ConfigurationError
from rescheduler.simulation.generating import generate
from rescheduler.simulation.happenings import foreseen
from rescheduler.simulation.scenario_files import load, parse
from rescheduler.simulation.scenarios import HOUR, Outage, Pattern, Scenario, Surge

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: LoadScenario\n"


def test_everything_that_can_be_said() -> None:
    scenario = parse(
        HEAD
        + """
loads:
- names: [shop/*, data/etl]
  peak: 13h30m
  duration: 10h
  low: 40
  high: 160
  scatter: 1h
- share: 3
surges:
- {at: 14h, duration: 30m, factor: 3, share: 5}
growth: 50
wander: 2h
rollouts: 7
scalings: 3
maintenances:
- {at: 10h, duration: 2h, node: node-001}
failures:
- {at: 16h, duration: 20m}
drains:
- {at: 9h, duration: 15m}
""",
        "my-day.yaml",
    )
    assert scenario.name == "my-day"
    named, shared = scenario.patterns
    assert named == Pattern(
        names=("shop/*", "data/etl"),
        peak_seconds=13.5 * HOUR,
        high_seconds=10 * HOUR,
        low=0.4,
        high=1.6,
        scatter_seconds=HOUR,
    )
    assert shared == Pattern(share=3)
    assert scenario.surges == (
        Surge(at_seconds=14 * HOUR, for_seconds=HOUR / 2, factor=3, share=0.05),
    )
    assert (scenario.growth, scenario.rollouts, scenario.scalings) == (0.5, 7, 3)
    assert scenario.wander_seconds == 2 * HOUR
    assert scenario.maintenances == (
        Outage(at_seconds=10 * HOUR, for_seconds=2 * HOUR, node="node-001"),
    )
    assert scenario.failures == (Outage(at_seconds=16 * HOUR, for_seconds=HOUR / 3),)
    assert scenario.drains == (Outage(at_seconds=9 * HOUR, for_seconds=HOUR / 4),)


def test_nothing_but_the_head_is_a_day_without_events() -> None:
    scenario = parse(HEAD)
    assert scenario.patterns == (Pattern(),)
    assert (scenario.surges, scenario.failures, scenario.rollouts, scenario.growth) == (
        (),
        (),
        0,
        0.0,
    )


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("[1]", "", "expected a mapping with apiVersion"),
        ("kind: LoadScenario", "apiVersion", "missing; expected"),
        (HEAD.replace("LoadScenario", "Day"), "kind", 'expected "LoadScenario"'),
        (HEAD + "rolouts: 3", "rolouts", 'did you mean "rollouts"?'),
        (HEAD + "rollouts: -1", "rollouts", "at least 0"),
        (HEAD + "growth: yes", "growth", "expected a number"),
        (HEAD + "loads: 5", "loads", "expected a list"),
        (HEAD + "loads: [~]", "loads[0]", "expected a mapping"),
        (HEAD + "loads: [{peak: 13}]", "loads[0].peak", "a duration such as"),
        (HEAD + "loads: [{peak: 25h}]", "loads[0].peak", "between 0s and 24h"),
        (HEAD + "loads: [{names: [a/b], share: 2}]", "loads[0].share", "not together with names"),
        (HEAD + "surges: [{factor: 2}]", "surges[0].at", "required field is missing"),
        (HEAD + "failures: [{at: 1h}]", "failures[0].duration", "required field is missing"),
        (HEAD + "drains: [{duration: 1h}]", "drains[0].at", "required field is missing"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(text: str, path: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(text, "day.yaml")
    [problem] = refused.value.problems
    assert problem.path == path
    assert words in problem.message


def test_all_problems_are_told_at_once_and_in_order() -> None:
    with pytest.raises(ConfigurationError) as refused:
        parse(HEAD + "scalings: x\nloads: [{low: -1}]\nnonsense: 1\n", "day.yaml")
    assert [each.path for each in refused.value.problems] == [
        "scalings",
        "loads[0].low",
        "nonsense",
    ]
    assert str(refused.value).startswith("day.yaml: scalings: ")


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        load(tmp_path / "missing.yaml")
    (tmp_path / "odd.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        load(tmp_path / "odd.yaml")
    (tmp_path / "good.yaml").write_text(HEAD)
    assert load(tmp_path / "good.yaml").name == "good"


def test_more_happens_than_there_are_deployments() -> None:
    described = generate(nodes=6, pods=50, seed=1)
    few = len(list(described.all(wire.DEPLOYMENTS)))
    busy = Scenario(name="busy", rollouts=50)
    happenings = foreseen(busy, described, seed=1, start=START, hours=24)
    assert few < 50 == len(happenings)
    assert len({each.name for each in happenings}) == few
