"""The objects of a big cluster, cast from stored ones (`prototypes`) by replacing bytes. Pure.

Every run makes the same cluster.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, count

from testbed import prototypes as proto

NAMESPACES = 100
DAEMON_SETS = 8
PODS_EACH, LEAST_TEMPLATES = 50, 50
"""A workload for so many pods, besides the DaemonSets: 80 % Deployments, 10 % StatefulSets, 10 %
Jobs. So a smaller cluster is like a large one.
"""
ORDINALS = range(10, 100)

OLD_REVISIONS = 3
"""ReplicaSets that each Deployment has left behind; 10 at most, unless it says otherwise."""
NODE_TYPES = (
    ("general-1", "15890m", "126841563Ki"),
    ("general-1", "15890m", "126841563Ki"),
    ("general-2", "31850m", "258916573Ki"),
    ("general-3", "47810m", "389714657Ki"),
    ("general-2", "31850m", "258916573Ki"),
    ("general-1", "15890m", "126841563Ki"),
    ("general-6", "95690m", "779431201Ki"),
)
"""Name, cores and memory of one node after the other: of 16 to 96 cores, less what kubelets keep
for themselves.
"""
FULL = 0.95
"""Of the cores of a node: no further pod is put there, as long as there are others."""
TRIES = 20

_CPU = ("100m", "200m", "250m", "400m", "500m", "750m", "900m", "950m")
_MEMORY = ("128Mi", "192Mi", "256Mi", "384Mi", "512Mi", "768Mi")
_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
"""Those that Kubernetes itself makes names of."""

_INDEX = proto.INDEX_LABEL.encode() + b"\x12\x02"
"""A label as protobuf stores it, up to its value of two characters."""

Values = Mapping[bytes, bytes]
Stored = tuple[str, bytes]
"""Key in etcd, and what stands there."""


@dataclass(frozen=True, slots=True)
class Mould:
    """A stored object to cast from."""

    stored: bytes
    uid: bytes

    def cast(self, values: Values) -> bytes:
        return _replaced(self.stored, values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """All pods of one workload, ready to be cast."""

    namespace: str
    ready: list[bytes]
    """The pieces of the stored form: every other one is a placeholder."""
    unready: list[bytes]

    def cast(self, pod: "Pod", *, is_ready: bool) -> bytes:
        pieces = self.ready if is_ready else self.unready
        return b"".join([pod.values.get(piece, piece) for piece in pieces])


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    key: str
    template: Template
    values: Values

    def stored(self, *, is_ready: bool = True) -> bytes:
        return self.template.cast(self, is_ready=is_ready)


def _replaced(text: bytes, values: Values) -> bytes:
    for name, value in values.items():
        # Else the lengths that the encoding holds would be wrong.
        assert len(name) == len(value), (name, value)
        text = text.replace(name, value)
    return text


def _bytes(values: Mapping[str, str]) -> dict[bytes, bytes]:
    return {name.encode(): value.encode() for name, value in values.items()}


@dataclass(slots=True, kw_only=True)
class Foundry:
    moulds: Mapping[str, Sequence[Mould]]
    """By kind; of a pod two, Ready and not."""
    nodes: int
    size: int
    """Pods in all."""
    pods: list[Pod] = field(default_factory=list)
    """Those that were cast."""
    _luck: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311

    def everything(self) -> Iterator[Stored]:
        for number in range(NAMESPACES):
            name = f"team-{number:02}"
            values = {proto.NAMESPACE: name}
            yield self._single("Namespace", f"namespaces/{name}", values)
            yield self._single("ServiceAccount", f"serviceaccounts/{name}/default", values)
        for number in range(self.nodes):
            kind, cpu, memory = NODE_TYPES[number % len(NODE_TYPES)]
            room = {proto.NODE_TYPE: kind, proto.NODE_CPU: cpu, proto.NODE_MEMORY: memory}
            values = _place(number) | room
            yield self._single("Node", f"minions/{values[proto.NODE]}", values)
        for number in range(DAEMON_SETS):
            yield from self._workload("DaemonSet", number, _CPU[0], range(self.nodes))
        ground = _Ground(self.nodes, self._luck)
        each = pods_each(self.nodes, self.size)
        for number in count(DAEMON_SETS):
            left = self.size - len(self.pods)
            if left <= 0:
                return
            kind = {8: "StatefulSet", 9: "Job"}.get(number % 10, "Deployment")
            cpu = self._luck.choice(_CPU)
            is_meshed = kind == "Deployment" and number % len(proto.VARIANTS) in proto.MESHED
            asked = _millicores(cpu) + (proto.PROXY_CPU if is_meshed else 0)
            places = [ground.place(asked) for _ in range(min(each, left))]
            yield from self._workload(kind, number, cpu, places)

    def _workload(
        self, kind: str, number: int, cpu: str, places: Sequence[int]
    ) -> Iterator[Stored]:
        # Agents have namespaces of their own.
        others = DAEMON_SETS + number % (NAMESPACES - DAEMON_SETS)
        namespace = f"team-{number if kind == 'DaemonSet' else others:02}"
        owner, grandowner = self._uid(), self._uid()
        app, revision = f"app-{number:04}", self._word(10)
        values = {
            proto.NAMESPACE: namespace,
            proto.APP: app,
            proto.HASH: revision,
            proto.CPU: cpu,
            proto.MEMORY: self._luck.choice(_MEMORY),
            proto.CONFIG: f"settings-{number:04}",
        }
        key = f"{kind.lower()}s/{namespace}/{app}"
        if kind == "Deployment":
            yield self._single(kind, key, values, grandowner)
            key = f"replicasets/{namespace}/{app}-{revision}"
            own = values | {proto.GRANDOWNER: grandowner}
            yield self._single("ReplicaSet", key, own, owner)
            for _ in range(OLD_REVISIONS):
                old = own | {proto.HASH: self._word(10)}
                key = f"replicasets/{namespace}/{app}-{old[proto.HASH]}"
                yield self._single("old ReplicaSet", key, old)
            if number % 2 == 0:
                yield self._single(
                    "PodDisruptionBudget", f"poddisruptionbudgets/{namespace}/{app}", values
                )
        else:
            yield self._single(kind, key, values, owner)
        yield from self._pods(kind, number, values | {proto.OWNER: owner}, places)

    def _pods(
        self, kind: str, number: int, values: Mapping[str, str], places: Iterable[int]
    ) -> Iterator[Stored]:
        variant = f" {number % len(proto.VARIANTS)}" if kind == "Deployment" else ""
        moulds = self.moulds[f"pod of {kind}{variant}"]
        name = _NAMES[kind]
        texts = (proto.SUFFIX, proto.NODE, proto.ZONE, proto.TOKEN_VOLUME, proto.ADDRESS)
        app, ordinal = values[proto.APP], f"{values[proto.APP]}-{proto.ORDINAL}"
        cuts = [text.encode() for text in (*texts, proto.CONTAINER, ordinal)]
        cuts += [_INDEX + proto.ORDINAL.encode(), moulds[0].uid]
        ready, unready = (
            re.split(b"(" + b"|".join(map(re.escape, cuts)) + b")", mould.cast(_bytes(values)))
            for mould in moulds
        )
        template = Template(namespace=values[proto.NAMESPACE], ready=ready, unready=unready)
        for index, place in zip(count(ORDINALS.start), places):
            serial = len(self.pods)
            suffix = _scattered(serial)
            address = (serial // 10_000 % 100, serial // 100 % 100, serial % 100)
            own = _place(place) | {
                proto.SUFFIX: suffix,
                proto.TOKEN_VOLUME: f"kube-api-access-{self._word(5)}",
                proto.ADDRESS: "10." + ".".join(str(100 + part) for part in address),
                proto.CONTAINER: f"containerd://{self._luck.getrandbits(256):064x}",
                ordinal: f"{app}-{index % 100:02}",
            }
            raw = _bytes(own) | {
                moulds[0].uid: self._uid().encode(),
                _INDEX + proto.ORDINAL.encode(): _INDEX + f"{index % 100:02}".encode(),
            }
            full = name.format(app=app, hash=values[proto.HASH], suffix=suffix, index=index)
            key = f"/registry/pods/{template.namespace}/{full}"
            pod = Pod(key=key, template=template, values=raw)
            self.pods.append(pod)
            yield key, pod.stored()

    def _single(
        self, kind: str, key: str, values: Mapping[str, str], uid: str | None = None
    ) -> Stored:
        mould = self.moulds[kind][0]
        own = {mould.uid: (uid or self._uid()).encode()}
        return f"/registry/{key}", mould.cast(_bytes(values) | own)

    def _uid(self) -> str:
        digits = f"{self._luck.getrandbits(128):032x}"
        return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-8{digits[17:20]}-{digits[20:]}"

    def _word(self, length: int) -> str:
        return "".join(self._luck.choices(_LETTERS, k=length))


class _Ground:
    """Where pods are put: not evenly, for a third of the nodes gets twice as full."""

    def __init__(self, nodes: int, luck: random.Random) -> None:
        rooms = [_millicores(NODE_TYPES[number % len(NODE_TYPES)][1]) for number in range(nodes)]
        weights = (room * (2 if number % 3 == 0 else 1) for number, room in enumerate(rooms))
        self._weights = list(accumulate(weights))
        self._free = [FULL * room - DAEMON_SETS * _millicores(_CPU[0]) for room in rooms]
        self._luck = luck

    def place(self, asked: int) -> int:
        """On a full cluster, a node takes more than it has."""
        nodes = range(len(self._free))
        tries = self._luck.choices(nodes, cum_weights=self._weights, k=TRIES)
        node = next((each for each in tries if self._free[each] >= asked), tries[0])
        self._free[node] -= asked
        return node


def _millicores(text: str) -> int:
    return int(text.removesuffix("m"))


_NAMES = {
    "Deployment": "{app}-{hash}-{suffix}",
    "StatefulSet": "{app}-{index}",
    "Job": "{app}-{suffix}",
    "DaemonSet": "{app}-{suffix}",
}


def _scattered(serial: int) -> str:
    """Five letters, never the same twice; neighbours look nothing alike."""
    # Coprime to the number of words, so that it visits each.
    rest, letters = serial * 5_915_587_277 % len(_LETTERS) ** 5, ""
    for _ in range(5):
        rest, index = divmod(rest, len(_LETTERS))
        letters += _LETTERS[index]
    return letters


def _place(number: int) -> dict[str, str]:
    return {proto.NODE: f"node-{number:04}", proto.ZONE: f"zone-{'abc'[number % 3]}"}


def pods_each(nodes: int, size: int) -> int:
    """How many pods a workload has that is no DaemonSet."""
    own = max(0, size - DAEMON_SETS * nodes)
    workloads = max(LEAST_TEMPLATES, size // PODS_EACH)
    return max(1, min(-(-own // workloads), len(ORDINALS)))
