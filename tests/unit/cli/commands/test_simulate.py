"""`rescheduler simulate`: what it prints, what it refuses, and its exit status."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
import urllib.error
import urllib.request
import xml.dom.minidom
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rescheduler.cli.contenders import with_and_without_extender, with_and_without_patience
from rescheduler.cli.render.layout import Page
from rescheduler.cli.render.simulation_charts import as_svg
from rescheduler.cli.render.simulation_pictures import pictures
from rescheduler.cli.render.simulation_tables import as_text
from rescheduler.config import Configuration, Extender, LearnedPatience, UsageSettings
from rescheduler.simulation.contending import Contender
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.summaries import Course, Summary
from tests.scenarios.looking import free_port
from tests.unit.cli.running import Command

SMALL = ("simulate", "--nodes", "4", "--pods", "40", "--hours", "0.3", "--seed", "3")


def test_a_table_and_a_picture_and_a_chart(rescheduler: Command, tmp_path: Path) -> None:
    chart = tmp_path / "day.svg"
    ended = rescheduler(*SMALL, "--compare", "none,LoadBalancing", "--svg", str(chart))
    assert (ended.code, ended.err) == (0, f"{chart} written\n")
    lines = ended.out.splitlines()
    assert lines[0].startswith("4 nodes, 40 pods, scenario day for 0.3 h with ")
    assert lines[2].split()[:4] == ["CONTENDER", "MOVED", "PUT-OFF", "FAILED"]
    assert [line.split()[0] for line in lines[3:5]] == ["none", "LoadBalancing"]
    assert "\x1b" not in ended.out
    xml.dom.minidom.parseString(chart.read_text())  # noqa: S318 - our own


def test_for_machines_and_the_same_again(rescheduler: Command) -> None:
    asked = (*SMALL, "--compare", "LoadBalancing", "-o", "json", "--fault", "never-ready=0.2", "-q")
    first, again = rescheduler(*asked), rescheduler(*asked)
    assert (first.code, first.err) == (0, "")
    assert first.out == again.out
    document = json.loads(first.out)
    assert document["kind"] == "SimulationComparison"
    assert document["cluster"] == {"nodes": 4, "pods": 40, "workloads": 7}
    assert document["faults"] == {"never-ready": 0.2}
    [contender] = document["contenders"]
    assert contender["name"] == "LoadBalancing"
    nothing = {"byMoves": 0, "byRecreate": 0, "byEvictions": 0, "byOthers": 0}
    assert contender["dips"] == nothing
    assert contender["drains"] == {"seconds": [], "unfinished": 0}
    assert len(contender["cpu"]["deviation"]["points"]) == 10
    assert contender["pointSeconds"] == 120


def test_of_a_file_and_a_configuration(rescheduler: Command, tmp_path: Path) -> None:
    settings = tmp_path / "own.yaml"
    settings.write_text(
        "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
        "enabledStrategies: [LoadBalancing]\n"
    )
    example = "docs/examples/uneven-cluster.json"
    ended = rescheduler(
        *("simulate", "-f", example, "--config", str(settings), "--hours", "0.2"),
        *("--compare", "none,config", "--scenario", "steady", "-o", "json"),
    )
    assert ended.code == 0, ended.err
    document = json.loads(ended.out)
    assert document["cluster"]["nodes"] == 4
    nobody, own = document["contenders"]
    assert (nobody["moved"], own["name"]) == (0, "config")
    assert own["moved"] > 0


def test_each_with_and_without_the_extender(rescheduler: Command, tmp_path: Path) -> None:
    """As it is shown; also one whose configuration has it on already."""
    settings = tmp_path / "own.yaml"
    settings.write_text(
        "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
        "extender: {verbs: [score]}\n"
    )
    ended = rescheduler(
        *(*SMALL, "--config", str(settings), "--compare", "none,LoadBalancing,config"),
        *("--extender", "-q"),
    )
    assert ended.code == 0, ended.err
    rows = [line.split() for line in ended.out.splitlines()[2:9]]
    told = Path("docs/simulate.md").read_text().split("--extender` prints:\n\n```\n")[1]
    shown = [line.split() for line in told.split("\n```")[0].splitlines()]
    assert shown[0] == rows[0]
    assert [row[0] for row in shown[1:]] == [row[0] for row in rows[1:5]]
    assert [row[0] for row in rows[5:]] == ["config", "config+extender"]


def test_each_with_and_without_the_guard(rescheduler: Command, tmp_path: Path) -> None:
    """As it is shown, with a drain in the first minutes."""
    scenario = tmp_path / "drained.yaml"
    scenario.write_text(
        "apiVersion: rescheduler.io/v1alpha1\nkind: LoadScenario\n"
        "drains: [{at: 5m, duration: 10m, node: node-001}]\n"
    )
    ended = rescheduler(
        *(*SMALL, "--compare", "none", "--scenario", str(scenario), "--guard", "-q")
    )
    assert ended.code == 0, ended.err
    head, without, with_it = (line.split() for line in ended.out.splitlines()[2:5])
    told = Path("docs/simulate.md").read_text().split("--guard` prints:\n\n```\n")[1]
    shown = [line.split() for line in told.split("\n```")[0].splitlines()]
    assert shown[0] == head
    assert [row[0] for row in shown[1:]] == [without[0], with_it[0]] == ["none", "none+guard"]
    evicted = head.index("EVICTED")
    assert int(without[evicted]) > 0
    assert int(with_it[evicted]) == 0
    assert int(shown[1][evicted]) > 0
    assert int(shown[2][evicted]) == 0


def test_who_moves_something_with_and_without_learned_patience() -> None:
    learning = replace(
        Configuration(), usage=UsageSettings(learned_patience=LearnedPatience(enabled=True, days=3))
    )
    given = [
        Contender(name="none", configuration=None),
        Contender(name="LoadBalancing", configuration=Configuration()),
        Contender(name="config", configuration=learning),
    ]
    found = with_and_without_patience(given)
    told = [
        (each.name, each.configuration and each.configuration.usage.learned_patience)
        for each in found
    ]
    assert told == [
        ("none", None),
        ("LoadBalancing", LearnedPatience()),
        ("LoadBalancing+patience", LearnedPatience(enabled=True)),
        ("config", LearnedPatience(days=3)),
        ("config+patience", LearnedPatience(enabled=True, days=3)),
    ]


def test_learned_patience_is_as_it_is_shown(rescheduler: Command) -> None:
    """Of the first minutes nothing is learnt yet."""
    ended = rescheduler(*(*SMALL, "--compare", "LoadBalancing", "--learned-patience", "-q"))
    assert ended.code == 0, ended.err
    head, without, learnt = (line.split() for line in ended.out.splitlines()[2:5])
    docs = Path("docs/simulate.md").read_text()
    told = re.split(r"--learned-patience`\s+prints:\n\n```\n", docs)[1]
    shown = [line.split() for line in told.split("\n```")[0].splitlines()]
    assert shown[0] == head
    names = ["LoadBalancing", "LoadBalancing+patience"]
    assert [row[0] for row in shown[1:]] == [without[0], learnt[0]] == names
    assert without[1:] == learnt[1:]
    moved = head.index("MOVED")
    assert int(shown[2][moved]) < int(shown[1][moved])


def test_which_verbs_are_answered() -> None:
    silent = Configuration()
    scoring = replace(silent, extender=Extender(verbs=("score",)))
    given = [
        Contender(name="none", configuration=None),
        Contender(name="LoadBalancing", configuration=silent),
        Contender(name="config", configuration=scoring),
    ]
    found = with_and_without_extender(given)
    assert found[0].configuration is None
    answered = [each.configuration.answered for each in found if each.configuration]
    assert answered == [("filter", "score"), (), ("filter", "score"), (), ("score",)]
    assert found[1].configuration is not None
    assert found[1].configuration.enabled_strategies == ()


def test_what_cannot_be_read_of_a_file_is_told(rescheduler: Command, tmp_path: Path) -> None:
    cluster = json.loads(Path("docs/examples/uneven-cluster.json").read_text())
    owner = next(each for each in cluster["items"] if each["kind"] == "ReplicaSet")
    owner["spec"]["replicas"] = "four"
    cluster["items"].append({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}})
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(cluster))
    ended = rescheduler(
        *("simulate", "-f", str(file), "--hours", "0.1", "--compare", "none", "-o", "json")
    )
    assert ended.code == 0, ended.err
    notes = json.loads(ended.out)["notes"]
    assert "ignored: 1 Secret" in notes
    [told] = [each for each in notes if each.startswith("cannot be read, and left out: ")]
    assert owner["metadata"]["name"] in told
    assert "$.spec.replicas" in told


def test_all_that_is_wrong_is_told_at_once(rescheduler: Command, tmp_path: Path) -> None:
    (tmp_path / "day.yaml").write_text("kind: Day\n")
    ended = rescheduler(
        *("simulate", "--nodes", "1", "--hours", "0", "--fault", "crsh=1", "--threshold", "101"),
        *("--compare", "LoadBalancng,config,none+LoadBalancing"),
        *("--scenario", str(tmp_path / "day.yaml")),
    )
    assert ended.code == 2
    said = ended.err.splitlines()
    assert said[0] == "error: --hours: 0 is not above 0 and up to 168"
    for words in (
        "--threshold: 101",
        "--compare: none is for itself",
        'did you mean "crash"?',
        "did you mean LoadBalancing?",
        "config is that of --config, which is not given",
        "1 nodes are too few",
        "day.yaml: kind: expected",
    ):
        assert words in ended.err


def test_a_scenario_that_names_a_node_that_is_not_there(
    rescheduler: Command, tmp_path: Path
) -> None:
    scenario = tmp_path / "day.yaml"
    scenario.write_text(
        "apiVersion: rescheduler.io/v1alpha1\nkind: LoadScenario\n"
        "failures: [{at: 1h, duration: 1h}, {at: 1h, duration: 1h, node: nowhere}]\n"
    )
    ended = rescheduler(*SMALL, "--scenario", str(scenario))
    assert ended.code == 1
    assert f'{scenario}: failures[1].node: there is no node "nowhere"' in ended.err
    unknown = rescheduler(*SMALL, "--scenario", "dya")
    assert unknown.code == 2
    assert "did you mean day?" in unknown.err
    assert "is neither known nor a file" in rescheduler(*SMALL, "--scenario", "a" * 300).err


def test_a_chart_that_cannot_be_written_is_an_error(rescheduler: Command, tmp_path: Path) -> None:
    for path, reason in (
        (tmp_path / "no" / "day.svg", f"there is no directory {tmp_path / 'no'}"),
        (tmp_path, "it is a directory"),
        (Path("/dev/full"), "No space left on device"),
    ):
        ended = rescheduler(*SMALL, "--compare", "none", "--svg", str(path))
        assert ended.code == 1
        assert ended.err == f"error: --svg: {path} cannot be written: {reason}\n"
        # What can be known is told before a day is simulated; and what was simulated is not lost.
        assert bool(ended.out) == (path.name == "full")


def test_interrupted_it_ends_at_once_and_leaves_no_process() -> None:
    command = [sys.executable, "-m", "rescheduler", "simulate", "--hours", "24"]
    process = subprocess.Popen(
        [*command, "--nodes", "30", "--pods", "900"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + 60
        while not (children := _children(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert children
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == b""
    assert b"Traceback" not in err
    deadline = time.monotonic() + 20
    while any(map(_lives, children)) and time.monotonic() < deadline:
        time.sleep(0.05)  # one of them keeps track of what is shared, and ends after the others
    assert not any(map(_lives, children))


def test_it_is_shown_in_a_browser_while_it_plays() -> None:
    port = free_port()
    arguments = [*SMALL, "--compare", "none,LoadBalancing", "--web", "--port", str(port), "-q"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rescheduler", *arguments, "--hours", "24"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    try:
        # Of nobody at work there is nothing to be seen: the first one has no page.
        said = process.stdout.readline().decode()
        assert said == f"LoadBalancing: Dashboard: http://localhost:{port}\n"
        assert process.stdout.readline().startswith(b"Token to approve")
        stands = _overview(port)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=60)
    assert stands["story"]["sentence"] == "rescheduler simulate: LoadBalancing, 24 hours"
    assert stands["nodes"] > 1
    assert process.returncode == 130


def test_how_far_each_has_come_is_one_line_of_the_terminal_that_shows_it() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))
    arguments = [*SMALL, "--compare", "none,CostOptimization"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rescheduler", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "30"},
    )
    os.close(theirs)
    shown = _all_of(ours)
    assert process.wait(timeout=120) == 0
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    assert any(" none " in line for line in lines)
    assert any(" CostOptimization " in line for line in lines)
    assert max(map(len, lines)) <= 30


def _all_of(terminal: int) -> str:
    """Read as it comes: a terminal holds a few kilobytes, and whoever writes waits for room."""
    found = b""
    with suppress(OSError), os.fdopen(terminal, "rb", buffering=0) as stream:  # closed at the end
        while part := stream.read(4096):
            found += part
    return found.decode()


def _overview(port: int) -> Any:  # noqa: ANN401
    """As soon as something is known of the cluster."""
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://localhost:{port}/api/v1alpha1/overview") as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as problem:
            with problem:
                if problem.status != 503 or time.monotonic() > deadline:
                    raise
        time.sleep(0.1)


def _lives(pid: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children")
    if not found.exists():
        pytest.skip("there is no /proc to look into")
    return [int(each) for each in found.read_text().split()]


# ---------------------------------------------------------------------- what is drawn


def course(*points: float) -> Course:
    mean = sum(points) / len(points)
    return Course(mean=mean, before=points[0], after=points[-1], points=points)


def summary(name: str, *deviation: float) -> Summary:
    flat = course(*[0.0] * len(deviation))
    return Summary(
        name=name,
        moved=3,
        put_off=2,
        failed=1,
        reasons={"NotReady": 1},
        unfinished=0,
        by_strategy={"LoadBalancing": 3},
        dips={Cause.MOVE: 0, Cause.RECREATE: 1, Cause.EVICTION: 4, Cause.OTHER: 2},
        missing_seconds={**dict.fromkeys(Cause, 0.0), Cause.RECREATE: 30.0, Cause.OTHER: 90.0},
        drain_seconds=(),
        unfinished_drains=0,
        deviation=(course(*deviation), flat),
        gap=(course(*deviation), flat),
        used=(flat, flat),
        hot=flat,
        hot_minutes=7.0,
        pending_minutes=1.2,
        nodes=course(*[4.0] * len(deviation)),
        cost=None,
        point_seconds=3600.0,
    )


def test_bars_are_as_high_as_what_they_show() -> None:
    rows = [summary("none", 8, 8, 8, 8), summary("moving", 8, 4, 1, 1)]
    drawn = pictures(rows, Page(plain=True), colours=False)
    assert drawn[0].endswith("the highest bar is 8.0")
    first, second = (line.split("|")[1] for line in drawn[1:3])
    assert {*first} == {"@"}
    assert (second[0], second[20], second[-1]) == ("@", "=", ".")
    assert drawn[2].endswith("mean 3.5, 8.0 -> 1.0")
    assert drawn[3].split() == ["0h", "1h", "2h", "3h"]
    # Nothing was hot: nothing is drawn.
    assert {*drawn[6].split("|")[1]} == {" "}


def test_colours_are_for_terminals_that_want_them() -> None:
    rows = [summary("none", 8, 1)]
    assert "\x1b[31m" in pictures(rows, Page(), colours=True)[1]
    assert "\x1b" not in pictures(rows, Page(), colours=False)[1]


def test_a_row_has_all_figures_and_notes_stand_below() -> None:
    said = as_text([summary("x", 2, 4)], Page(), about="about", notes=["mind"], colours=False)
    row = said.splitlines()[3].split()
    assert row == ["x", "3", "2", "1", "0", "7", "2", "3.0", "0.0", "3.0", "7", "1", "4.0"]
    assert said.endswith("Note: mind\n")


def test_of_drains_it_says_whom_they_left_short_and_what_they_took() -> None:
    drained = replace(summary("x", 2, 4), drain_seconds=(10.0, 30.0))
    stuck = replace(summary("y", 2, 4), unfinished_drains=2)
    some = replace(drained, name="z", unfinished_drains=1)
    said = as_text([drained, stuck, some], Page(), about="about", notes=[], colours=False)
    head, first, second, third = said.splitlines()[2:6]
    assert head.split()[4:9] == ["DIPS", "EVICTED", "OTHERS", "SHORT", "DRAIN"]
    assert first.split()[4:9] == ["0", "4", "3", "2", "20"]
    assert " <none> (2 not done) " in second
    assert " 20 (1 not done) " in third
    assert "seconds that a drain by somebody else took" in said


def test_a_narrow_terminal_is_kept_to() -> None:
    rows = [summary("a-contender-with-a-long-name", *range(1, 50))]
    assert all(len(line) <= 80 for line in pictures(rows, Page(width=80), colours=False))


def test_a_chart_shows_names_as_they_are_and_ends_at_its_frame() -> None:
    svg = as_svg([summary("<b>&", 1, 2, 30), summary("y", 3, 3, 3)], about='a "day"')
    document = xml.dom.minidom.parseString(svg)  # noqa: S318 - our own
    lines = document.getElementsByTagName("polyline")
    assert len(lines) == 4
    [first, *_] = lines
    heights = [float(each.split(",")[1]) for each in first.getAttribute("points").split()]
    assert heights[0] > heights[1] > heights[2] >= 112
    texts = [each.firstChild.data for each in document.getElementsByTagName("text")]  # type: ignore[union-attr]
    assert "<b>&" in texts
    assert {"0", "10", "20", "30"} <= {*texts}
