"""Clusters of any kind, for property tests: nodes and pods as an API server would send them."""

from typing import Any

from hypothesis import strategies as st

from rescheduler.model import names
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe.files.exporting import BY_KIND
from rescheduler.observe.state import ClusterState
from tests.unit.observe.state.server import hear

Json = dict[str, Any]

NODE_NAMES = ("node-a", "node-b", "node-c")
NAMESPACES = ("shop", "shop-2", "sh")  # "-" and "/" sort in a trap
OWNERS = (
    {"kind": "ReplicaSet", "name": "web-1", "uid": "uid-web-1", "controller": True},
    {"kind": "StatefulSet", "name": "db", "uid": "uid-db", "controller": True},
    {"kind": "DaemonSet", "name": "agent", "uid": "uid-agent", "controller": True},
)
TIMES = ("2026-01-02T03:04:05Z", "1999-12-31T23:59:59Z")

_quantities = st.sampled_from(["0", "1", "250m", "1.5", "0.1", "1Gi", "100M", "3e2", "1500m"])
_amounts = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/gpu"]), _quantities
)


def _some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    """Objects that have some of these fields, in some order of keys."""
    return st.fixed_dictionaries({}, optional=fields)


def _lists(*values: Any) -> st.SearchStrategy[list[Any]]:  # noqa: ANN401
    return st.lists(st.sampled_from(values), max_size=3)


def _name(part: Json) -> str:
    return str(part["name"])


# ------------------------------------------------------------------ nodes

_taints = _lists(
    {"key": "dedicated", "value": "db", "effect": "NoSchedule"},
    {"key": "gone", "effect": "NoExecute", "timeAdded": TIMES[0]},
)
_node_metadata = _some(
    labels=st.dictionaries(st.sampled_from(["zone", "type"]), st.sampled_from(["a", ""])),
    annotations=st.dictionaries(
        st.sampled_from([names.NODE_COST, names.DO_NOT_DISRUPT, "secret"]), st.just("3")
    ),
)
_node_status = _some(
    allocatable=st.dictionaries(
        st.sampled_from(["cpu", "memory", "pods", "example.com/gpu", "unheard-of"]), _quantities
    ),
    conditions=_lists(
        {"type": "Ready", "status": "True", "lastTransitionTime": TIMES[0]},
        {"type": "Ready", "status": "Unknown"},
        {"type": "DiskPressure", "status": "False"},
    ),
)


@st.composite
def nodes(draw: st.DrawFn) -> Json:
    name = draw(st.sampled_from(NODE_NAMES))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-{name}", **draw(_node_metadata)},
        "spec": draw(_some(taints=_taints, unschedulable=st.booleans())),
        "status": draw(_node_status),
    }


# ------------------------------------------------------------------ pods

_requirements = _lists(
    {"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "x", "operator": "Exists"}
)
_fields = _lists({"key": "metadata.name", "operator": "In", "values": ["node-a"]})
_term = _some(matchExpressions=_requirements, matchFields=_fields)
_node_affinity = _some(
    requiredDuringSchedulingIgnoredDuringExecution=st.lists(_term, min_size=1, max_size=2).map(
        lambda terms: {"nodeSelectorTerms": terms}
    ),
    preferredDuringSchedulingIgnoredDuringExecution=_lists(
        {"weight": 3, "preference": {"matchExpressions": [{"key": "x", "operator": "Exists"}]}}
    ),
)
_apart = {
    "topologyKey": "kubernetes.io/hostname",
    "labelSelector": {"matchLabels": {"app": "web"}, "matchExpressions": []},
    "namespaceSelector": {},
}
_affinity = _some(
    nodeAffinity=_node_affinity,
    podAntiAffinity=_some(requiredDuringSchedulingIgnoredDuringExecution=_lists(_apart)),
)
_volumes = _lists(
    {"name": "kube-api-access-x7x9z", "projected": {"sources": []}},
    {"name": "data", "persistentVolumeClaim": {"claimName": "data-0"}},
    {"name": "more", "persistentVolumeClaim": {"claimName": "shared", "readOnly": True}},
    {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["x"]}}}},
    {"name": "config", "configMap": {"name": "config"}},
    {"name": "tmp", "emptyDir": {}},
)
_container: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"name": st.sampled_from(["app", "side"])},
    optional={
        "resources": _some(requests=_amounts, limits=_amounts),
        "restartPolicy": st.just("Always"),
        "ports": _lists({"hostPort": 80, "containerPort": 8080, "protocol": "TCP"}),
        "env": st.just([{"name": "PASSWORD", "value": "secret"}]),
    },
)
_containers = st.lists(_container, min_size=1, max_size=2, unique_by=_name)
_spec = _some(
    initContainers=_containers,
    volumes=_volumes,
    affinity=_affinity,
    nodeSelector=st.dictionaries(st.sampled_from(["zone", "type"]), st.just("a")),
    tolerations=_lists({"operator": "Exists"}, {"key": "gone", "tolerationSeconds": 0}),
    priority=st.integers(-1, 1),
    overhead=_amounts,
    resources=_some(requests=_amounts),
    schedulingGates=_lists({"name": "quota"}),
    hostNetwork=st.booleans(),
    runtimeClassName=st.sampled_from(["", "kata"]),
)
_labels = st.dictionaries(
    st.sampled_from(["app", "version", "apps.kubernetes.io/pod-index", names.MIGRATION_ID]),
    st.sampled_from(["web", "1", ""]),
)
_annotations = st.dictionaries(
    st.sampled_from([names.DELETION_COST, names.SAFE_TO_EVICT, "secret"]),
    st.sampled_from(["3", "true"]),
)
_held: st.SearchStrategy[Json] = st.fixed_dictionaries(
    {"name": st.sampled_from(["app", "side"])},
    optional={"resources": _some(requests=_amounts), "allocatedResources": _amounts},
)
_status = _some(
    phase=st.sampled_from(["Pending", "Running", "Unknown", "Succeeded", "Failed", "Odd"]),
    startTime=st.sampled_from(TIMES),
    nominatedNodeName=st.sampled_from(NODE_NAMES),
    conditions=_lists(
        {"type": "Ready", "status": "True"},
        {"type": "Ready", "status": "False"},
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"},
        {"type": "PodResizePending", "status": "True", "reason": "Infeasible"},
        {"type": "PodResizePending", "status": "True", "reason": "Deferred"},
    ),
    containerStatuses=st.lists(_held, max_size=2, unique_by=_name),
)


@st.composite
def pods(draw: st.DrawFn) -> Json:
    name = draw(st.sampled_from(["web-0", "web-1", "web-2", "db-0"]))
    namespace = draw(st.sampled_from(NAMESPACES))
    metadata: Json = {
        "namespace": namespace,
        "name": name,
        "uid": f"uid-{namespace}-{name}",
        "labels": draw(_labels),
        "annotations": draw(_annotations),
        "ownerReferences": draw(_lists(*OWNERS, {"kind": "X", "name": "x", "uid": "x"})),
        **draw(
            _some(
                creationTimestamp=st.sampled_from(TIMES), deletionTimestamp=st.sampled_from(TIMES)
            )
        ),
    }
    spec = {**draw(_spec), "containers": draw(_containers)}
    if draw(st.booleans()):
        spec["nodeName"] = draw(st.sampled_from([*NODE_NAMES, "node-gone"]))
        if draw(st.booleans()):
            # The copy of another, which carries our pin. (What an unbound one was pinned to is not
            # kept: it has no node yet to be pinned to.)
            metadata["annotations"] |= {names.ORIGINAL_POD: "uid-x", names.ORIGINAL_POD_NAME: "x"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": spec,
        "status": draw(_status),
    }


def name_of(raw: Object) -> tuple[str, str]:
    return raw["metadata"].get("namespace", ""), raw["metadata"]["name"]


clusters = st.tuples(st.lists(nodes(), unique_by=name_of), st.lists(pods(), unique_by=name_of)).map(
    lambda both: both[0] + both[1]
)
"""All objects of one, each once."""


def snapshot_of(objects: list[Json] | list[Object]) -> Snapshot:
    state = ClusterState()
    for each in objects:
        resource = BY_KIND[each["apiVersion"], each["kind"]]
        told = hear(state, resource, dict(each))
        assert all("no allocatable" in malformed.problem for malformed in told), told
    return state.snapshot()
