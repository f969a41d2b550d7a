"""`rescheduler explain` without a cluster."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.cli.render import pod_words
from rescheduler.cli.render.explain_tables import as_text
from rescheduler.cli.render.layout import Page
from rescheduler.model.cluster import Pod
from rescheduler.model.moves import Move, Way
from rescheduler.plan.explaining import Explanation, Verdict
from tests.unit.cli.clusters import listed, replica, replica_set, uneven
from tests.unit.cli.running import Command
from tests.unit.observe.state.server import node, owned, pod


@pytest.fixture
def cluster(tmp_path: Path) -> str:
    return uneven(tmp_path / "cluster.json")


def labelled(said: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    label = ""
    for line in said.splitlines():
        label = line[:11].strip().rstrip(":") or label
        found.setdefault(label, []).append(line[12:])
    return found


# ------------------------------------------------------------------ what it says


def test_a_pod_that_may_move(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("explain", "pod", "shop/web-1", "-f", cluster)
    assert ended.code == 0, ended
    said = labelled(ended.out)
    assert said["Pod"] == ["shop/web-1, of ReplicaSet web"]
    assert said["Node"] == ["a"]
    assert said["Asks for"] == ["cpu 500m"]
    assert said["May move"] == ["yes"]
    assert said["Way"] == ["surge: the new pod is Ready before the old one goes"]
    assert said["Fits on"] == ["1 of 2 other nodes: b"]
    assert said["Not on"] == ["1 node (c): the node cannot be a target: it is cordoned"]
    assert "Plan" in said


def test_a_pod_that_stays(rescheduler: Command, cluster: str) -> None:
    ended = rescheduler("explain", "pod", "agent-a", "-n", "shop", "-f", cluster)
    said = labelled(ended.out)
    assert said["May move"][0] == "no:"
    assert "- it belongs to a DaemonSet" in said["May move"]
    assert said["Plan"][0].startswith("leaves it where it is, as it may not move")


def test_either_the_plan_moves_it_or_every_strategy_says_why_not(
    rescheduler: Command, cluster: str
) -> None:
    decided = json.loads(rescheduler("plan", "-f", cluster, "-o", "json").out)
    moved = {each["pod"]["name"]: each for each in decided["moves"]}
    assert 0 < len(moved) < 6
    for number in range(6):
        ended = rescheduler("explain", "pod", f"shop/web-{number}", "-f", cluster, "-o", "json")
        document = json.loads(ended.out)
        assert document["move"] == moved.get(f"web-{number}")
        assert [each["name"] for each in document["strategies"]] == [
            each["name"] for each in decided["strategies"]
        ]


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_for_machines(rescheduler: Command, cluster: str, form: str) -> None:
    ended = rescheduler("explain", "pod", "shop/agent-b", "-f", cluster, "-o", form)
    assert ended.code == 0
    document = json.loads(ended.out) if form == "json" else yaml.safe_load(ended.out)
    assert (document["kind"], document["node"]) == ("Explanation", "b")
    assert document["pod"] == {"namespace": "shop", "name": "agent-b", "uid": "uid-agent-b"}
    assert document["requests"] == {"cpu": 100, "pods": 1}
    assert (document["mayMove"], document["move"]) == (False, None)
    assert "it belongs to a DaemonSet" in document["stays"]
    assert [(each["name"], each["fits"]) for each in document["nodes"]] == [
        ("a", True),
        ("c", False),
    ]


def test_a_pod_on_no_node(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    path.write_text(listed([node("a", cpu="1")], [pod("big", cpu="3")]))
    said = labelled(rescheduler("explain", "pod", "shop/big", "-f", str(path)).out)
    assert said["Node"] == ["none yet"]
    assert said["Fits on"] == ["0 of 1 other nodes"]
    assert "cpu" in said["Not on"][0]


def test_with_all_every_node_speaks_for_itself(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    small = [node(f"small-{number:02}", cpu=f"{number}m") for number in range(20)]
    pods = [replica("web", 0, "a", cpu="500m")]
    path.write_text(listed([node("a"), *small], pods, replica_set("web", 1)))
    asked = ("explain", "pod", "shop/web-0", "-f", str(path))
    few = labelled(rescheduler(*asked).out)["Not on"]
    assert any(
        line.startswith("20 nodes (small-00, small-01, small-02 and 17 more)") for line in few
    )
    every = labelled(rescheduler(*asked, "--all").out)["Not on"]
    assert [line.split(":")[0] for line in every] == [f"small-{number:02}" for number in range(20)]


def kept(tmp_path: Path) -> str:
    """Two nodes, of which the hot one is held by a pod with a label that keeps it out."""
    path = tmp_path / "kept.json"
    labels = {"scheduler.alpha.kubernetes.io/rescheduling": "disabled"}
    pods = [
        replica("web", 0, "a", cpu="900m"),
        replica("db", 0, "a", cpu="2800m", labels=labels),
        pod("agent", "a", **owned("DaemonSet", "agent")),
    ]
    sets = [replica_set("web", 1), replica_set("db", 1)]
    path.write_text(listed([node("a"), node("b")], pods, *sets))
    return str(path)


def test_what_would_have_to_change_for_a_pod(rescheduler: Command, tmp_path: Path) -> None:
    asked = ("explain", "pod", "shop/db-0", "-f", kept(tmp_path))
    said = labelled(rescheduler(*asked).out)
    label = "scheduler.alpha.kubernetes.io/rescheduling"
    assert said["To move"] == [f"this would let it: take the label {label} off pod shop/db-0"]
    document = json.loads(rescheduler(*asked, "-o", "json").out)
    assert document["remedies"] == [
        [
            {
                "kind": "label",
                "of": "shop/db-0",
                "words": f"take the label {label} off pod shop/db-0",
                "details": {"resource": "pods", "name": label},
            }
        ]
    ]
    without = Path(asked[-1]).read_text().replace('"disabled"', '"enabled"')
    Path(asked[-1]).write_text(without)
    assert labelled(rescheduler(*asked).out)["May move"] == ["yes"]


def test_nothing_has_to_change_for_a_pod_that_may_move(rescheduler: Command, cluster: str) -> None:
    asked = ("explain", "pod", "shop/web-1", "-f", cluster)
    assert "To move" not in labelled(rescheduler(*asked).out)
    assert json.loads(rescheduler(*asked, "-o", "json").out)["remedies"] == []


def test_a_hot_node(rescheduler: Command, tmp_path: Path) -> None:
    asked = ("explain", "node", "a", "-f", kept(tmp_path))
    said = labelled(rescheduler(*asked).out)
    assert said["Node"] == ["a"]
    assert said["Takes pods"] == ["yes"]
    assert said["Load"][0].startswith("cpu 95.0 % (threshold 80), ")
    assert said["Hot"][0].startswith("15.0 points of cpu too much; the largest shares: shop/db-0 ")
    assert said["Plan"][0] == "moves 1 pod off it: shop/web-0"
    assert said["Part of it"] == ["1 pod: shop/agent"]
    assert said["Stay"][0].startswith("- shop/db-0 (cpu 70.0, memory ")
    assert said["Stay"][1].startswith("  this would let it: take the label ")
    document = json.loads(rescheduler(*asked, "-o", "json").out)
    assert (document["kind"], document["overloaded"]) == ("NodeExplanation", ["cpu"])
    assert [(each["name"], each["leaves"]) for each in document["pods"]] == [
        ("shop/db-0", ""),
        ("shop/web-0", "b"),
        ("shop/agent", ""),
    ]


def test_a_node_that_is_not_emptied(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "maintenance.json"
    document = json.loads(Path(kept(tmp_path)).read_text())
    for each in document["items"]:
        if each["metadata"]["name"] == "a" and each["kind"] == "Node":
            each["metadata"]["labels"] = {"scheduler.alpha.kubernetes.io/maintenance": "true"}
    path.write_text(json.dumps(document))
    unheeded = labelled(rescheduler("explain", "node", "a", "-f", str(path)).out)
    assert unheeded["Notes"][0] == (
        "a is labelled for maintenance, and NodeMaintenance is not among enabledStrategies: "
        "nobody empties it"
    )
    asked = ("explain", "node", "a", "-f", str(path), "--strategy", "NodeMaintenance")
    said = labelled(rescheduler(*asked).out)
    assert said["Takes pods"] == ["no: it is in maintenance"]
    assert said["Plan"][0] == "is to empty it"
    assert "shop/db-0" in said["Stay"][0]
    assert any("this would let it: take the label" in line for line in said["Stay"])
    assert said["Notes"][0].startswith("a ")


def test_a_plan_and_what_it_leaves(rescheduler: Command, tmp_path: Path) -> None:
    asked = ("explain", "plan", "-f", kept(tmp_path))
    ended = rescheduler(*asked)
    assert ended.code == 0
    lines = ended.out.splitlines()
    assert "Stay, and what would have to change:" in lines
    place = next(at for at, line in enumerate(lines) if "shop/db-0: its label " in line)
    assert "this would let it: take the label " in lines[place + 1]
    document = json.loads(rescheduler(*asked, "-o", "json").out)
    assert document["kind"] == "PlanExplanation"
    assert document["plan"]["kind"] == "Plan"
    [held] = [each for each in document["staying"] if "shop/db-0" in each["pods"]]
    assert held["remedies"][0][0]["kind"] == "label"


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("workr-1", "there is no node workr-1; did you mean worker-1"),
        ("zzz", "there is no node zzz; rescheduler snapshot show has all"),
    ],
)
def test_no_such_node(rescheduler: Command, name: str, problem: str) -> None:
    ended = rescheduler("explain", "node", name, "-f", "docs/examples/uneven-cluster.json")
    assert (ended.code, ended.out) == (1, "")
    assert f"error: {problem}" in ended.err


# ------------------------------------------------------------------ what goes wrong


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("shop/wbe-1", "there is no pod shop/wbe-1; did you mean shop/web-1"),
        ("web-1", "there is no pod default/web-1; did you mean shop/web-1?"),
        ("other/web-1", "there is no pod other/web-1; did you mean shop/web-1?"),
        ("shop/qqqqqqqqqq", "there is no pod shop/qqqqqqqqqq; pods that have ended are not"),
        ("nowhere/qqqq", "there is no pod in namespace nowhere; there are some in shop"),
    ],
)
def test_no_such_pod(rescheduler: Command, cluster: str, name: str, problem: str) -> None:
    ended = rescheduler("explain", "pod", name, "-f", cluster)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {problem}")


@pytest.mark.parametrize(
    "arguments", [("pod",), ("node",), ("pod", "shop/web-1", "--strategy", "Nonsense")]
)
def test_wrong_usage(rescheduler: Command, cluster: str, arguments: tuple[str, ...]) -> None:
    assert rescheduler("explain", *arguments, "-f", cluster).code == 2


# ------------------------------------------------------------------ words


def explanation(**others: Any) -> Explanation:  # noqa: ANN401
    fields: dict[str, Any] = {
        "pod": Pod(
            namespace="shop",
            name="web-1",
            uid="u",
            node="a",
            phase="Running",
            ready=True,
            terminating=False,
            labels={},
            annotations={},
            owner=None,
            requests={"cpu": 1500, "memory": 3 * 2**29, "pods": 1, "nvidia.com/gpu": 2},
            priority=7,
            spec={},
        ),
        "claims": (),
        "usage": {},
        "share": {},
        "word": "requests",
        "stays": (),
        "stays_when_asked": (),
        "way": Way.SURGE,
        "recreated": "",
        "group": (),
        "verdicts": (),
        "move": None,
        "refusals": (),
        "reports": (),
    }
    return Explanation(**fields | others)


def test_amounts_in_words() -> None:
    said = labelled(as_text(explanation(usage={"cpu": 1000.0, "memory": 5.0}), Page()))
    assert said["Asks for"] == ["cpu 1500m, memory 1.5Gi, nvidia.com/gpu 2"]
    assert said["Uses"] == ["cpu 1, memory 5"]
    assert said["Priority"] == ["7"]


def test_what_only_who_asks_may_do() -> None:
    reasons = ("it would be recreated",)
    explained = explanation(stays=reasons, way=Way.RECREATE, recreated="it has a disk")
    said = labelled(as_text(explained, Page()))
    assert said["May move"] == [
        "no:",
        "- it would be recreated",
        "yes when a maintenance asks for it",
    ]
    assert said["Way"][0].startswith("recreate: the old pod goes before the new one comes")
    assert said["Way"][0].endswith("; it has a disk")
    both = labelled(as_text(explanation(stays=reasons, stays_when_asked=("worse",)), Page()))
    assert both["May move"][2:] == ["nor when a maintenance asks for it:", "- worse"]
    assert "Way" not in both


def test_where_it_goes_and_with_whom() -> None:
    move = Move(
        namespace="shop",
        pod="web-1",
        uid="u",
        source="a",
        target="b",
        strategy="LoadBalancing",
        reason="it is better",
    )
    said = labelled(as_text(explanation(move=move, group=("shop/web-2",)), Page()))
    assert said["Plan"] == ["moves it to b (LoadBalancing): it is better"]
    assert said["Group"] == ["moves with shop/web-2"]


def test_it_fits_on_a_terminal_and_commands_none() -> None:
    evil = "x\x1b]0;title\x07\x9b2J"
    verdicts = tuple(Verdict(node=f"{evil}-{n}", reasons=(f"{evil} {n}",)) for n in range(40))
    found = explanation(verdicts=verdicts, stays=(evil * 5,), claims=(evil,), group=(evil,))
    for everything in (True, False):
        said = as_text(found, Page(width=80), everything=everything)
        assert all(each.isprintable() or each == "\n" for each in said)
    spread = explanation(stays=("a reason of many words " * 9,))
    assert max(map(len, as_text(spread, Page(width=80)).splitlines())) <= 80


APART = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
        ]
    },
    "podAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {
                "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
                "topologyKey": "rack",
            }
        ]
    },
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "zone", "operator": "In", "values": ["a", "b"]},
                        {"key": "old", "operator": "DoesNotExist"},
                    ]
                },
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
            ]
        }
    },
}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({}, []),
        ({"nodeSelector": {"disk": "ssd", "arch": "arm"}}, ["nodes with arch=arm, disk=ssd"]),
        (
            {"affinity": APART},
            [
                "nodes with zone in (a, b) and no old, or metadata.name=n1",
                "together with pods with app, in the same rack",
                "apart from pods with app=web, in every zone",
            ],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {
                        "topologyKey": "zone",
                        "maxSkew": 2,
                        "whenUnsatisfiable": when,
                        "labelSelector": {"matchLabels": {"app": "web"}},
                    }
                    for when in ("DoNotSchedule", "ScheduleAnyway")
                ]
            },
            [
                "pods with app=web spread over zone, at most 2 apart",
                "pods with app=web spread over zone, at most 2 apart (a wish)",
            ],
        ),
        (
            {
                "tolerations": [
                    {"key": "node.kubernetes.io/not-ready", "operator": "Exists"},
                    {"key": "gpu", "value": "yes", "effect": "NoSchedule"},
                    {"key": "spot", "operator": "Exists"},
                    {"operator": "Exists", "effect": "NoExecute"},
                    {"operator": "Exists"},
                ]
            },
            ["tolerates gpu=yes:NoSchedule, spot, every taint of NoExecute, every taint"],
        ),
        (
            {
                "hostNetwork": True,
                "containers": [{"ports": [{"hostPort": 80}, {"containerPort": 8080}]}],
                "volumes": [{"name": "scratch", "emptyDir": {}}, {"name": "conf", "configMap": {}}],
                "resourceClaims": [{"name": "gpu"}],
                "schedulerName": "other",
            },
            [
                "has local data in scratch",
                "is in the network of its node",
                "takes ports of its node: 80",
                "has resource claims: gpu",
                "is placed by other",
            ],
        ),
    ],
)
def test_rules_in_words(spec: dict[str, Any], words: list[str]) -> None:
    assert pod_words.rules(replace(explanation().pod, spec=spec), ()) == words


def test_claims_in_words() -> None:
    assert pod_words.rules(explanation().pod, ("data", "logs")) == ["mounts the claims data, logs"]
