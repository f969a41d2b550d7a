"""What a kube-scheduler sends an extender, and reads from it: k8s.io/kube-scheduler/extender/v1.

Its types have no JSON tags, so keys are Go's names with capitals, and Go reads them in any
capitalisation; so do we. A key that is missing in an answer is a zero value: an answer without
nodes would mean that no node fits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

MOST_BYTES: Final = 2**25
"""Of a request: 5,000 nodes by name are a tenth of a megabyte; as whole objects some dozen."""


_MOST_KEPT_BYTES: Final = 2**20
"""Until the next request: as much as any pod, or the names of 15,000 nodes. Rubbish is not kept."""


class BadRequest(ValueError):
    """In words for whoever asked."""


class _Args(msgspec.Struct, rename="pascal"):
    """As Go writes them; the quick way."""

    pod: msgspec.Raw
    nodes: msgspec.Raw | None = None
    node_names: msgspec.Raw | None = None


class _Named(msgspec.Struct):
    name: str = ""


class _Node(msgspec.Struct):
    metadata: _Named


@dataclass(frozen=True, slots=True)
class Question:
    pod: Mapping[str, Any]
    names: Sequence[str]
    nodes: Sequence[msgspec.Raw] | None
    """As they came, in the order of the names; None: only names were sent."""


@dataclass(frozen=True, slots=True)
class Binding:
    namespace: str
    pod: str
    uid: str
    node: str


_read_args: Final = msgspec.json.Decoder(_Args).decode
_read_names: Final = msgspec.json.Decoder(list[str] | None).decode
_read_node: Final = msgspec.json.Decoder(_Node).decode
_read_anything: Final = msgspec.json.Decoder().decode
_write: Final = msgspec.json.Encoder().encode


class Reader:
    """A scheduler asks for scores of those that have passed, and mostly these are all: the pod and
    the thousands of names that were read a moment ago are not read again.
    """

    def __init__(self) -> None:
        self._last: tuple[bytes, list[str]] = b"", []
        self._last_pod: tuple[bytes, Mapping[str, Any]] = b"", {}

    def question(self, body: bytes) -> Question:
        """Raises BadRequest. The same pod and the same list of names, if they are as the last."""
        return _question(body, self._pod, self._names)

    def _pod(self, raw: bytes) -> Mapping[str, Any]:
        before, pod = self._last_pod
        if raw == before:
            return pod
        found = _read_pod(raw)
        if len(raw) <= _MOST_KEPT_BYTES:
            self._last_pod = raw, found
        return found

    def _names(self, raw: bytes) -> list[str] | None:
        before, names = self._last
        if raw == before:
            return names
        found: list[str] | None = _read_names(raw)
        if found is not None and len(raw) <= _MOST_KEPT_BYTES:
            self._last = raw, found
        return found


def question(body: bytes) -> Question:
    """Raises BadRequest."""
    return _question(body, _read_pod, _read_names)


def _read_pod(raw: bytes) -> Mapping[str, Any]:
    return _mapping(_read_anything(raw), "Pod")


def _question(
    body: bytes,
    read_pod: Callable[[bytes], Mapping[str, Any]],
    read_names: Callable[[bytes], list[str] | None],
) -> Question:
    try:
        pod, nodes, sent = _args(body)
        found = read_pod(pod)
        names = None if sent is None else read_names(sent)
        if names is not None:
            return Question(found, names, None)
        if nodes is None:
            raise BadRequest("NodeNames: is needed, or Nodes")
        items = _items(nodes)
        return Question(found, [_read_node(each).metadata.name for each in items], items)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadRequest(f"cannot be read: {problem}") from None


def _args(body: bytes) -> tuple[bytes, bytes | None, bytes | None]:
    """Pod, Nodes and NodeNames, as they came; None: missing."""
    try:
        args = _read_args(body)
    except msgspec.ValidationError:
        return _in_any_capitals(body)
    if args.nodes is None and args.node_names is None:
        return _in_any_capitals(body)
    return bytes(args.pod), _given(args.nodes), _given(args.node_names)


def _in_any_capitals(body: bytes) -> tuple[bytes, bytes | None, bytes | None]:
    found = _lowered(body)
    if "pod" not in found:
        raise BadRequest("Pod: is needed")
    return bytes(found["pod"]), _given(found.get("nodes")), _given(found.get("nodenames"))


def _given(raw: msgspec.Raw | None) -> bytes | None:
    found = b"null" if raw is None else bytes(raw)
    return None if found == b"null" else found


def _lowered(body: bytes) -> dict[str, msgspec.Raw]:
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return {key.lower(): value for key, value in found.items()}


def _items(nodes: bytes | None) -> list[msgspec.Raw]:
    if nodes is None:
        return []
    listed = _lowered(nodes).get("items")
    return msgspec.json.decode(listed, type=list[msgspec.Raw] | None) or [] if listed else []


def binding(body: bytes) -> Binding:
    """Raises BadRequest."""
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
        told["NodeNames"] = passed
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
