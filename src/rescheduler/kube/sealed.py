"""Objects of long lists, whose larger parts stay as they were sent until somebody looks at them.

Of the thousands of pods in a namespace, few are looked at beyond their metadata: decoded, each
would take ten times the memory.
"""

import copy
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final
from weakref import WeakValueDictionary

import msgspec

from rescheduler.kube.api import Event, Listing, Object

_SEALED: Final[tuple[str, ...]] = ("spec", "status")
_IN_COMMON: Final = ("labels", "annotations", "ownerReferences")
"""Parts of the metadata that many objects of a list have alike: they share them."""
_OF_NO_USE: Final = "managedFields"

_decode = msgspec.json.Decoder().decode
_decode_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[msgspec.Raw] | None = None


class _Event(msgspec.Struct):
    type: str
    object: msgspec.Raw


_decode_page = msgspec.json.Decoder(_Page).decode
_decode_event = msgspec.json.Decoder(_Event).decode


class Sealed(dict[str, Any]):
    """Reads as the object. What is sealed is decoded anew whenever it is asked for, and not kept:
    to change it is of no effect.
    """

    __slots__ = ("__weakref__", "_sealed")

    def __init__(self, parts: Object, sealed: dict[str, bytes]) -> None:
        super().__init__(parts)
        self._sealed = sealed

    def has_sealed(self, sealed: dict[str, bytes]) -> bool:
        """Told without opening anything."""
        return self._sealed == sealed

    def __missing__(self, key: str) -> Any:  # noqa: ANN401
        return _decode(self._sealed[key])

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self._sealed

    def __iter__(self) -> Iterator[str]:
        yield from super().__iter__()
        yield from self._sealed

    def __len__(self) -> int:
        return super().__len__() + len(self._sealed)

    def keys(self) -> KeysView[str]:  # type: ignore[override]
        return KeysView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return ValuesView(self)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return ItemsView(self)

    def __setitem__(self, key: str, value: Any) -> None:  # noqa: ANN401
        self._sealed = {name: each for name, each in self._sealed.items() if name != key}
        super().__setitem__(key, value)

    def __eq__(self, other: object) -> bool:
        return dict(self) == (dict(other) if isinstance(other, Sealed) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Mapping[str, Any]) -> Object:  # type: ignore[override]
        return {**self, **other}

    def __repr__(self) -> str:
        return repr(dict(self))

    def copy(self) -> Object:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Object:
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> tuple[type[Object], tuple[Object]]:
        return dict, (dict(self),)


Alive = WeakValueDictionary[tuple[str, str], Sealed]
"""Objects that somebody has, by UID and version. What is watched is also read live, again and
again: it is there once.
"""


class Pages:
    """The pages of one list, in order. ValueError for what is none."""

    def __init__(self, alive: "Alive | None" = None) -> None:
        self._items: list[Object] = []
        self._alive = alive
        self._in_common: dict[bytes, Any] = {}
        self._metadata: dict[str, Any] = {}

    def add(self, body: bytes) -> str:
        """The token of the page that follows; empty: this was the last."""
        page = _decode_page(body)
        self._items += [sealed(each, self._in_common, self._alive) for each in page.items or ()]
        self._metadata = page.metadata
        return page.metadata.get("continue") or ""

    def listing(self) -> Listing:
        return Listing(self._items, self._metadata["resourceVersion"])


def sealed(
    encoded: msgspec.Raw,
    in_common: dict[bytes, Any] | None = None,
    alive: "Alive | None" = None,
) -> Object:
    """The very object that is alive, where somebody has the same already."""
    parts = _decode_parts(encoded)
    metadata = {
        name: _known(bytes(each), in_common if name in _IN_COMMON else None)
        for name, each in _decode_parts(parts["metadata"]).items()
        if name != _OF_NO_USE
    }
    others = {
        name: _decode(each)
        for name, each in parts.items()
        if name != "metadata" and name not in _SEALED
    }
    # As bytes of their own: a part of the page would keep all of it.
    closed = {name: bytes(parts[name]) for name in _SEALED if name in parts}
    made = Sealed(others | {"metadata": metadata}, closed)
    if alive is None:
        return made
    key = (metadata.get("uid", ""), metadata.get("resourceVersion", ""))
    known = alive.setdefault(key, made)
    # A server that was restored from a backup may give a version twice.
    return known if known["metadata"] == metadata and known.has_sealed(closed) else made


def _known(encoded: bytes, in_common: dict[bytes, Any] | None) -> Any:  # noqa: ANN401
    if in_common is None:
        return _decode(encoded)
    if encoded not in in_common:
        in_common[encoded] = _decode(encoded)
    return in_common[encoded]


def event(line: bytes, alive: "Alive | None" = None) -> Event:
    """Of a watch; an error is not sealed."""
    found = _decode_event(line)
    is_error = found.type == "ERROR"
    return Event(
        found.type, _decode(found.object) if is_error else sealed(found.object, None, alive)
    )
