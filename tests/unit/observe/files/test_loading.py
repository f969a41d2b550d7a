"""What can be read, and what is said about what cannot."""

import gzip
import io
import json
import os
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.observe import sources
from rescheduler.observe.files import Loaded, UnusableFile, load, save, to_objects
from tests.unit.observe.files.clusters import Json, clusters, snapshot_of
from tests.unit.observe.state.server import node, pod, state_of


def of(kind: str, raw: Json, version: str = "v1") -> Json:
    return {"apiVersion": version, "kind": kind, **raw}


A_NODE = of("Node", node("a"))
A_POD = of("Pod", pod("web", "a"))


def listed(*items: Any) -> Json:  # noqa: ANN401
    return {"apiVersion": "v1", "items": list(items), "kind": "List", "metadata": {}}


class Folder:
    def __init__(self, path: Path) -> None:
        self.path = path / "cluster.json"

    def load(self, document: Any, **how: Any) -> Loaded:  # noqa: ANN401
        """A document as kubectl would print it, or in another layout, or the bytes as they are."""
        how = how or {"indent": 4, "sort_keys": True}
        is_raw = isinstance(document, bytes)
        self.path.write_bytes(document if is_raw else json.dumps(document, **how).encode())
        return load(str(self.path))

    def problem(self, document: Any, **how: Any) -> str:  # noqa: ANN401
        with pytest.raises(UnusableFile) as raised:
            self.load(document, **how)
        said = str(raised.value)
        assert said.startswith(f"{self.path}: ")
        return said.removeprefix(f"{self.path}: ")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def pods_of(loaded: Loaded) -> set[str]:
    return {name for name in loaded.snapshot.pods.names if name}


# ------------------------------------------------------------------ layouts

LAYOUTS: dict[str, Json] = {
    "kubectl": {"indent": 4, "sort_keys": True},
    "jq": {"indent": 2},
    "tabs": {"indent": "\t"},
    "raw": {"separators": (",", ":")},
    "one line": {"separators": (", ", ": ")},
    "no indent": {"indent": 0},
}


@given(cluster=clusters, how=st.sampled_from(list(LAYOUTS.values())), packed=st.booleans())
def test_any_layout_gives_the_same(
    tmp_path_factory: pytest.TempPathFactory, cluster: list[Json], how: Json, *, packed: bool
) -> None:
    folder = Folder(tmp_path_factory.mktemp("layout"))
    text = json.dumps(listed(A_NODE, *cluster), **how).encode()
    loaded = folder.load(gzip.compress(text) if packed else text)
    expected = snapshot_of([A_NODE, *cluster])
    assert loaded.snapshot.unreadable == expected.unreadable
    assert to_objects(loaded.snapshot) == to_objects(expected)


@pytest.mark.parametrize("how", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize(
    "text", ['"items": [', "\n]\n}", '{"items": [{', "},\n{", "\u2028", "ü€", "\x00", '\\"']
)
def test_no_text_is_taken_for_layout(folder: Folder, how: Json, text: str) -> None:
    odd = of("Node", node("b"))
    odd["metadata"]["labels"] = {"text": text}
    odd["metadata"]["annotations"] = {text: text}
    loaded = folder.load({"note": text, **listed(odd, A_NODE)}, **how)
    assert [each.name for each in loaded.snapshot.nodes] == ["a", "b"]
    assert loaded.snapshot.nodes[1].labels == {"text": text}


def test_items_elsewhere_are_not_the_files(folder: Folder) -> None:
    other = {"aside": {"items": [of("Node", node("other"))]}, **listed(A_NODE)}
    loaded = folder.load(other, indent=4)
    assert [each.name for each in loaded.snapshot.nodes] == ["a"]


@pytest.mark.parametrize("how", [LAYOUTS["kubectl"], LAYOUTS["raw"], LAYOUTS["jq"]])
def test_lists_of_one_kind_whose_items_do_not_say_it(folder: Folder, how: Json) -> None:
    nodes = {"kind": "NodeList", "apiVersion": "v1", "metadata": {}, "items": [node("a")]}
    pods = {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": [pod("web", "a")]}
    other = folder.path.with_name("pods.json")
    other.write_text(json.dumps(pods, **how))
    assert [each.name for each in folder.load(nodes, **how).snapshot.nodes] == ["a"]
    both = load(str(folder.path), str(other))
    assert pods_of(both) == {"shop/web"}
    assert {gap.source for gap in both.snapshot.gaps}.isdisjoint({"nodes", "pods"})
    assert "the files have no services" in [gap.reason for gap in both.snapshot.gaps]


def test_a_byte_order_mark_is_no_harm(folder: Folder) -> None:
    text = json.dumps(listed(A_NODE), indent=4).encode()
    assert folder.load(b"\xef\xbb\xbf" + text).snapshot.nodes


@pytest.mark.parametrize("packed", [True, False])
def test_standard_input(monkeypatch: pytest.MonkeyPatch, *, packed: bool) -> None:
    text = json.dumps(listed(A_NODE, A_POD)).encode()
    given_ = io.BytesIO(gzip.compress(text) if packed else text)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=given_))
    assert pods_of(load("-")) == {"shop/web"}


def test_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    text = json.dumps(listed(A_NODE))
    writer = threading.Thread(target=pipe.write_text, args=[text])
    writer.start()
    try:
        assert len(load(str(pipe)).snapshot.nodes) == 1
    finally:
        writer.join()


# ------------------------------------------------------------------ what is in a list


def test_kinds_that_we_do_not_observe_are_ignored_and_counted(folder: Folder) -> None:
    secret = of("Secret", {"metadata": {"name": "x"}, "data": {"x": "y"}})
    old = of("HorizontalPodAutoscaler", {"metadata": {"name": "x"}}, "autoscaling/v1")
    loaded = folder.load(listed(A_NODE, secret, secret, old, of("ConfigMap", {}), secret))
    assert loaded.notes == (
        "ignored: 1 ConfigMap, 1 HorizontalPodAutoscaler of autoscaling/v1, 3 Secret",
    )


@pytest.mark.parametrize("how", [LAYOUTS["kubectl"], LAYOUTS["raw"]], ids=["lines", "at-once"])
def test_nothing_is_counted_twice_when_a_file_has_to_be_read_twice(
    folder: Folder, how: Json
) -> None:
    # The kind of the list stands behind the items, which do not say theirs.
    items = [{"apiVersion": "v1", "kind": "Secret"}, node("a")]
    document = {"apiVersion": "v1", "items": items, "kind": "NodeList"}
    assert folder.load(document, **how).notes == ("ignored: 1 Secret",)


@pytest.mark.parametrize("how", [LAYOUTS["kubectl"], LAYOUTS["raw"]], ids=["lines", "at-once"])
def test_lists_may_be_in_lists(folder: Folder, how: Json) -> None:
    inner = {"apiVersion": "v1", "kind": "PodList", "items": [pod("web", "a")]}
    empty = of("List", {"items": None})
    none = of("AllowList", {"metadata": {"name": "x"}})
    loaded = folder.load(listed(listed(A_NODE, listed(inner)), empty, none), **how)
    assert [each.name for each in loaded.snapshot.nodes] == ["a"]
    assert pods_of(loaded) == {"shop/web"}
    assert loaded.notes[0] == "ignored: 1 AllowList"


@pytest.mark.parametrize("is_mended", [True, False])
def test_of_an_object_that_is_there_twice_the_last_counts(
    folder: Folder, *, is_mended: bool
) -> None:
    both = [A_POD | {"spec": "none"}, A_POD]
    loaded = folder.load(listed(A_NODE, *(both if is_mended else reversed(both))))
    assert pods_of(loaded) == ({"shop/web"} if is_mended else set())
    assert len(loaded.snapshot.unreadable) == (0 if is_mended else 1)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_pods_are_dropped(folder: Folder, phase: str) -> None:
    finished = of("Pod", pod("done", "a", status={"phase": phase}))
    assert pods_of(folder.load(listed(A_NODE, A_POD, finished))) == {"shop/web"}


@pytest.mark.parametrize("how", [LAYOUTS["kubectl"], LAYOUTS["raw"]], ids=["lines", "at-once"])
def test_what_cannot_be_read_is_named_and_the_rest_is_there(folder: Folder, how: Json) -> None:
    wrong_shape = of("Pod", {"metadata": {"namespace": "shop", "name": "odd"}, "spec": "none"})
    wrong_amount = of("Pod", pod("greedy", cpu="much"))
    no_metadata = of("Pod", {"spec": {}})
    wrong_kind = {"kind": 7, "metadata": {"name": "seven"}}
    items = (A_NODE, wrong_shape, wrong_amount, no_metadata, wrong_kind, "text", None, A_POD)
    loaded = folder.load(listed(*items), **how)
    assert pods_of(loaded) == {"shop/web"}
    told = dict(each.split(": ", 1) for each in loaded.snapshot.unreadable)
    assert set(told) == {
        "pods shop/odd",
        "pods shop/greedy",
        "pods items[3]",
        "seven",
        "items[5]",
        "items[6]",
    }
    assert "$.spec" in told["pods shop/odd"]
    assert "'much' is not a Kubernetes quantity" in told["pods shop/greedy"]


def test_an_item_of_a_thousand_levels_is_no_harm_to_others(folder: Folder) -> None:
    deep = '{"kind": "Pod", "spec": ' + "[" * 100_000 + "]" * 100_000 + "}"
    lines = ["{", '"kind": "List",', '"items": [', deep + ",", json.dumps(A_NODE), "]", "}"]
    loaded = folder.load("\n".join(lines).encode())
    assert [each.name for each in loaded.snapshot.nodes] == ["a"]
    assert len(loaded.snapshot.unreadable) == 1


def test_metrics_that_cannot_be_read_are_named(folder: Folder) -> None:
    metric = {"metadata": {"name": "a"}, "usage": {"cpu": "much", "memory": "1"}}
    loaded = folder.load(listed(A_NODE, of("NodeMetrics", metric, "metrics.k8s.io/v1beta1")))
    (told,) = loaded.snapshot.unreadable
    assert told.startswith("metrics of a: ")
    assert loaded.snapshot.usage is None


def test_metrics_as_kubectl_gives_them(folder: Folder) -> None:
    node_metric = {"metadata": {"name": "a"}, "usage": {"cpu": "1500m", "memory": "1Mi"}}
    containers = [{"name": "x", "usage": {"cpu": "5n", "memory": "1Ki"}}] * 2
    pod_metric = {"metadata": {"namespace": "shop", "name": "web"}, "containers": containers}
    loaded = folder.load(
        listed(
            A_NODE,
            A_POD,
            of("NodeMetrics", node_metric, "metrics.k8s.io/v1beta1"),
            of("PodMetrics", pod_metric, "metrics.k8s.io/v1beta1"),
        )
    )
    usage = loaded.snapshot.usage
    assert usage is not None
    assert (usage.node_cpu.tolist(), usage.node_memory.tolist()) == ([1500.0], [2.0**20])
    assert (usage.pod_cpu[0], usage.pod_memory[0]) == (pytest.approx(1e-5), 2048.0)


def test_kinds_that_are_not_in_the_file_are_gaps(folder: Folder) -> None:
    gaps = {gap.source: gap.reason for gap in folder.load(listed(A_NODE)).snapshot.gaps}
    assert gaps["pods"] == "the file has no pods"
    # Hardly any cluster has migrations, and kubectl fails where it has not.
    assert set(gaps) == set(sources.BY_NAME) - {"nodes", "podmigrations"}
    assert all(gap.left_out for gap in folder.load(listed(A_NODE)).snapshot.gaps)


def test_pods_of_one_namespace_only_are_suspicious(folder: Folder) -> None:
    [note] = folder.load(listed(A_NODE, A_POD)).notes
    assert "all pods are in namespace shop" in note
    assert "-A" in note
    elsewhere = of("Pod", pod("web") | {"metadata": {"namespace": "b", "name": "w", "uid": "u"}})
    assert folder.load(listed(A_NODE, A_POD, elsewhere)).notes == ()


def test_a_file_of_ours_is_not_suspicious(folder: Folder) -> None:
    save(str(folder.path), state_of([node("a")], [pod("web", "a")]).snapshot())
    assert load(str(folder.path)).notes == ()


# ------------------------------------------------------------------ what is no use at all

EXPECTED = (
    "; expected what `rescheduler snapshot save` or `kubectl get nodes,pods,... -A -o json` writes"
)


@pytest.mark.parametrize("name", ["missing.json", "."])
def test_nothing_to_read(tmp_path: Path, name: str) -> None:
    what = "there is no such file" if name == "missing.json" else "it is a directory"
    path = tmp_path / name
    with pytest.raises(UnusableFile) as raised:
        load(str(path))
    assert str(raised.value) == f"{path}: {what}{EXPECTED}"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "it is empty" + EXPECTED),
        (b" \n", "it is empty" + EXPECTED),
        (b"items: []\nkind: List\n", "it is not JSON but looks like YAML; ask kubectl for -o json"),
        (b"---\n- a\n", "it is not JSON but looks like YAML; ask kubectl for -o json"),
        (b"# a comment\n", "it is not JSON but looks like YAML; ask kubectl for -o json"),
        (b"\x1f\x8b but no more", "it is damaged: Unknown compression method"),
        (b"\xff\xfe{\x00}\x00", "it is in UTF-16, as PowerShell writes it"),
        (b"\x89PNG\r\n", "it cannot be understood: "),
        (b'{"kind": "List", "items": [', "it cannot be understood: Input data was truncated"),
        (b'{"kind": "List", "items": []} more', "it cannot be understood: JSON is malformed"),
        (b"[" * 100_000, "it cannot be understood: "),
        (b'{"kind": "List", "items": {}}', "it cannot be understood: Expected `array | null`"),
        (b"[]", "it cannot be understood: Expected `object`, got `array`"),
        (b"{}", "it is a document without items" + EXPECTED),
        (json.dumps(A_POD).encode(), "it is a Pod" + EXPECTED),
        (b'{"kind": "NodeList", "items": null}', "there is no node in it; ask kubectl"),
        (b'{"items": [{}]}', "neither it nor an item of it says its kind" + EXPECTED),
    ],
    ids=lambda each: each[:24],
)
def test_what_is_no_list(folder: Folder, content: bytes, problem: str) -> None:
    assert folder.problem(content).startswith(problem)


@pytest.mark.parametrize(("between", "after"), [("", ""), (",,", ""), (";", ""), (",", ",")])
def test_commas_count(folder: Folder, between: str, after: str) -> None:
    item = json.dumps(A_NODE)
    lines = ["{", '"kind": "List",', '"items": [', item + between, item + after, "]", "}"]
    assert "JSON is malformed" in folder.problem("\n".join(lines).encode())
    lines[3:5] = [item + ",", item]
    assert folder.load("\n".join(lines).encode()).snapshot.nodes


@pytest.mark.parametrize("cut", [20, 200, -30, -3])
@pytest.mark.parametrize("packed", [True, False])
def test_a_file_that_was_cut_off(folder: Folder, cut: int, *, packed: bool) -> None:
    save(str(folder.path), state_of([node("a")], [pod("web", "a")]).snapshot())
    whole = folder.path.read_bytes()
    problem = folder.problem((gzip.compress(whole) if packed else whole)[:cut])
    if packed:
        assert problem == (
            "it is incomplete: the compressed data ends too early; save or copy it again"
        )
    else:
        assert "Input data was truncated" in problem


def test_a_damaged_file(folder: Folder) -> None:
    packed = bytearray(gzip.compress(json.dumps(listed(A_NODE)).encode()))
    packed[-6] ^= 1
    assert "damaged" in folder.problem(bytes(packed))


@pytest.mark.parametrize("how", [LAYOUTS["kubectl"], LAYOUTS["raw"]], ids=["lines", "at-once"])
def test_no_node_at_all(folder: Folder, how: Json) -> None:
    problem = folder.problem(listed(A_POD), **how)
    assert problem.startswith("there is no node in it; ask kubectl for ")
    assert "kubectl get nodes,pods,namespaces,replicasets," in problem
    assert problem.endswith("-A -o json")


def test_of_several_files_every_problem_is_told(folder: Folder) -> None:
    folder.load(listed(A_NODE))
    empty = folder.path.with_name("empty.json")
    empty.write_bytes(b"")
    with pytest.raises(UnusableFile) as raised:
        load(str(folder.path), str(empty), "/nowhere/pods.json")
    first, second = str(raised.value).splitlines()
    assert first.startswith(f"{empty}: it is empty")
    assert second.startswith("/nowhere/pods.json: there is no such file")


def test_a_file_of_a_later_format(folder: Folder) -> None:
    header = {"format": 2, "version": "9.9.9", "gaps": "told in another way"}
    problem = folder.problem({**listed(A_NODE), "rescheduler": header})
    assert "format 2" in problem
    assert "9.9.9" in problem


def test_a_file_of_ours_that_somebody_has_changed(folder: Folder) -> None:
    problem = folder.problem({**listed(A_NODE), "rescheduler": {"format": "one"}})
    assert problem.startswith("its part `rescheduler` is odd: Expected `int`, got `str`")


def test_no_permission(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    # The tests may run as root, whom nobody refuses.
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UnusableFile, match="it cannot be read: Permission denied"):
        load(str(folder.path))


def test_a_name_that_is_no_text_costs_one_object(folder: Folder) -> None:
    odd = json.dumps(listed(A_NODE, A_POD)).encode().replace(b'"web"', b'"\xff\xfe"')
    loaded = folder.load(odd)
    assert [each.name for each in loaded.snapshot.nodes] == [A_NODE["metadata"]["name"]]
    assert len(loaded.snapshot.unreadable) == 1
