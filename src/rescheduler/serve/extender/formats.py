"""What a kube-scheduler sends an extender, and reads from it: k8s.io/kube-scheduler/extender/v1.

Its types have no JSON tags, so keys are Go's names with capitals, and Go reads them in any
capitalisation; so do we. A key that is missing in an answer is a zero value: an answer without
nodes would mean that no node fits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec

MOST_BYTES: Final = 2**25
"""Of a request: 5,000 nodes by name are a tenth of a megabyte; as whole objects some dozen."""


class BadRequest(ValueError):
    """In words for whoever asked."""


class _Args(msgspec.Struct, rename="pascal"):
    """As Go writes them; the quick way."""

    pod: msgspec.Raw
    nodes: msgspec.Raw | None = None
    node_names: list[str] | None = None


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
_read_node: Final = msgspec.json.Decoder(_Node).decode
_read_anything: Final = msgspec.json.Decoder().decode
_write: Final = msgspec.json.Encoder().encode


def question(body: bytes) -> Question:
    """Raises BadRequest."""
    try:
        pod, nodes, names = _args(body)
        found = _mapping(_read_anything(pod), "Pod")
        if names is not None:
            return Question(found, names, None)
        items = _items(nodes)
        return Question(found, [_read_node(each).metadata.name for each in items], items)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as problem:
        raise BadRequest(f"cannot be read: {problem}") from None


def _args(body: bytes) -> tuple[bytes, bytes | None, list[str] | None]:
    try:
        args = _read_args(body)
    except msgspec.ValidationError:
        return _in_any_capitals(body)
    if args.nodes is None and args.node_names is None:
        return _in_any_capitals(body)
    return bytes(args.pod), None if args.nodes is None else bytes(args.nodes), args.node_names


def _in_any_capitals(body: bytes) -> tuple[bytes, bytes | None, list[str] | None]:
    found = _lowered(body)
    if "pod" not in found:
        raise BadRequest("Pod: is needed")
    names, nodes = found.get("nodenames"), found.get("nodes")
    listed = None if names is None else _names(names)
    if nodes is not None and bytes(nodes) == b"null":
        nodes = None
    if listed is None and nodes is None:
        raise BadRequest("NodeNames: is needed, or Nodes")
    return bytes(found["pod"]), None if nodes is None else bytes(nodes), listed


def _lowered(body: bytes) -> dict[str, msgspec.Raw]:
    found = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return {key.lower(): value for key, value in found.items()}


def _names(raw: msgspec.Raw) -> list[str] | None:
    return msgspec.json.decode(raw, type=list[str] | None)


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
    return b"[" + b",".join(map(_priority, names, scores)) + b"]"


@lru_cache(maxsize=2**17)
def _priority(name: str, score: int) -> bytes:
    """Of thousands of nodes, each a few times a second, and of eleven scores."""
    return _write({"Host": name, "Score": score})


def binding_result(error: str) -> bytes:
    return _write({"Error": error})
