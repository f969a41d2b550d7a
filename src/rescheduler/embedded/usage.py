"""What pods and nodes use, as a metrics-server would tell it: metrics.k8s.io.

Who knows what a pod uses at a moment is handed in. From it follows what nodes use: what their pods
do, a little for the node itself, and never more CPU than there is, for that is shared.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple, Protocol, runtime_checkable

import msgspec
import numpy as np
import numpy.typing as npt

from rescheduler.embedded.store import Change, Key, Store, key_of
from rescheduler.kube import Object
from rescheduler.model import conditions, quantities
from rescheduler.wire import NODE_METRICS, NODES, PODS, Resource

Numbers = npt.NDArray[np.float64]

OWN_CORES: Final = 0.05
OWN_BYTES: Final = 256.0 * 2**20
"""What a node uses for itself: no machine runs on nothing."""

_MANY_CORES: Final = 1_000_000
"""Of a node that does not say what it has."""
_NANO: Final = 1e9
_KIBI: Final = 1024.0


class Loads(Protocol):
    """What pods use while they run."""

    def of(self, pod: Object, at: datetime) -> tuple[float, float]:
        """Cores, and bytes."""
        ...


@runtime_checkable
class LoadsOfMany(Loads, Protocol):
    """The same of many at once, for whoever can tell that faster."""

    def of_many(self, pods: Sequence[Object], at: datetime) -> tuple[Numbers, Numbers]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Moment:
    """What was used at one."""

    pods: Sequence[Object]
    pod_cpu: Numbers
    """Cores, as far as the node has them."""
    pod_memory: Numbers
    nodes: Sequence[Object]
    """Those that can be asked: they are Ready."""
    node_cpu: Numbers
    node_memory: Numbers


class InUse:
    """Follows which pods run where, so that a look at them costs little however many there are."""

    def __init__(self, store: Store, loads: Loads) -> None:
        self._loads = loads
        self._pods: dict[Key, Object] = {}
        self._nodes: dict[str, Object] = {}
        self._cores: dict[str, float] = {}
        self._layout: _Layout | None = None
        """None: something has changed since it was made."""
        for pod in store.all(PODS):
            self._take_pod(pod)
        for node in store.all(NODES):
            self._take_node(node)
        store.listen(PODS, self._hear_of_pod)
        store.listen(NODES, self._hear_of_node)

    def at(self, when: datetime) -> Moment:
        """Of pods and nodes: the same lists as the last time, if they are the same."""
        if self._layout is None:
            self._layout = self._laid_out()
        pods, nodes, where, cores = self._layout
        cpu, memory = self._loads_of(pods, when)
        node_cpu = np.bincount(where, weights=cpu, minlength=len(nodes)) + OWN_CORES
        node_memory = np.bincount(where, weights=memory, minlength=len(nodes)) + OWN_BYTES
        # Whoever wants more than there is gets its share of what there is.
        share = np.minimum(cores / node_cpu, 1.0)
        return Moment(
            pods=pods,
            pod_cpu=cpu * share[where],
            pod_memory=memory,
            nodes=nodes,
            node_cpu=np.asarray(node_cpu * share, np.float64),
            node_memory=np.asarray(node_memory, np.float64),
        )

    def _laid_out(self) -> "_Layout":
        numbers = {name: number for number, name in enumerate(self._nodes)}
        pods = [pod for pod in self._pods.values() if pod["spec"]["nodeName"] in numbers]
        return _Layout(
            pods=pods,
            nodes=list(self._nodes.values()),
            where=np.array([numbers[pod["spec"]["nodeName"]] for pod in pods], np.intp),
            cores=np.array(list(self._cores.values()), np.float64),
        )

    def _loads_of(self, pods: Sequence[Object], when: datetime) -> tuple[Numbers, Numbers]:
        if isinstance(self._loads, LoadsOfMany):
            return self._loads.of_many(pods, when)
        told = np.array([self._loads.of(pod, when) for pod in pods], np.float64).reshape(-1, 2)
        return told[:, 0].copy(), told[:, 1].copy()

    # ------------------------------------------------------------------ hearing

    def _hear_of_pod(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._forget_pod(key_of(change.object))
        else:
            self._take_pod(change.object)

    def _take_pod(self, pod: Object) -> None:
        # One on its way out uses what it did, until it is gone.
        if (pod.get("status") or {}).get("phase") == "Running" and pod["spec"].get("nodeName"):
            key = key_of(pod)
            known = self._pods.get(key)
            # Of another version of the same pod, nothing that is of use here has changed.
            if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"]:
                self._pods[key] = pod
                self._layout = None
        else:
            self._forget_pod(key_of(pod))

    def _forget_pod(self, key: Key) -> None:
        if self._pods.pop(key, None) is not None:
            self._layout = None

    def _hear_of_node(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._forget_node(change.object["metadata"]["name"])
        else:
            self._take_node(change.object)

    def _take_node(self, node: Object) -> None:
        name, status = node["metadata"]["name"], node.get("status") or {}
        if not conditions.holds(node, "Ready"):
            self._forget_node(name)
            return
        has = (status.get("allocatable") or {}) | (status.get("capacity") or {})
        self._nodes[name] = node
        self._cores[name] = float(quantities.parse(has.get("cpu", _MANY_CORES)))
        self._layout = None

    def _forget_node(self, name: str) -> None:
        if self._nodes.pop(name, None) is not None:
            del self._cores[name]
            self._layout = None


class _Layout(NamedTuple):
    pods: list[Object]
    nodes: list[Object]
    where: npt.NDArray[np.intp]
    """Of the pods: which of the nodes."""
    cores: Numbers


class Metrics:
    """Serves them as lists in JSON, each measured at the moment that it is asked for."""

    def __init__(self, store: Store, now: Callable[[], datetime], loads: Loads) -> None:
        self._in_use = InUse(store, loads)
        self._now = now
        self._measured: Moment | None = None
        self._measured_at: datetime | None = None
        self._heads: dict[str, bytes] = {}
        self._heads_of: Sequence[Object] = ()

    def listing(self, resource: Resource) -> bytes:
        """Of NODE_METRICS or POD_METRICS."""
        moment = self._moment()
        if resource == NODE_METRICS:
            kind, heads = "NodeMetricsList", [_node_head(each) for each in moment.nodes]
            cpu, memory, tail = moment.node_cpu, moment.node_memory, b"}"
        else:
            kind, heads = "PodMetricsList", self._pod_heads(moment.pods)
            cpu, memory, tail = moment.pod_cpu, moment.pod_memory, b"}}]"
        at = _text(self._now()).encode()
        tail += b',"timestamp":"' + at + b'","window":"0s"}'
        items = [
            b'%b"cpu":"%dn","memory":"%dKi"%b' % (head, cores, used, tail)
            for head, cores, used in zip(
                heads,
                np.rint(cpu * _NANO).astype(np.int64).tolist(),
                np.rint(memory / _KIBI).astype(np.int64).tolist(),
                strict=True,
            )
        ]
        head = f'{{"kind":"{kind}","apiVersion":"{resource.group_version}","metadata":{{}},'
        return head.encode() + b'"items":[' + b",".join(items) + b"]}"

    def _moment(self) -> Moment:
        """Nodes and pods are asked for one after the other, and tell of the same moment then."""
        now = self._now()
        if self._measured is None or self._measured_at != now:
            self._measured, self._measured_at = self._in_use.at(now), now
        return self._measured

    def _pod_heads(self, pods: Sequence[Object]) -> list[bytes]:
        # Most of them were there the last time.
        if pods is not self._heads_of:
            known, self._heads, self._heads_of = self._heads, {}, pods
            for pod in pods:
                uid = pod["metadata"]["uid"]
                self._heads[uid] = known.get(uid) or _pod_head(pod)
        return list(self._heads.values())


_OF_A_POD: Final = b',"containers":[{"name":"all","usage":{'


def _pod_head(pod: Object) -> bytes:
    metadata = {name: pod["metadata"][name] for name in ("name", "namespace")}
    return b'{"metadata":' + msgspec.json.encode(metadata) + _OF_A_POD


def _node_head(node: Object) -> bytes:
    metadata = {"name": node["metadata"]["name"]}
    return b'{"metadata":' + msgspec.json.encode(metadata) + b',"usage":{'


def _text(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
