"""`rescheduler snapshot` without a cluster: from files, to files, and as figures."""

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rescheduler.cli.render import snapshot_figures, snapshot_tables
from rescheduler.cli.render.layout import Page
from rescheduler.observe.files import load, to_objects
from tests.unit.cli.clusters import listed
from tests.unit.cli.running import Command
from tests.unit.observe.state.server import Object, node, owned, pod

NODE_METRICS = {"apiVersion": "metrics.k8s.io/v1beta1", "kind": "NodeMetrics"}


def elsewhere(name: str, **what: Any) -> Object:  # noqa: ANN401
    made = pod(name, **what)
    made["metadata"]["namespace"] = "elsewhere"
    return made


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    """Four nodes, of which two can take pods, and a pod for everything that is told of pods."""
    cordoned, down = node("cordoned"), node("down")
    cordoned["spec"] = {"unschedulable": True}
    down["status"]["conditions"] = []
    unschedulable = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    pods = [
        pod("web-1", "a", cpu="1500m"),
        pod("web-2", "b", cpu="500m"),
        pod("old", "b", cpu="2", deletionTimestamp="2026-01-02T03:04:05Z"),
        pod("stuck", cpu="3", status={"conditions": [unschedulable]}),
        pod("held", spec={"schedulingGates": [{"name": "quota"}]}),
        elsewhere("agent", on="cordoned", **owned("DaemonSet", "agent")),
        pod("odd", cpu="much"),
    ]
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("a", memory="6Gi"), node("b"), cordoned, down], pods))
    return str(path)


# ------------------------------------------------------------------ show


def test_the_figures_of_a_cluster(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("snapshot", "show", "-f", cluster)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        "NAME      STATUS                 CPU     MEMORY   PODS",
        "a         Ready            1.5/4 38%   0/6Gi 0%  1/110",
        "b         Ready            2.5/4 62%   0/8Gi 0%  2/110",
        "cordoned  Ready,Cordoned    0.1/4 2%   0/8Gi 0%  1/110",
        "down      NotReady            0/4 0%   0/8Gi 0%  0/110",
        "TOTAL                     4.1/16 26%  0/30Gi 0%  4/440",
        "",
        "Pods:       6, 1 of them on their way out",
        "Pending:    1 (1 found no node): shop/stuck; 1 held back by scheduling gates",
        # Of the two that can take pods, without the pod that is on its way out.
        "Imbalance:  cpu requests 25.0 points (a 37.5%, b 12.5%)",
        "            memory requests 0.0 points (all 0.0%)",
        "            pods 0.0 points (all 0.9%)",
        (
            "Not seen:   the file has no "
            "csinodes, daemonsets, deployments, endpointslices, horizontalpodautoscalers, jobs, "
            "namespaces, networkpolicies, persistentvolumeclaims, persistentvolumes, "
            "poddisruptionbudgets, priorityclasses, replicasets, resourcequotas, "
            "runtimeclasses, services, statefulsets, storageclasses, volumeattachments"
        ),
        (
            "Unreadable: pods shop/odd: ValueError: containers[app]: requests.cpu: "
            "'much' is not a Kubernetes quantity"
        ),
    ]


def test_the_figures_for_machines(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("snapshot", "show", "-f", cluster, "-o", "json")
    assert (ended.code, ended.err) == (0, "")
    document = json.loads(ended.out)
    gib = 2**30
    assert document["nodes"][0] == {
        "name": "a",
        "ready": True,
        "cordoned": False,
        "requested": {"cpuMillicores": 1500, "memoryBytes": 0, "pods": 1},
        "allocatable": {"cpuMillicores": 4000, "memoryBytes": 6 * gib, "pods": 110},
        "requestedPercent": {"cpu": 37.5, "memory": 0.0, "pods": pytest.approx(100 / 110)},
        "used": None,
    }
    assert [(each["ready"], each["cordoned"]) for each in document["nodes"][1:]] == [
        (True, False),
        (True, True),
        (False, False),
    ]
    assert document["total"]["requested"] == {"cpuMillicores": 4100, "memoryBytes": 0, "pods": 4}
    assert document["total"]["allocatable"]["memoryBytes"] == 30 * gib
    assert document["pods"] == {
        "count": 6,
        "leaving": 1,
        "gated": 1,
        "unschedulable": 1,
        "pending": ["shop/stuck"],
    }
    assert document["imbalance"]["cpu"] == {
        "points": 25.0,
        "most": {"node": "a", "percent": 37.5},
        "least": {"node": "b", "percent": 12.5},
    }
    assert document["takenAt"] is None
    assert document["usage"] == {"source": None, "outage": None}
    gap = {"source": "services", "reason": "the file has no services", "forbidden": False}
    assert gap in document["gaps"]
    assert [each.split(":")[0] for each in document["unreadable"]] == ["pods shop/odd"]


def test_usage_stands_beside_what_is_asked_for(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    metric = {"metadata": {"name": "a"}, "usage": {"cpu": "3", "memory": "2Gi"}}
    path.write_text(listed([node("a"), node("b")], [pod("web", "a")], NODE_METRICS | metric))
    ended = rescheduler("snapshot", "show", "-f", str(path))
    assert ended.out.splitlines()[:4] == [
        "NAME   STATUS       CPU     MEMORY   PODS   CPU-USED   MEM-USED",
        "a      Ready   0.1/4 2%   0/8Gi 0%  1/110        75%        25%",
        "b      Ready     0/4 0%   0/8Gi 0%  0/110  <unknown>  <unknown>",
        "TOTAL          0.1/8 1%  0/16Gi 0%  1/220  <unknown>  <unknown>",
    ]
    told = "measured by metrics-server; unknown of 1 nodes, such as b: the file has no figure of it"
    assert f"Usage:      {told}" in ended.out.splitlines()
    document = json.loads(rescheduler("snapshot", "show", "-f", str(path), "-o", "json").out)
    assert document["nodes"][0]["used"] == {"cpuMillicores": 3000.0, "memoryBytes": 2.0**31}
    assert document["nodes"][1]["used"] is None
    assert document["nodes"][1]["usageUnknown"] == "the file has no figure of it"
    assert document["usage"] == {"source": "metrics-server", "outage": None}


def test_a_node_that_has_nothing(rescheduler: Command, tmp_path: Path) -> None:
    empty = node("empty")
    del empty["status"]["allocatable"]
    path = tmp_path / "cluster.json"
    path.write_text(listed([empty], [pod("web", "empty")]))
    lines = rescheduler("snapshot", "show", "-f", str(path)).out.splitlines()
    assert lines[1] == "empty  Ready   0.1/0 -   0/0 -   1/0"
    assert "Imbalance:  <none>: 0 of 1 nodes can take pods" in lines


def test_many_pending_pods_are_counted_and_few_are_named(
    rescheduler: Command, tmp_path: Path
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("a")], [pod(f"web-{number}") for number in range(7)]))
    said = rescheduler("snapshot", "show", "-f", str(path)).out
    named = ", ".join(f"shop/web-{number}" for number in range(5))
    assert f"\nPending:    7: {named} and 2 more\n" in said


def test_on_a_terminal_everything_fits(tmp_path: Path) -> None:
    names = [f"ip-10-0-0-{number}.eu-central-1.compute.internal" for number in range(3)]
    path = tmp_path / "cluster.json"
    path.write_text(listed([node(name) for name in names], [pod("web", names[0])]))
    figures = snapshot_figures.of(load(str(path)).snapshot)
    lines = snapshot_tables.as_text(figures, Page(width=60)).splitlines()
    assert max(map(len, lines)) <= 60
    assert len({line.split()[0] for line in lines[1:4]}) == 3
    # For other programs names stay whole, and what is told stays in one line.
    whole = snapshot_tables.as_text(figures, Page()).splitlines()
    assert [line.split()[0] for line in whole[1:4]] == names
    assert len(whole) < len(lines)


# ------------------------------------------------------------------ save


def test_a_file_of_kubectls_is_made_one_of_ours(
    rescheduler: Command, cluster: str, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json.gz"
    ended = rescheduler("snapshot", "save", str(saved), "-f", cluster)
    assert (ended.code, ended.out) == (0, f"{saved} saved: 4 nodes, 6 pods\n")
    first, second = ended.err.splitlines()
    assert first.startswith("not seen: the file has no csinodes, daemonsets")
    assert second.startswith("cannot be read: pods shop/odd: ")
    assert gzip.decompress(saved.read_bytes()).startswith(b"{")
    before, after = load(cluster).snapshot, load(str(saved)).snapshot
    assert to_objects(after) == to_objects(before)
    assert (after.gaps, after.unreadable) == (before.gaps, before.unreadable)


def test_notes_are_told(rescheduler: Command, tmp_path: Path) -> None:
    path, saved = tmp_path / "cluster.json", str(tmp_path / "saved.json")
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}
    path.write_text(listed([node("a")], [pod("web", "a")], secret))
    for command in (("save", saved), ("show",)):
        told = rescheduler("snapshot", *command, "-f", str(path)).err.splitlines()
        assert told[0] == "ignored: 1 Secret"
        assert told[1].startswith("all pods are in namespace shop: ")


def test_many_unreadable_objects_are_counted_and_few_are_named(
    rescheduler: Command, tmp_path: Path
) -> None:
    path, saved = tmp_path / "cluster.json", str(tmp_path / "saved.json")
    odd = [pod(f"odd-{number:02}", cpu="much") for number in range(12)]
    path.write_text(listed([node("a")], odd))
    told = rescheduler("snapshot", "save", saved, "-f", str(path)).err.splitlines()
    assert len([line for line in told if line.startswith("cannot be read: ")]) == 11
    assert told[-1] == "cannot be read: 2 more, which the file names"
    assert len(load(saved).snapshot.unreadable) == 12


def test_to_standard_output(cluster: str) -> None:
    command = [sys.executable, "-m", "rescheduler", "snapshot", "save", "-", "-f", cluster]
    done = subprocess.run(command, capture_output=True, check=True)
    assert len(json.loads(done.stdout)["items"]) == 10
    assert b"saved" not in done.stderr


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize("command", [("show",), ("save", "out.json")])
def test_a_file_that_is_no_use_is_an_error_in_one_line(
    rescheduler: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text("kind: List\n")
    ended = rescheduler("snapshot", *command, "-f", str(path))
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == (
        f"error: {path}: it is not JSON but looks like YAML; ask kubectl for -o json\n"
    )


def test_a_place_where_nothing_can_be_written_is_an_error(
    rescheduler: Command, cluster: str
) -> None:
    ended = rescheduler("snapshot", "save", "/nowhere/out.json", "-f", cluster)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == "error: /nowhere/out.json: its folder is not there; make it first\n"


COMMAND = f"{sys.executable} -m rescheduler snapshot"


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    # Buffered, as for users: Python writes again at its end what could not be written before.
    line = f"unset PYTHONUNBUFFERED; {line}"
    return subprocess.run(["/bin/sh", "-c", line], capture_output=True, check=False, text=True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("show > /dev/full", "standard output cannot be written: No space left on device"),
        ("show >&-", "standard output is closed"),
        ("show -o json >&-", "standard output is closed"),
        ("show -f - <&-", "-: standard input is closed; expected what"),
        ("save - > /dev/full", "-: it cannot be written: No space left on device"),
        ("save - >&-", "-: standard output is closed"),
    ],
)
def test_nowhere_to_read_or_write_is_an_error_in_one_line(
    cluster: str, arguments: str, problem: str
) -> None:
    command, rest = arguments.split(" ", 1)
    line = f"{COMMAND} {command} -f {cluster} {rest}"
    done = in_shell(line)
    assert (done.returncode, done.stdout) == (1, "")
    [told] = done.stderr.splitlines()
    assert told.startswith(f"error: {problem}")


@pytest.mark.parametrize(("name", "code"), [("cluster.json", 0), ("missing.json", 1)])
@pytest.mark.parametrize("where", ["2> /dev/full", "2>&-"])
def test_errors_that_nobody_hears_change_nothing(
    cluster: str, name: str, code: int, where: str
) -> None:
    done = in_shell(f"{COMMAND} save - -f {Path(cluster).with_name(name)} {where}")
    assert done.returncode == code
    assert bool(done.stdout) == (code == 0)


def test_a_file_that_was_saved_is_no_error_whoever_listens(cluster: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    for where in ("> /dev/full", ">&-"):
        line = f"{COMMAND} save {saved} -f {cluster} {where}"
        assert in_shell(line).returncode == 0
        assert load(str(saved)).snapshot.nodes
        saved.unlink()


def test_names_cannot_command_a_terminal(rescheduler: Command, tmp_path: Path) -> None:
    path, saved = tmp_path / "cluster.json", str(tmp_path / "saved.json")
    evil = "x\x1b]0;title\x07\x9b2J\n\N{RIGHT-TO-LEFT OVERRIDE}é"
    odd = {"apiVersion": "v1", "kind": f"Odd{evil}"}
    pods = [pod(f"held-{evil}"), pod(f"odd-{evil}", cpu="much")]
    path.write_text(listed([node(f"a-{evil}"), node("b")], pods, odd))
    harmless = r"x\x1b]0;title\x07\x9b2J\n\u202eé"
    shown = rescheduler("snapshot", "show", "-f", str(path))
    told = rescheduler("snapshot", "save", saved, "-f", str(path)).err
    assert f"a-{harmless}  Ready" in shown.out
    assert f"shop/held-{harmless}" in shown.out
    assert f"shop/odd-{harmless}" in shown.out
    assert f"1 Odd{harmless}" in shown.err
    assert f"shop/odd-{harmless}" in told
    failed = rescheduler("snapshot", "show", "-f", f"/nowhere/{evil}").err
    assert r"/nowhere/x\x1b]0;title\x07" in failed
    said = shown.out + shown.err + told + failed
    assert all(each.isprintable() or each == "\n" for each in said)


def test_a_kubeconfig_that_is_not_there_is_named(rescheduler: Command) -> None:
    ended = rescheduler("snapshot", "show", "--kubeconfig", "/nowhere/kubeconfig")
    assert ended.code == 1
    assert ended.err.startswith("error: ")
    assert "/nowhere/kubeconfig" in ended.err


@pytest.mark.parametrize("command", [("save",), ("show", "-o", "xml"), ("load",)])
def test_wrong_usage(rescheduler: Command, command: tuple[str, ...]) -> None:
    assert rescheduler("snapshot", *command).code == 2


def test_help_names_both_commands(rescheduler: Command) -> None:
    ended = rescheduler("snapshot", "--help")
    assert ended.code == 0
    assert "save" in ended.out
    assert "show" in ended.out


def test_the_command_line_starts_without_what_is_slow_to_import() -> None:
    program = "import sys, rescheduler.cli.app; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    assert not set(done.stdout.split()) & {"numpy", "aiohttp", "kubernetes", "google.protobuf"}
