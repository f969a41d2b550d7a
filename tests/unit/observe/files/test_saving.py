"""What is written: as a whole or not at all, the same for the same cluster, and nothing secret."""

import gzip
import json
import math
import os
import stat
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from rescheduler import __version__
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.model.usage import Usage
from rescheduler.observe.files import UnusableFile, exporting, load, save, to_objects
from rescheduler.observe.state import ClusterState
from rescheduler.wire import DAEMON_SETS, REPLICA_SETS
from tests.unit.observe.files.clusters import Json, clusters, snapshot_of
from tests.unit.observe.state.server import node, pod, relist, state_of

CANARY = "canary-5eb63bbbe01e"
NOON = "2026-01-02T12:00:00Z"


@pytest.fixture
def snapshot() -> Snapshot:
    state = state_of([node("a"), node("b")], [pod("web", "a"), pod("db")])
    relist(state, REPLICA_SETS, [])
    return state.snapshot()


def content(path: Path) -> Any:  # noqa: ANN401
    packed = path.read_bytes()
    return json.loads(gzip.decompress(packed) if path.suffix == ".gz" else packed)


# ------------------------------------------------------------------ there and back


@given(clusters)
def test_what_is_loaded_is_what_was_saved(
    tmp_path_factory: pytest.TempPathFactory, cluster: list[Json]
) -> None:
    path = tmp_path_factory.mktemp("saved") / "cluster.json"
    before = snapshot_of([*cluster, {"apiVersion": "v1", "kind": "Node", **node("always-there")}])
    save(str(path), before)
    after = load(str(path)).snapshot
    assert after.unreadable == before.unreadable
    assert to_objects(after) == to_objects(before)


@pytest.mark.parametrize("name", ["cluster.json", "cluster.json.gz"])
def test_a_file_is_a_list_as_kubectl_prints_it_and_says_what_it_is(
    tmp_path: Path, snapshot: Snapshot, name: str
) -> None:
    gap = Gap(source="services", reason="we may not", forbidden=True)
    path = tmp_path / name
    save(
        str(path),
        replace(snapshot, gaps=(gap,), unreadable=("pods shop/odd: no",)),
        taken_at=NOON,
    )
    document = content(path)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    assert document["items"] == to_objects(snapshot)
    assert document["rescheduler"] == {
        "format": 1,
        "version": __version__,
        "takenAt": NOON,
        "sources": ["nodes", "pods", "replicasets"],
        "gaps": [{"source": "services", "reason": "we may not", "forbidden": True}],
        "unreadable": ["pods shop/odd: no"],
    }
    loaded = load(str(path))
    assert loaded.taken_at == NOON
    assert loaded.snapshot.taken_at == datetime.fromisoformat(NOON).timestamp()
    assert gap in loaded.snapshot.gaps
    assert loaded.snapshot.unreadable == ("pods shop/odd: no",)


def test_what_nobody_looked_at_is_a_gap_and_what_there_is_none_of_is_not(
    tmp_path: Path, snapshot: Snapshot
) -> None:
    path = tmp_path / "cluster.json"
    save(str(path), snapshot)
    gaps = {gap.source: gap.reason for gap in load(str(path)).snapshot.gaps}
    assert gaps["services"] == "the file has no services"
    assert not gaps.keys() & {"nodes", "pods", "replicasets"}


def test_a_gap_stays_what_it_was(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "cluster.json"
    forbidden = Gap(source="services", reason="we may not", forbidden=True)
    late = Gap(source="jobs", reason="not listed yet")
    left_out = Gap(source="csinodes", reason="the file has no csinodes", left_out=True)
    save(str(path), replace(snapshot, gaps=(forbidden, late, left_out)))
    assert {forbidden, late, left_out} <= set(load(str(path)).snapshot.gaps)


def test_saving_what_was_loaded_gives_the_same_file(tmp_path: Path, snapshot: Snapshot) -> None:
    first, second = tmp_path / "first.json.gz", tmp_path / "second.json.gz"
    save(str(first), snapshot, taken_at=NOON)
    again = load(str(first))
    save(str(second), again.snapshot, taken_at=again.taken_at)
    # But for the gaps, which are known by now.
    third = load(str(second))
    assert third.snapshot.gaps == again.snapshot.gaps
    assert content(second)["items"] == content(first)["items"]
    save(str(first), third.snapshot, taken_at=NOON)
    assert first.read_bytes() == second.read_bytes()


# ------------------------------------------------------------------ usage


def measured(snapshot: Snapshot, **changes: Any) -> Usage:  # noqa: ANN401
    count = len(snapshot.pods)
    usage = Usage(
        source="metrics-server",
        as_of=1_767_355_200.0,
        node_cpu=np.array([1234.567891, math.nan]),
        node_memory=np.array([2.0**30, math.nan]),
        pod_cpu=np.full(count, 7.5),
        pod_memory=np.full(count, 1000.0),
        pod_measured=np.array([each == "shop/web" for each in snapshot.pods.names]),
        unknown_nodes={1: "it says nothing"},
        node_since=np.array([1_767_355_200.0, math.nan]),
    )
    return replace(usage, **changes)


def test_usage_is_saved_where_it_is_known(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "cluster.json"
    save(str(path), replace(snapshot, usage=measured(snapshot)))
    metrics = [each for each in content(path)["items"] if "Metrics" in each["kind"]]
    head = {"apiVersion": "metrics.k8s.io/v1beta1", "timestamp": "2026-01-02T12:00:00Z"}
    assert metrics == [
        {
            **head,
            "kind": "NodeMetrics",
            "metadata": {"name": "a"},
            "usage": {"cpu": "1234567891n", "memory": "1073741824"},
        },
        {
            **head,
            "kind": "PodMetrics",
            "metadata": {"namespace": "shop", "name": "web"},
            "containers": [{"name": "all", "usage": {"cpu": "7500000n", "memory": "1000"}}],
        },
    ]


def test_usage_comes_back_and_unknown_stays_unknown(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "cluster.json"
    save(str(path), replace(snapshot, usage=measured(snapshot, source="prometheus")))
    loaded = load(str(path)).snapshot
    usage = loaded.usage
    assert usage is not None
    assert (usage.source, usage.as_of) == ("prometheus", 1_767_355_200.0)
    assert usage.node_cpu[0] == pytest.approx(1234.567891)
    assert usage.node_memory[0] == 2.0**30
    assert math.isnan(usage.node_cpu[1])
    assert usage.unknown_nodes == {1: "the file has no figure of it"}
    figures = {
        name: (usage.pod_cpu[row], usage.pod_memory[row], bool(usage.pod_measured[row]))
        for row, name in enumerate(loaded.pods.names)
    }
    # What nobody measured counts as what it asks for.
    assert figures == {"shop/web": (7.5, 1000.0, True), "shop/db": (100.0, 0.0, False)}


@pytest.mark.parametrize("source", ["requests", ""])
def test_what_nobody_measured_is_not_saved(tmp_path: Path, snapshot: Snapshot, source: str) -> None:
    path = tmp_path / "cluster.json"
    usage = measured(snapshot, source=source) if source else None
    save(str(path), replace(snapshot, usage=usage))
    assert "Metrics" not in path.read_text()
    assert load(str(path)).snapshot.usage is None


# ------------------------------------------------------------------ the file itself


def test_only_its_owner_can_read_it(tmp_path: Path, snapshot: Snapshot) -> None:
    path = tmp_path / "cluster.json"
    path.touch(mode=0o644)
    save(str(path), snapshot)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_same_cluster_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for name, order in (("one.json.gz", ["a", "b"]), ("two.json.gz", ["b", "a"])):
        nodes, pods = [node(each) for each in order], [pod(each, each) for each in order]
        for each in nodes:
            each["metadata"]["labels"] = dict.fromkeys(order, "x")
        state = state_of(nodes, pods)
        save(str(tmp_path / name), state.snapshot(), taken_at=NOON)
        written.append((tmp_path / name).read_bytes())
    assert written[0] == written[1]
    assert written[0][4:8] == bytes(4)  # where gzip has the time of day


def test_what_fails_in_the_middle_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cluster.json"
    path.write_text("old")
    monkeypatch.setattr(exporting._Pods, "_status", lambda *_: 1 / 0)  # noqa: SLF001
    with pytest.raises(ZeroDivisionError):
        save(str(path), snapshot)
    assert os.listdir(tmp_path) == ["cluster.json"]  # noqa: PTH208
    assert path.read_text() == "old"


def test_of_a_link_the_file_that_it_leads_to_is_written(tmp_path: Path, snapshot: Snapshot) -> None:
    link, target = tmp_path / "link.json", tmp_path / "target.json"
    link.symlink_to(target)
    save(str(link), snapshot)
    assert link.is_symlink()
    assert load(str(target)).snapshot.nodes == snapshot.nodes


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("nowhere/cluster.json", "its folder is not there; make it first"),
        ("", "it is there and is no file; name another one"),
        ("file/cluster.json", "it cannot be written: Not a directory"),
    ],
)
def test_where_it_cannot_be_written_is_told(
    tmp_path: Path, snapshot: Snapshot, name: str, problem: str
) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / name
    with pytest.raises(UnusableFile) as raised:
        save(str(path), snapshot)
    assert str(raised.value) == f"{path}: {problem}"


def test_a_full_disk_is_told(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr("sys.stdout", SimpleNamespace(buffer=full))
        with pytest.raises(UnusableFile, match="-: it cannot be written: No space left on device"):
            save("-", snapshot)


# ------------------------------------------------------------------ nothing secret


def test_what_is_free_text_is_not_saved(tmp_path: Path) -> None:
    container = {
        "name": "app",
        "image": CANARY,
        "env": [{"name": CANARY, "value": CANARY}],
        "envFrom": [{"secretRef": {"name": CANARY}}],
        "command": [CANARY],
        "args": [CANARY],
    }
    spec = {
        "containers": [container],
        "initContainers": [container | {"name": "init"}],
        "imagePullSecrets": [{"name": CANARY}],
        "volumes": [
            {"name": "secret", "secret": {"secretName": CANARY}},
            {"name": "config", "configMap": {"name": CANARY}},
        ],
    }
    metadata: Json = {"annotations": {CANARY: CANARY}, "managedFields": [{"manager": CANARY}]}
    named = {"namespace": "shop", "name": "all", "uid": "u"}
    template = {"metadata": metadata, "spec": spec}
    state = ClusterState()
    relist(state, DAEMON_SETS, [{"metadata": named | metadata, "spec": {"template": template}}])
    with_secrets = node("a")
    with_secrets["metadata"] |= metadata
    state_with_pods = state_of([with_secrets], [pod("web", "a", spec=spec, **metadata)])
    for name, each in (("daemons", state), ("pods", state_with_pods)):
        path = tmp_path / name
        save(str(path), each.snapshot())
        assert len(content(path)["items"]) >= 1
        assert CANARY not in path.read_text()
    # Were it there, it would be found.
    state = state_of([], [pod("web", labels={"told": CANARY})])
    save(str(tmp_path / "labels"), state.snapshot())
    assert CANARY in (tmp_path / "labels").read_text()
