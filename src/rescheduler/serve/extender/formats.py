"""What a kube-scheduler sends an extender, and reads from it: k8s.io/kube-scheduler/extender/v1.

Its types have no JSON tags, so keys are Go's names with capitals, and Go reads them in any
capitalisation; so do we. A key that is missing in an answer is a zero value: an answer without
nodes would mean that no node fits.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

import msgspec

from rescheduler.schedule import Numbers
from rescheduler.serve.bodies import BadRequest
from rescheduler.serve.extender import capitals
from rescheduler.serve.extender.lookup import Lookup

MOST_BYTES: Final = 2**25
"""Of a request: 5,000 nodes by name are a tenth of a megabyte; as whole objects some dozen."""
_MOST_POD_BYTES: Final = 3 * 2**19
"""As much as an API server keeps of any object. Read, rubbish takes up thirty times as much memory,
and nobody else is answered meanwhile.
"""
_MOST_NAMES_BYTES: Final = 2**22
"""Some 60,000 of the longest."""
_MOST_NODES: Final = 20_000
_MOST_BINDING_BYTES: Final = 2**12
_MOST_KEPT_BYTES: Final = 2**20
"""Until the next request: as much as any pod, or the names of 15,000 nodes. Rubbish is not kept."""

_ARGS: Final = capitals.Reader(
    {
        "pod": ("Pod", "pod", "POD"),
        "nodes": ("Nodes", "nodes", "NODES"),
        "nodenames": ("NodeNames", "nodeNames", "nodenames", "NODENAMES"),
    }
)
_NODE_LIST: Final = capitals.Reader({"items": ("items", "Items", "ITEMS")})


class _Metadata(msgspec.Struct):
    name: str = ""


class _Node(msgspec.Struct):
    metadata: _Metadata


class Names(Sequence[str]):
    """As they came: read when somebody looks at one of them, which is seldom."""

    def __init__(self, raw: bytes, number: int) -> None:
        self.raw: Final = msgspec.Raw(raw)
        self._number = number
        self._read: list[str] | None = None

    def __len__(self) -> int:
        return self._number

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return self._all()[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def _all(self) -> list[str]:
        if self._read is None:
            self._read = _read_names(self.raw)
        return self._read


@dataclass(frozen=True, slots=True)
class Question:
    pod: Mapping[str, Any]
    names: Sequence[str]
    nodes: Sequence[msgspec.Raw] | None = None
    """As they came, in the order of the names; None: only names were sent."""
    rows: Numbers | None = None
    """Of the names, among those that are known; None: they have to be looked up."""


@dataclass(frozen=True, slots=True)
class Binding:
    namespace: str
    pod: str
    uid: str
    node: str


_Named = tuple[Sequence[str], Numbers | None]
"""Names, and their rows if these are known."""

_read_names: Final = msgspec.json.Decoder(list[str]).decode
_read_nodes: Final = msgspec.json.Decoder(list[_Node]).decode
_read_each: Final = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_anything: Final = msgspec.json.Decoder().decode
_write: Final = msgspec.json.Encoder().encode


class Reader:
    """A scheduler asks for scores of those that have passed, and mostly these are all: the pod and
    the thousands of names that were read a moment ago are not read again.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, _Named] = b"", ([], None)
        self._last_pod: tuple[bytes, Mapping[str, Any]] = b"", {}
        self._known: tuple[str, ...] = ()
        self._lookup = Lookup()

    def question(self, body: bytes, known: tuple[str, ...] = ()) -> Question:
        """Raises BadRequest. The same pod and the same list of names, if they are as the last.
        `known`: names of nodes, in the order of their rows.
        """
        if self._known is not known:
            self._known, self._last = known, (b"", ([], None))
        return _question(body, self._pod, self._names)

    def _pod(self, raw: bytes) -> Mapping[str, Any]:
        before, pod = self._last_pod
        if raw == before:
            return pod
        found = _read_pod(raw)
        if len(raw) <= _MOST_KEPT_BYTES:
            self._last_pod = raw, found
        return found

    def _names(self, raw: bytes) -> _Named:
        before, named = self._last
        if raw == before:
            return named
        rows = self._lookup.rows(self._known, raw) if self._known else None
        found = _named(raw) if rows is None else (Names(raw, len(rows)), rows)
        if len(raw) <= _MOST_KEPT_BYTES:
            self._last = raw, found
        return found


def _named(raw: bytes) -> _Named:
    return _read_names(raw), None


def _read_pod(raw: bytes) -> Mapping[str, Any]:
    return _mapping(_read_anything(raw), "Pod")


def _question(
    body: bytes,
    read_pod: Callable[[bytes], Mapping[str, Any]],
    read_names: Callable[[bytes], _Named],
) -> Question:
    try:
        parts = _ARGS.parts(body, _is_question)
        if "pod" not in parts:
            raise BadRequest("Pod: is needed")
        pod = read_pod(_at_most(_MOST_POD_BYTES, parts["pod"], "Pod"))
        if "nodenames" in parts:
            sent = _at_most(_MOST_NAMES_BYTES, parts["nodenames"], "NodeNames")
            names, rows = read_names(sent)
            # Beside nodes, no names are those that nobody cared to write: none would pass.
            if names or "nodes" not in parts:
                return Question(pod, names, rows=rows)
        if "nodes" not in parts:
            raise BadRequest("NodeNames: is needed, or Nodes")
        return Question(pod, *_nodes(parts["nodes"]))
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadRequest(f"cannot be read: {problem}") from None


def _is_question(parts: capitals.Parts) -> bool:
    return "pod" in parts and ("nodes" in parts or "nodenames" in parts)


def _at_most(most: int, part: msgspec.Raw, name: str) -> bytes:
    if len(memoryview(part)) > most:
        raise BadRequest(f"{name}: more than {most} bytes")
    return bytes(part)


def _nodes(sent: msgspec.Raw) -> tuple[list[str], list[msgspec.Raw]]:
    """Names, and nodes as they came."""
    items = _NODE_LIST.parts(sent, lambda parts: "items" in parts).get("items")
    if items is None:
        if len(memoryview(sent)) > capitals.MOST_BYTES:
            # None offered would be none passed.
            raise BadRequest("Nodes: items is needed")
        return [], []
    if bytes(items).count(b'"metadata"') > _MOST_NODES:
        raise BadRequest(f"Nodes: more than {_MOST_NODES}: set nodeCacheCapable")
    return [each.metadata.name for each in _read_nodes(items)], _read_each(items)


def binding(body: bytes) -> Binding:
    """Raises BadRequest."""
    if len(body) > _MOST_BINDING_BYTES:
        raise BadRequest(f"more than {_MOST_BINDING_BYTES} bytes")
    try:
        found = {key.lower(): value for key, value in _mapping(_read_anything(body), "it").items()}
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadRequest(f"cannot be read: {problem}") from None
    told = [found.get(key) for key in ("podnamespace", "podname", "poduid", "node")]
    texts = [each for each in told if isinstance(each, str) and each]
    if len(texts) != len(told):
        raise BadRequest("PodNamespace, PodName, PodUID and Node: all are needed")
    return Binding(*texts)


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise BadRequest(f"{what}: a mapping is needed")
    return value


# ---------------------------------------------------------------------- answers


def filter_result(
    asked: Question,
    passed: Sequence[str],
    refused: Mapping[str, str],
    closed: Mapping[str, str],
) -> bytes:
    told: dict[str, Any] = {
        "Nodes": None,
        "NodeNames": None,
        "FailedNodes": refused,
        "FailedAndUnresolvableNodes": closed,
        "Error": "",
    }
    if asked.nodes is None:
        told["NodeNames"] = passed.raw if isinstance(passed, Names) else passed
    else:
        kept = {*passed}
        items = [node for name, node in zip(asked.names, asked.nodes, strict=True) if name in kept]
        told["Nodes"] = {"metadata": {}, "items": items}
    return _write(told)


def priorities(names: Sequence[str], scores: Sequence[int]) -> bytes:
    pairs = zip(names, scores, strict=True)
    return _write([{"Host": name, "Score": score} for name, score in pairs])


def binding_result(error: str) -> bytes:
    return _write({"Error": error})
