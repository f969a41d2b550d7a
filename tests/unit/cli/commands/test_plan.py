"""`rescheduler plan` without a cluster: what it prints, what it refuses, and its exit status."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from rescheduler.cli.search_flags import SearchFlags
from rescheduler.plan import Search
from tests.unit.cli.clusters import listed, replica, replica_set, uneven
from tests.unit.cli.running import Command
from tests.unit.observe.state.server import node, pod


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return uneven(tmp_path / "cluster.json")


@pytest.fixture
def balanced(tmp_path: Path) -> str:
    path = tmp_path / "balanced.json"
    pods = [replica("web", number, on) for number, on in enumerate("ab")]
    path.write_text(listed([node("a"), node("b")], pods, replica_set("web", 2)))
    return str(path)


def moves(said: str) -> list[tuple[str, str, str]]:
    return [(each["pod"]["name"], each["from"], each["to"]) for each in json.loads(said)["moves"]]


# ------------------------------------------------------------------ what it prints


def test_a_plan_for_people(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("plan", "-f", cluster)
    assert ended.code == 0
    assert "all pods are in namespace shop" in ended.err
    lines = ended.out.splitlines()
    assert lines[0].startswith("3 nodes, 8 pods: ")
    assert any(line.startswith("LoadBalancing ") for line in lines)
    assert any(line.startswith("ResourceOptimization ") for line in lines)
    assert any(
        "shop/web-" in line and "LoadBalancing" in line and "surge" in line for line in lines
    )
    assert any(line.startswith("c ") and line.endswith(" no") for line in lines)
    assert "not in the file, so taken as if there were none: " in ended.out


def test_what_more_moves_would_gain(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("plan", "-f", cluster, "--curve")
    assert ended.code == 0
    assert "LIMIT  MOVES  CPU-IMBALANCE" in ended.out
    assert "in force, the default" in ended.out
    document = json.loads(rescheduler("plan", "-f", cluster, "--curve", "-o", "json").out)
    assert (document["kind"], document["maxReschedulePods"]) == ("Curve", 10)
    for point in document["points"]:
        limit = str(point["limit"])
        planned = json.loads(
            rescheduler("plan", "-f", cluster, "--max-moves", limit, "-o", "json").out
        )
        assert point["moves"] == len(planned["moves"])
        assert point["imbalance"] == {
            name: each["after"] for name, each in planned["imbalance"].items()
        }


def test_the_curve_ends_as_a_plan_does(rescheduler: Command, cluster: str, balanced: str) -> None:
    assert rescheduler("plan", "-f", cluster, "--curve", "--exit-code").code == 1
    assert rescheduler("plan", "-f", balanced, "--curve", "--exit-code").code == 0


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_a_plan_for_machines(rescheduler: Command, cluster: str, form: str) -> None:
    ended = rescheduler("plan", "-f", cluster, "-o", form)
    assert ended.code == 0
    document = json.loads(ended.out) if form == "json" else yaml.safe_load(ended.out)
    assert (document["apiVersion"], document["kind"]) == ("rescheduler.io/v1alpha1", "Plan")
    assert document["moves"]
    for move in document["moves"]:
        assert (move["from"], move["to"], move["strategy"]) == ("a", "b", "LoadBalancing")
        assert move["pod"]["namespace"] == "shop"
    cpu = document["imbalance"]["cpu"]
    assert (cpu["most"], cpu["least"]) == ("a", "b")
    assert cpu["after"] < cpu["before"] == 75.0
    assert rescheduler("plan", "-f", cluster, "-o", form).out == ended.out


def test_only_the_strategies_that_are_named(rescheduler: Command, cluster: str) -> None:
    one = rescheduler("plan", "-f", cluster, "--strategy", "ResourceOptimization", "-o", "json")
    assert [each["name"] for each in json.loads(one.out)["strategies"]] == ["ResourceOptimization"]
    names = ("--strategy", "LoadBalancing", "--strategy", "NodeMaintenance")
    two = rescheduler("plan", "-f", cluster, *names, "-o", "json")
    found = [each["name"] for each in json.loads(two.out)["strategies"]]
    assert found == ["NodeMaintenance", "LoadBalancing"]


def test_so_many_moves_and_no_more(rescheduler: Command, tmp_path: Path) -> None:
    cluster = uneven(tmp_path / "cluster.json", 7)
    asked = ("plan", "-f", cluster, "-o", "json", "--max-moves")
    assert len(moves(rescheduler(*asked, "1").out)) == 1
    assert len(moves(rescheduler(*asked, "0").out)) > 1


def test_a_configuration_file_is_in_force_and_flags_before_it(
    rescheduler: Command, cluster: str, tmp_path: Path
) -> None:
    path = tmp_path / "config.yaml"
    document = {
        "apiVersion": "rescheduler.io/v1alpha1",
        "kind": "ReschedulerConfiguration",
        "imbalanceThreshold": 90,
    }
    path.write_text(yaml.safe_dump(document))
    asked = ("plan", "-f", cluster, "-o", "json", "--config", str(path))
    assert moves(rescheduler(*asked).out) == []
    path.write_text(yaml.safe_dump(document | {"imbalanceThreshold": 20, "maxReschedulePods": 1}))
    assert len(moves(rescheduler(*asked).out)) == 1
    assert len(moves(rescheduler(*asked, "--max-moves", "2").out)) == 2


def test_with_all_no_node_is_left_out(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node(f"n{number:02}") for number in range(30)], [pod("x", "n00")]))
    assert "without a change; --all shows all" in rescheduler("plan", "-f", str(path)).out
    assert "\nn17 " in rescheduler("plan", "-f", str(path), "--all").out


def test_what_cannot_be_read_is_noted(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    odd = [pod(f"odd-{number:02}", "a", cpu="much") for number in range(12)]
    path.write_text(listed([node("a")], odd))
    document = json.loads(rescheduler("plan", "-f", str(path), "-o", "json").out)
    told = [note for note in document["notes"] if "cannot be read" in note]
    assert told[0].startswith("cannot be read, and left out: pods shop/odd-00: ")
    assert (len(told), told[-1]) == (11, "2 more cannot be read")


# ------------------------------------------------------------------ small clusters


@pytest.mark.parametrize("pods", [[], [pod("web", "a")]])
def test_one_node_has_nowhere_to_move_to(
    rescheduler: Command, tmp_path: Path, pods: list[dict[str, object]]
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("a")], pods))
    ended = rescheduler("plan", "-f", str(path), "--exit-code")
    assert ended.code == 0, ended
    assert ended.out.startswith(f"1 node, {len(pods)} pod")


def test_nodes_without_pods(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("a"), node("b")], []))
    ended = rescheduler("plan", "-f", str(path), "-o", "json")
    assert (ended.code, json.loads(ended.out)["moves"]) == (0, [])


# ------------------------------------------------------------------ a long search


def test_the_same_steps_and_seed_give_the_same_plan(rescheduler: Command, cluster: str) -> None:
    asked = ("plan", "-f", cluster, "--strategy", "CostOptimization", "-o", "json")
    ended = rescheduler(*asked, "--time-limit", "200ms", "--seed", "3")
    assert ended.code == 0, ended
    document = json.loads(ended.out)
    assert document["seed"] == 3
    again = rescheduler(*asked, "--steps", str(document["steps"]), "--seed", "3")
    assert json.loads(again.out)["moves"] == document["moves"]


def test_steps_are_a_limit_without_a_clock_and_time_is_one_without_steps() -> None:
    by_steps = SearchFlags(None, 7, 3).search()
    assert (by_steps.steps, by_steps.seed, by_steps.stop()) == (7, 3, False)
    by_time = SearchFlags("1ns", None, 0).search()
    assert by_time.stop()
    assert by_time.steps > 10**12
    both = SearchFlags("1h", 7, 0).search()
    assert (both.steps, both.stop()) == (7, False)


def test_who_names_no_limit_is_held_by_time() -> None:
    search = SearchFlags(None, None, 0).search()
    assert search.steps > 10**12
    assert search.stop is not Search().stop


# ------------------------------------------------------------------ exit status


@pytest.mark.parametrize("form", ["table", "json"])
def test_with_exit_code_a_plan_with_moves_is_told_from_one_without(
    rescheduler: Command, cluster: str, balanced: str, form: str
) -> None:
    asked = ("plan", "--exit-code", "-o", form, "-f")
    assert rescheduler(*asked, cluster).code == 1
    assert rescheduler(*asked, balanced).code == 0
    missing = rescheduler(*asked, "/nowhere/cluster.json")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err.startswith("error: /nowhere/cluster.json: there is no such file")
    assert rescheduler(*asked, cluster, "--config", "/nowhere/config.yaml").code == 2


def test_without_exit_code_moves_are_no_error(rescheduler: Command, cluster: str) -> None:
    assert rescheduler("plan", "-f", cluster).code == 0


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ("--strategy", "LoadBalancin"),
            'unknown name "LoadBalancin"; did you mean LoadBalancing?',
        ),
        (("--strategy", "Nonsense"), 'unknown name "Nonsense"; known: NodeMaintenance, '),
        (("--strategy", "\x1b[2J"), r'unknown name "\u001b[2J"; known: '),
        (("--max-moves", "-1"), "--max-moves: -1 is below 0"),
        (("--time-limit", "60"), '--time-limit: "60" is not a duration: a unit is missing'),
        (("--time-limit", "0s"), '--time-limit: "0s" is not above 0'),
        (("--time-limit", "-1s"), '--time-limit: "-1s" is not above 0'),
        (("--time-limit", ""), '--time-limit: "" is not a duration: empty'),
        (("--steps", "-5"), "--steps: -5 is below 0"),
        (("--seed", "-5"), "--seed: -5 is below 0"),
    ],
)
def test_wrong_flags(
    rescheduler: Command, cluster: str, arguments: tuple[str, ...], problem: str
) -> None:
    ended = rescheduler("plan", "-f", cluster, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert problem in ended.err


@pytest.mark.parametrize("arguments", [("-o", "xml"), ("--max-moves", "many"), ("--nonsense",)])
def test_wrong_usage(rescheduler: Command, cluster: str, arguments: tuple[str, ...]) -> None:
    ended = rescheduler("plan", "-f", cluster, *arguments)
    assert (ended.code, ended.out) == (2, "")


BAD = """
apiVersion: rescheduler.io/v1alpha1
kind: ReschedulerConfiguration
cpuThreshold: 180
imbalanceThreshold: -1
enabledStrategies: [LoadBalancer]
resourceOptimization: {memoryTarget: 95}
"""


def test_everything_that_is_wrong_is_told_at_once(rescheduler: Command, tmp_path: Path) -> None:
    config, broken = tmp_path / "config.yaml", tmp_path / "broken.json"
    config.write_text(BAD)
    broken.write_text('{"kind": "List", "items": [')
    ended = rescheduler(
        *("plan", "-f", str(broken), "-f", "/nowhere/pods.json", "--config", str(config)),
        *("--strategy", "Nonsense", "--time-limit", "soon"),
    )
    assert (ended.code, ended.out) == (2, "")
    lines = ended.err.splitlines()
    assert lines[0].startswith("error: --time-limit: ")
    assert lines[1].startswith("--strategy: ")
    paths = [line.split(": ")[1] for line in lines if line.startswith(f"{config}: ")]
    assert paths == [
        "cpuThreshold",
        "imbalanceThreshold",
        "enabledStrategies[0]",
        "resourceOptimization.memoryTarget",
    ]
    assert lines[-2].startswith(f"{broken}: it cannot be understood")
    assert lines[-1].startswith("/nowhere/pods.json: there is no such file")


def test_what_is_wrong_with_documents_alone_is_an_error(
    rescheduler: Command, tmp_path: Path
) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(BAD)
    ended = rescheduler("plan", "-f", "/nowhere/cluster.json", "--config", str(config))
    assert (ended.code, ended.out) == (1, "")
    assert len(ended.err.splitlines()) == 5


def test_no_cluster_is_asked_for_a_plan_that_nobody_gets(rescheduler: Command) -> None:
    ended = rescheduler("plan", "--kubeconfig", "/nowhere/kubeconfig", "--max-moves", "-1")
    assert ended.code == 2
    assert "/nowhere/kubeconfig" not in ended.err
    ended = rescheduler("plan", "--kubeconfig", "/nowhere/kubeconfig")
    assert ended.code == 1
    assert "/nowhere/kubeconfig" in ended.err


# ------------------------------------------------------------------ terminals


def test_on_a_narrow_terminal_nothing_is_wider(cluster: str) -> None:
    main, other = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rescheduler", "plan", "-f", cluster],
        stdout=other,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
    )
    os.close(other)
    said = b""
    try:
        while chunk := os.read(main, 65536):
            said += chunk
    except OSError:
        pass  # how the end of a terminal is told
    finally:
        os.close(main)
        assert process.wait() == 0
    lines = said.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("█" in line for line in lines)


def test_without_utf_8_it_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("ä"), node("b")], [pod("web", "ä")]))
    done = subprocess.run(
        [sys.executable, "-m", "rescheduler", "plan", "-f", str(path)],
        capture_output=True,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    said = done.stdout.decode("ascii")
    assert r"\xe4" in said
    assert "|" in said


def test_names_cannot_command_a_terminal(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    evil = "x\x1b]0;title\x07\x9b2J\N{RIGHT-TO-LEFT OVERRIDE}"
    pods = [replica(f"web-{evil}", number, f"a-{evil}", cpu="500m") for number in range(6)]
    nodes = [node(f"a-{evil}"), node(f"b-{evil}")]
    path.write_text(listed(nodes, pods, replica_set(f"web-{evil}", 6)))
    for form in ("table", "json", "yaml"):
        ended = rescheduler("plan", "-f", str(path), "-o", form)
        assert ended.code == 0
        assert "title" in ended.out
        assert all(each.isprintable() or each == "\n" for each in ended.out + ended.err)
