"""What DaemonSets will put on nodes; tests/cluster/test_daemons.py has the real controller."""

from typing import Any

import pytest

from rescheduler.model import daemons_to_come
from rescheduler.model.cluster import Node

ALL = {"operator": "Exists"}


def _node(
    name: str = "n", *, labels: dict[str, str] | None = None, taint: tuple[str, str] | None = None
) -> Node:
    return Node(
        name=name,
        labels=labels or {},
        taints=({"key": taint[0], "effect": taint[1]},) if taint else (),
        allocatable={},
        ready=True,
        unschedulable=False,
    )


def _set(uid: str = "d", *, cpu: str = "1", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"uid": uid},
        "spec": {
            "selector": {"matchLabels": {"app": uid}},
            "template": {"spec": {"containers": [container], **spec}},
        },
    }


def _on(node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    required = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


PLACES = [
    pytest.param({}, _node(), True, id="anywhere"),
    pytest.param({"nodeSelector": {"a": "b"}}, _node(labels={"a": "b"}), True, id="selected"),
    pytest.param({"nodeSelector": {"a": "b"}}, _node(), False, id="not-selected"),
    pytest.param({"affinity": _on("n")}, _node(), True, id="by-name"),
    pytest.param({"affinity": _on("m")}, _node(), False, id="by-another-name"),
    pytest.param({"nodeName": "n"}, _node(), True, id="named"),
    pytest.param({"nodeName": "m"}, _node(), False, id="another-is-named"),
    pytest.param({}, _node(taint=("team", "NoSchedule")), False, id="tainted"),
    pytest.param({"tolerations": [ALL]}, _node(taint=("team", "NoSchedule")), True, id="tolerated"),
    pytest.param({}, _node(taint=("team", "NoExecute")), False, id="tainted-for-good"),
    pytest.param({}, _node(taint=("team", "PreferNoSchedule")), True, id="a-wish"),
    *(
        pytest.param(
            {"hostNetwork": host_network},
            _node(taint=(f"node.kubernetes.io/{condition}", effect)),
            runs,
            id=f"{condition}-{effect}-{host_network}",
        )
        for condition, effect, host_network, runs in (
            ("not-ready", "NoExecute", False, True),
            ("not-ready", "NoSchedule", False, False),
            ("unreachable", "NoExecute", False, True),
            ("unreachable", "NoSchedule", False, False),
            ("disk-pressure", "NoSchedule", False, True),
            ("memory-pressure", "NoSchedule", False, True),
            ("pid-pressure", "NoSchedule", False, True),
            ("unschedulable", "NoSchedule", False, True),
            ("unschedulable", "NoExecute", False, False),
            ("network-unavailable", "NoSchedule", False, False),
            ("network-unavailable", "NoSchedule", True, True),
        )
    ),
]


@pytest.mark.parametrize(("spec", "node", "runs"), PLACES)
def test_where_it_runs(spec: dict[str, Any], node: Node, *, runs: bool) -> None:
    daemon = daemons_to_come.read(_set(**spec))
    assert daemon.runs_on(node) is runs
    assert bool(daemons_to_come.reserved([daemon], [node], {})) is runs


def test_what_is_still_to_come_is_reserved() -> None:
    sets = [
        daemons_to_come.read(_set("all", cpu="1")),
        daemons_to_come.read(_set("some", cpu="250m", nodeSelector={"disk": "fast"})),
    ]
    fast, slow = {"disk": "fast", "rack": "1"}, {"disk": "slow"}
    nodes = [
        _node("empty", labels=fast),
        _node("half", labels=fast),
        _node("full", labels=fast),
        _node("slow", labels=slow),
        _node("served", labels=slow),
    ]
    present = {"all": {"half", "full", "served"}, "some": {"full"}}
    assert daemons_to_come.reserved(sets, nodes, present) == {
        "empty": {"cpu": 1250, "pods": 2},
        "half": {"cpu": 250, "pods": 1},
        "slow": {"cpu": 1000, "pods": 1},
    }


def test_alike_in_labels_is_not_alike_in_taints_or_in_name() -> None:
    by_name = daemons_to_come.read(_set("one", affinity=_on("b")))
    anywhere = daemons_to_come.read(_set("all"))
    nodes = [_node("a"), _node("b"), _node("c", taint=("team", "NoSchedule")), _node("d")]
    assert list(daemons_to_come.reserved([anywhere], nodes, {})) == ["a", "b", "d"]
    found = daemons_to_come.reserved([by_name, anywhere], nodes, {})
    assert {name: room["pods"] for name, room in found.items()} == {"a": 1, "b": 2, "d": 1}


def test_no_daemons_or_no_nodes() -> None:
    assert daemons_to_come.reserved([], [_node()], {}) == {}
    assert daemons_to_come.reserved([daemons_to_come.read(_set())], [], {}) == {}


def test_its_pods_are_completed_as_the_api_server_will() -> None:
    raw = _set(runtimeClassName="boxed")
    raw["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"] = {"memory": "7"}
    overheads = {"boxed": {"cpu": "250m"}, "other": {"cpu": "9"}}
    assert daemons_to_come.read(raw, overheads).requests == {"cpu": 1250, "memory": 7, "pods": 1}
    assert daemons_to_come.read(raw).requests == {"cpu": 1000, "memory": 7, "pods": 1}


def test_an_amount_that_is_none_is_told() -> None:
    with pytest.raises(ValueError, match=r"containers\[app\]: requests.cpu: 'much'"):
        daemons_to_come.read(_set(cpu="much"))


def test_who_is_at_work() -> None:
    assert daemons_to_come.is_at_work(_set())
    deleted = _set()
    deleted["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert not daemons_to_come.is_at_work(deleted)
    everything = _set()
    everything["spec"]["selector"] = {}
    assert not daemons_to_come.is_at_work(everything)
