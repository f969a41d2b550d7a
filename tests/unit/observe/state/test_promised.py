"""Room that is spoken for: daemons that a node will get, and pods that are nominated."""

from typing import Any

from rescheduler.wire import DAEMON_SETS, NODES, PODS, RUNTIME_CLASSES
from tests.unit.observe.state.server import Object, hear, node, owned, pod, relist, state_of

CPU = 0


def daemon_set(name: str, cpu: str = "200m", **template: Any) -> Object:  # noqa: ANN401
    container = {"name": "agent", "resources": {"requests": {"cpu": cpu}}}
    return {
        "metadata": {"namespace": "shop", "name": name, "uid": f"uid-DaemonSet-{name}"},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {"spec": {"containers": [container], **template}},
        },
    }


def test_a_node_will_get_the_daemons_that_it_lacks() -> None:
    state = state_of([node("a"), node("b")], [pod("agent-a", "a", **owned("DaemonSet", "agent"))])
    relist(state, DAEMON_SETS, [daemon_set("agent"), daemon_set("gpu", nodeSelector={"host": "b"})])
    assert state.snapshot().promised[:, CPU].tolist() == [0, 400]
    hear(state, PODS, pod("agent-b", "b", **owned("DaemonSet", "agent")))
    assert state.snapshot().promised[:, CPU].tolist() == [0, 200]
    hear(state, NODES, node("c"))
    assert state.snapshot().promised[:, CPU].tolist() == [0, 200, 200]


def test_the_overhead_of_its_runtime_class_comes_with_a_daemon() -> None:
    state = state_of([node("a")], [])
    overhead = {"overhead": {"podFixed": {"cpu": "250m"}}, "handler": "sandboxed"}
    relist(state, RUNTIME_CLASSES, [{"metadata": {"name": "sandboxed"}, **overhead}])
    relist(state, DAEMON_SETS, [daemon_set("agent", runtimeClassName="sandboxed")])
    assert state.snapshot().promised[:, CPU].tolist() == [450]


def test_a_daemon_set_of_nonsense_is_told_and_the_others_count() -> None:
    state = state_of([node("a")], [])
    told = hear(state, DAEMON_SETS, daemon_set("odd", cpu="much"), daemon_set("agent"))
    assert [each.name for each in told] == ["shop/odd"]
    assert state.snapshot().promised[:, CPU].tolist() == [200]


def test_a_nominated_pod_has_its_room() -> None:
    waiting = pod("w", cpu="700m", status={"nominatedNodeName": "b"})
    state = state_of([node("a"), node("b")], [waiting])
    assert state.snapshot().promised[:, CPU].tolist() == [0, 700]
    hear(state, PODS, pod("w", "b", cpu="700m", status={"nominatedNodeName": "b"}))
    snapshot = state.snapshot()
    assert (snapshot.promised[1, CPU], snapshot.requested[1, CPU]) == (0, 700)


def test_a_node_that_is_not_there_is_promised_nothing() -> None:
    state = state_of([node("a")], [pod("w", status={"nominatedNodeName": "gone"})])
    assert not state.snapshot().promised.any()
