"""What READMEs and docs say is so, and what they call a default is one.

That their commands run and print what is shown: test_documented_commands.py.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from rescheduler import config
from rescheduler.cli.app import app
from rescheduler.config import settings_beside_defaults
from rescheduler.model import strategies
from rescheduler.model.podmigration import Step

ROOT = Path(__file__).parents[2]
HEADER = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"

READMES = ["README.md", "README.zh-CN.md"]
SECTIONS = {
    "README.md": [
        "How a pod moves",
        "Demo",
        "Install",
        "First plan",
        "Run",
        "Not one request fails",
        "Beside what people use today",
        "More",
    ],
    "README.zh-CN.md": [
        "一个 Pod 是怎样被迁移的",
        "演示",
        "安装",
        "第一个计划",
        "运行",
        "一个请求都不丢",
        "与现有工具并排比较",
        "更多",
    ],
}
CONFIGURATION = "docs/configuration.md"

readmes = pytest.mark.parametrize("readme", READMES)


@readmes
def test_a_readme_goes_from_what_it_is_to_where_to_read_on(readme: str) -> None:
    text = (ROOT / readme).read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS[readme]
    longest = max(len(each.splitlines()) for each in text.split("\n## "))
    assert longest <= 45  # a screen
    assert "\n![" in text.partition("\n## ")[0]  # a picture, before all else


@readmes
def test_lines_of_a_readme_are_wrapped(readme: str) -> None:
    """But for tables, and for what a program prints."""
    text = (ROOT / readme).read_text()
    answers = {line for block in blocks(readme, "console", "") for line in said(block)}
    lines = [line for line in text.splitlines() if line[:1] != "|" and line not in answers]
    assert [line for line in lines if len(line) > 120] == []


@readmes
def test_what_it_begins_with_has_figures_of_its_tables(readme: str) -> None:
    text = (ROOT / readme).read_text()
    cells = re.findall(r"[\d,.]+", "".join(re.findall(r"(?m)^\| \(.*$", text)))
    told = re.findall(r"\d+,\d{3}", text.partition("\n## ")[0])
    assert len(told) == 3
    assert set(told) <= set(cells)


@readmes
def test_two_commands_carry_a_newcomer(readme: str) -> None:
    first, second, *_ = [line for block in blocks(readme, "console", "") for line in shown(block)]
    assert [first, second] == ["make demo", "make test"]
    assert f'part "test" {second}' in (ROOT / ".ci/run").read_text()


def blocks(readme: str, language: str, about: str) -> Iterator[str]:
    text = (ROOT / readme).read_text()
    for each in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL):
        if about in each:
            yield each


def shown(block: str) -> dict[str, list[str]]:
    """By command: the lines below it."""
    found: dict[str, list[str]] = {}
    for line in block.splitlines():
        if line.startswith("$ "):
            found[line.removeprefix("$ ").split("  #")[0].strip()] = []
        else:
            found[next(reversed(found))].append(line)
    return found


def said(block: str) -> list[str]:
    return [line for lines in shown(block).values() for line in lines]


def printed(command: str) -> list[str]:
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def demo() -> list[str]:
    return printed("rescheduler demo --seed 0")


@readmes
def test_the_figures_of_the_demo_are_those_that_it_prints(readme: str, demo: list[str]) -> None:
    """But for the time that it took, which is not shown."""
    [block] = blocks(readme, "console", "demo --seed")
    [(command, lines)] = shown(block).items()
    assert command == ".venv/bin/rescheduler demo --seed 0 | tail"
    assert len(lines) > 5
    assert set(lines) - set(demo) == set()


@readmes
def test_the_first_configuration_is_valid_and_says_the_defaults(
    readme: str, tmp_path: Path
) -> None:
    [block] = blocks(readme, "console", "cat > careful.yaml")
    text = block.split("<<END\n")[1].split("END\n")[0]
    path = tmp_path / "careful.yaml"
    path.write_text(text)
    assert printed(f"rescheduler validate --config {path}")
    # It is careful by its scope alone.
    set_beside = settings_beside_defaults(config.load(path))
    assert set_beside.keys() == {"scope.namespaces", "scope.nodeSelector"}


EXAMPLES = "docs/examples.md"


def test_every_example_is_shown() -> None:
    text = (ROOT / EXAMPLES).read_text()
    files = (ROOT / "manifests/rescheduler/examples").glob("*.yaml")
    assert [path.name for path in files if f"/{path.name})" not in text] == []
    # And what comes of it.
    assert all(lines for each in blocks(EXAMPLES, "console", "") for lines in shown(each).values())


@pytest.mark.parametrize("page", ["deployment-guide", "getting-started", "troubleshooting"])
def test_both_languages_have_the_same_commands_and_tables(page: str) -> None:
    english, chinese = ((ROOT / f"docs/{page}{each}.md").read_text() for each in ("", ".zh-CN"))
    for pattern in (r"```\w+\n.*?```", r"(?m)^## "):
        found = re.findall(pattern, english, re.DOTALL)
        assert found == re.findall(pattern, chinese, re.DOTALL)
    assert named_in_rows(english) == named_in_rows(chinese)


def named_in_rows(text: str) -> list[set[str]]:
    """What is said as code in the first cell of each row."""
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [set(re.findall(r"`([^`]+)`", row.split(" | ")[0])) for row in rows]


def test_the_comparison_has_figures_of_the_readme() -> None:
    """Some of its rows, and the first of their figures."""
    readme = (ROOT / "README.md").read_text()
    rows = re.findall(r"(?m)^\| \([a-f]\) .*\|$", (ROOT / "docs/comparison.md").read_text())
    assert len(rows) > 5
    assert [row for row in rows if f"\n{row}" not in readme] == []


def test_concepts_name_strategies_and_steps_in_their_order() -> None:
    text = (ROOT / "docs/concepts.md").read_text()
    assert re.findall(r"(?m)^\| `(\w+)` \|", text) == list(strategies.ALL)
    [timeline] = re.findall(r"(?m)^ step +(.*)$", text)
    steps = [each.value for each in Step]
    assert len(timeline.split()) == 7
    assert sorted(timeline.split(), key=steps.index) == timeline.split()


def test_every_symptom_is_produced_by_a_test_that_is_there() -> None:
    text = (ROOT / "docs/troubleshooting.md").read_text()
    named = re.findall(r"`(tests/[^`:]+)::(\w+)`", text)
    rows = re.findall(r"(?m)^\| (?!you see|---).*$", text)
    assert len(named) == len(rows) > 25
    for path, name in named:
        assert f"def {name}(" in (ROOT / path).read_text(), name


def test_what_is_to_be_seen_in_trouble_is_what_the_code_says() -> None:
    """The words of the log, of errors and of records, but for what others print."""
    text = (ROOT / "docs/troubleshooting.md").read_text()
    cells = [row.split(" | ")[0] for row in text.splitlines() if row.startswith("| ")]
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    words = [word for cell in cells for word in re.findall(r"`([^`]+)`", cell)]
    others = {"read-only", "mode: DryRun", "Cannot connect to host", "kubectl apply", "error:"}
    ours = [word for word in words if word not in others and "no matches for kind" not in word]
    assert len(ours) > 12
    stems = [word.split(":")[0].strip("/").removeprefix("rescheduler_") for word in ours]
    assert [stem for stem in stems if stem not in source] == []


def test_what_is_called_a_default_is_one() -> None:
    [block] = blocks(CONFIGURATION, "yaml", "usage:")
    set_beside = settings_beside_defaults(config.parse(HEADER + block))
    assert {name.rpartition(".")[0] for name in set_beside} == {"usage.prometheus"}
    [least] = blocks(CONFIGURATION, "yaml", "apiVersion")
    assert config.parse(least) == config.Configuration()


def test_mistakes_are_named_as_it_is_shown(tmp_path: Path) -> None:
    [block] = blocks(CONFIGURATION, "console", "validate --config wrong.yaml")
    [lines] = shown(block).values()
    wrong = {"cpuTreshold": 80, "maxReschedulePods": -1, "scope": {"namespaces": []}}
    path = tmp_path / "wrong.yaml"
    path.write_text(HEADER + yaml.safe_dump(wrong))
    result = CliRunner().invoke(app, ["validate", "--config", str(path)])
    assert result.exit_code == 1
    assert str(result.exception or result.output).replace(f"{tmp_path}/", "").strip() == (
        "\n".join(lines).removeprefix("error: ")
    )


def test_what_to_touch_is_there() -> None:
    text = (ROOT / "docs/development.md").read_text()
    table = text.split("## To add or to change something")[1].split("\n## ")[0]
    named = re.findall(r"`((?:src|tests|docs|manifests)/[^`]*)`", table)
    assert len(named) > 10
    assert [each for each in named if not (ROOT / each).exists()] == []
