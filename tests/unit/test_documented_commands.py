"""Every command in the docs is run by a test; here those that need no cluster."""

import gzip
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.documented import (
    PAGES,
    ROOT,
    TRANSLATED,
    a_clone,
    commands,
    everywhere,
    exceptions,
    is_excepted,
    run,
)

HEADER = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
SHORTER = " --hours 0.02"
"""A simulated day takes half a minute; that its figures are right others show."""
CLUSTER = "docs/examples/uneven-cluster.json"


def _text(page: str) -> str:
    """Without what it shows as blocks."""
    return re.sub(r"(?ms)^```.*?^```$", "", (ROOT / page).read_text())


ALL = everywhere()
TO_RUN = sorted(
    {
        each.text
        for each in ALL
        if not (each.needs_cluster or is_excepted(each) or each.text.startswith("make "))
    }
)
IN_TEXT = re.compile(r"`(make [A-Za-z][^`]*)`")
MAKE = sorted(
    {each.text for each in ALL if each.text.startswith("make ")}
    | {" ".join(each.split()) for page in PAGES for each in IN_TEXT.findall(_text(page))}
)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = a_clone(tmp_path)
    # What earlier commands of the pages leave.
    (folder / "careful.yaml").write_text(HEADER)
    (folder / "rescheduler.yaml").write_text(HEADER)
    with gzip.open(folder / "cluster.json.gz", "wb") as file:
        file.write((ROOT / CLUSTER).read_bytes())
    return folder


@pytest.mark.parametrize("command", TO_RUN, ids=lambda each: each.partition("\n")[0])
def test_it_runs_and_prints_what_is_shown(command: str, clone: Path) -> None:
    ended = run(command + (SHORTER if " simulate" in command else ""), clone, {}, timeout=250)
    assert ended.returncode == 0, ended.stderr
    # By any page.
    shown = {line for each in ALL if each.text == command for line in each.lines}
    assert shown - set(ended.stdout.splitlines()) == set()


@pytest.mark.parametrize("command", MAKE)
def test_make_knows_it(command: str) -> None:
    """What it does is run by whoever runs these tests, or stands among the exceptions."""
    program, *targets = shlex.split(command)
    asked = [program, "--dry-run", *targets]
    ended = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("failing", ["false\ntrue", "rescheduler plan -f nowhere.json | cat"])
def test_one_that_fails_is_noticed(failing: str, clone: Path) -> None:
    assert run(failing, clone, {}, timeout=60).returncode != 0


def test_what_is_not_run_is_shown_somewhere_and_has_a_reason() -> None:
    shown = {each.text for each in ALL}
    assert len(exceptions()) > 5
    assert [text for text in exceptions() if text not in shown] == []
    for reason in exceptions().values():
        assert len(reason) > 15
        for path, name in re.findall(r"`(tests/[^`:]+)(?:::(\w+))?`", reason):
            assert (ROOT / path).exists(), path
            assert f"def {name}(" in (ROOT / path).read_text() if name else True


@pytest.mark.parametrize("page", [each for each in PAGES if TRANSLATED in each])
def test_a_translation_has_the_same_commands(page: str) -> None:
    """But for comments in what they write into files."""
    both = [commands(each) for each in (page, page.replace(TRANSLATED, "."))]
    chinese, english = ([each.text.partition("\n")[0] for each in found] for found in both)
    assert chinese == english


def test_commands_are_found_as_they_are_written() -> None:
    assert len(ALL) > 120
    [heredoc] = [each for each in commands("README.md") if each.text.startswith("cat >")]
    assert heredoc.text.endswith("\nEND")
    assert heredoc.section == "Run"
    assert not any("  #" in each.text.partition("\n")[0] for each in ALL)
