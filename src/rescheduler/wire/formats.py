"""The two formats that lists and watches come in, behind one interface."""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import msgspec

from rescheduler.wire import envelopes, protobuf, structs
from rescheduler.wire.envelopes import Buffer, Frame
from rescheduler.wire.news import Malformed, View
from rescheduler.wire.resources import Resource
from rescheduler.wire.schema import kind_of
from rescheduler.wire.views import decode, status

PROTOBUF = "application/vnd.kubernetes.protobuf"
JSON = "application/json"
# So many objects are decoded at once: enough to share the cost, too few to hold up everyone else.
GROUP = 256
# In place of a name that cannot be read.
NAMELESS = "?"


class Group(NamedTuple):
    views: Sequence[View]
    malformed: Sequence[Malformed] = ()


class ListHead(NamedTuple):
    following: str
    """The token of the next page; empty when this is the last."""
    version: str


class Format(Protocol):
    """What one answer is decoded with. ValueError when it is not of this format at all."""

    def events(self, chunk: bytes) -> Sequence[Frame]:
        """The events of a watch that are whole with these bytes."""
        ...

    @property
    def is_between_events(self) -> bool: ...

    def group(self, objects: list[bytes]) -> Group: ...

    def status(self, encoded: bytes) -> dict[str, Any]:
        """What an ERROR event tells."""
        ...

    def head(self, body: Buffer) -> ListHead | None:
        """Of a page that is not here as a whole yet; None when more of it is needed."""
        ...

    def page(self, body: Buffer) -> Iterator[Group]: ...

    def whole_head(self, body: Buffer) -> ListHead: ...


def format_of(resource: Resource, content_type: str) -> Format:
    if content_type.startswith(PROTOBUF):
        return ProtobufFormat(resource)
    return JsonFormat(resource)


# ------------------------------------------------------------------ protobuf


class ProtobufFormat:
    def __init__(self, resource: Resource) -> None:
        self._list = protobuf.CLASSES[f"{kind_of(resource).message}List"]
        self._frames = envelopes.Frames()
        self.events = self._frames.feed

    @property
    def is_between_events(self) -> bool:
        return self._frames.is_between_events

    def group(self, objects: list[bytes]) -> Group:
        if not objects:
            return Group(())
        try:
            return Group(self._views(envelopes.wrap_as_list(objects)))
        except protobuf.DecodeError:
            return self._one_by_one(objects)

    def _views(self, items: bytes) -> Sequence[View]:
        page = self._list.FromString(items)
        # Whatever the table lacks would be kept otherwise, and be part of fingerprints.
        page.DiscardUnknownFields()
        return page.items  # type: ignore[no-any-return]

    def _one_by_one(self, objects: list[bytes]) -> Group:
        views: list[View] = []
        malformed = []
        for each in objects:
            try:
                views += self._one(each)
            except protobuf.DecodeError as problem:
                malformed.append(Malformed(_name_in_protobuf(each), str(problem)))
        return Group(views, malformed)

    def _one(self, encoded: bytes) -> Sequence[View]:
        try:
            return self._views(envelopes.wrap_as_list([encoded]))
        except protobuf.DecodeError:
            return self._views(envelopes.wrap_as_list([_with_readable_annotations(encoded)]))

    def status(self, encoded: bytes) -> dict[str, Any]:
        return status(encoded)

    def head(self, body: Buffer) -> ListHead | None:
        try:
            return self.whole_head(body)
        except ValueError:
            return None

    def whole_head(self, body: Buffer) -> ListHead:
        # The metadata stands first.
        first = next(envelopes.fields(body, envelopes.list_in(body)), None)
        if first is None or first[0] != 1 or len(body) < first[2].end:
            raise ValueError("a list without metadata")
        _, _, content = first
        try:
            meta = protobuf.CLASSES["ListMeta"].FromString(bytes(body[content.begin : content.end]))
        except protobuf.DecodeError as problem:
            raise ValueError(f"a list with odd metadata: {problem}") from problem
        return ListHead(getattr(meta, "continue"), meta.resourceVersion)

    def page(self, body: Buffer) -> Iterator[Group]:
        within = envelopes.list_in(body)
        if len(body) < within.end:
            raise ValueError("a list that ends in the middle")
        items = [
            span
            for number, *span in envelopes.fields(body, within)
            if number == 2  # noqa: PLR2004
        ]
        for first in range(0, len(items), GROUP):
            some = items[first : first + GROUP]
            # They lie one behind the other, and are a list as they are.
            try:
                views = self._views(bytes(body[some[0][0].begin : some[-1][0].end]))
            except protobuf.DecodeError:
                contents = [bytes(body[content.begin : content.end]) for _, content in some]
                yield self._one_by_one(contents)
            else:
                yield Group(views)


def _with_readable_annotations(content: bytes) -> bytes:
    """Nobody checks that they are UTF-8. In JSON the server replaces what is none, and so do we."""
    mended = protobuf.CLASSES["Annotated"].FromString(content)
    for each in mended.metadata.annotations:
        each.key, each.value = _readable(each.key), _readable(each.value)
    return mended.SerializeToString()  # type: ignore[no-any-return]


def _readable(text: bytes) -> bytes:
    return text.decode(errors="replace").encode()


def _name_in_protobuf(content: bytes) -> str:
    try:
        metadata = protobuf.CLASSES["Named"].FromString(content).metadata
        names = protobuf.CLASSES["NamedMeta"].FromString(metadata)
    except protobuf.DecodeError:
        return NAMELESS
    return _name(*(each.decode(errors="replace") for each in (names.namespace, names.name)))


def _name(namespace: str, name: str) -> str:
    return f"{namespace}/{name or NAMELESS}" if namespace else name or NAMELESS


# ------------------------------------------------------------------ JSON


class _Event(msgspec.Struct, gc=False):
    type: str
    object: msgspec.Raw


class _Page(msgspec.Struct):
    """One whose objects are not looked into."""

    metadata: Any
    items: list[msgspec.Raw] | None = None


_decode_event = msgspec.json.Decoder(_Event).decode
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_anything = msgspec.json.Decoder().decode
_HEAD = re.compile(rb'\A\{(?:"(?:kind|apiVersion)":"[^"]*",)*"metadata":(\{[^{}]*\}),"items":')


@cache
def _page_decoder(resource: Resource) -> Callable[[Buffer], Any]:
    """Made once: streams are opened every minute, and this takes longer than reading most."""
    struct = structs.STRUCTS[kind_of(resource).message]
    page = msgspec.defstruct("Page", [("items", list[struct])])  # type: ignore[valid-type]
    return msgspec.json.Decoder(page).decode


class JsonFormat:
    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self._decode_page = _page_decoder(resource)
        self._rest = bytearray()

    def events(self, chunk: bytes) -> Sequence[Frame]:
        self._rest += chunk
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        try:
            events = [_decode_event(line) for line in lines if line]
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"not a watch event: {problem}") from problem
        return [Frame(event.type, bytes(event.object)) for event in events]

    @property
    def is_between_events(self) -> bool:
        return not self._rest

    def group(self, objects: list[bytes]) -> Group:
        views, malformed = [], []
        for each in objects:
            try:
                views.append(decode(self._resource, each))
            except ValueError as problem:
                malformed.append(Malformed(_name_in_json(each), str(problem)))
        return Group(views, malformed)

    def status(self, encoded: bytes) -> dict[str, Any]:
        content = _anything(encoded)
        return content if isinstance(content, dict) else {}

    def head(self, body: Buffer) -> ListHead | None:
        found = _HEAD.match(body)
        try:
            return _list_head(_anything(found[1])) if found else None
        except ValueError:
            return None

    def whole_head(self, body: Buffer) -> ListHead:
        return _list_head(self._page(body).metadata)

    def page(self, body: Buffer) -> Iterator[Group]:
        try:
            yield Group(self._decode_page(body).items)
        except (ValueError, RecursionError):
            yield self.group([bytes(each) for each in self._page(body).items or ()])

    def _page(self, body: Buffer) -> _Page:
        try:
            return _decode_page(body)
        except (ValueError, RecursionError) as problem:
            raise ValueError(f"not a list: {problem}") from problem


def _anything(encoded: bytes) -> Any:  # noqa: ANN401
    try:
        return _decode_anything(encoded)
    except RecursionError as problem:
        raise ValueError(str(problem)) from problem


def _list_head(metadata: Any) -> ListHead:  # noqa: ANN401
    try:
        return ListHead(metadata.get("continue") or "", metadata["resourceVersion"])
    except (AttributeError, KeyError):
        raise ValueError("a list without metadata") from None


def _name_in_json(content: bytes) -> str:
    try:
        metadata = _anything(content)["metadata"]
        return _name(str(metadata.get("namespace") or ""), str(metadata.get("name") or ""))
    except (ValueError, AttributeError, KeyError, TypeError):
        return NAMELESS
