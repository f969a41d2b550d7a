"""Objects of long lists, whose larger parts stay as they were sent until somebody looks at them.

Of the thousands of pods in a namespace, few are looked at beyond their metadata: decoded, each
would take ten times the memory. Of most, little else is ever asked for: of those only that is kept.
"""

import copy
from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, Final

import msgspec

from rescheduler.kube.api import Event, Known, Listing, Object, Whole

_SEALED: Final[tuple[str, ...]] = ("spec", "status")
_IN_COMMON: Final = frozenset(
    ("namespace", "generateName", "creationTimestamp", "labels", "annotations", "ownerReferences")
)
"""Parts of the metadata that many objects of a list have alike: they share them."""
_OF_NO_USE: Final = "managedFields"

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


Parts = dict[str, msgspec.Raw]
"""An object, as it was sent, part by part."""


class _Page(msgspec.Struct):
    metadata: dict[str, Any]
    items: list[Parts] | None = None


class _Event(msgspec.Struct):
    type: str
    object: Parts


_decode_parts = msgspec.json.Decoder(Parts).decode
_decode_page = msgspec.json.Decoder(_Page).decode
_decode_event = msgspec.json.Decoder(_Event).decode


# ---------------------------------------------------------------------- what is kept of most pods


class _Spec(msgspec.Struct, omit_defaults=True, rename="camel"):
    """Where it is, and by which company it goes."""

    node_name: str = ""
    affinity: msgspec.Raw = msgspec.Raw()
    topology_spread_constraints: msgspec.Raw = msgspec.Raw()


class _Condition(msgspec.Struct, omit_defaults=True, rename="camel"):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    last_probe_time: str | None = None


class _Status(msgspec.Struct, omit_defaults=True):
    phase: str = ""
    conditions: list[_Condition] | None = None


_KEPT: Final = {
    part: frozenset(kept.__struct_encode_fields__)
    for part, kept in (("spec", _Spec), ("status", _Status))
}
_OF_CONDITIONS: Final = _Condition.__struct_encode_fields__
_decode_spec = msgspec.json.Decoder(_Spec).decode
_decode_status = msgspec.json.Decoder(_Status).decode


def _kept_of_spec(encoded: msgspec.Raw) -> bytes:
    return _encode(_decode_spec(encoded))


def _kept_of_status(encoded: msgspec.Raw) -> bytes:
    """Since when something holds is asked for only where it does not: so most are alike."""
    status = _decode_status(encoded)
    for each in status.conditions or ():
        if each.status == "True":
            each.reason, each.message, each.last_transition_time = "", "", None
    return _encode(status)


_BRIEF: Final = {"spec": _kept_of_spec, "status": _kept_of_status}


class Brief(dict[str, Any]):
    """What is kept of a part. To ask for anything else is a mistake: that nothing was said is not
    known.
    """

    __slots__ = ("_kept",)

    def __init__(self, found: Object, kept: frozenset[str]) -> None:
        super().__init__(found)
        self._kept = kept

    def __missing__(self, key: str) -> Any:  # noqa: ANN401
        if key not in self._kept:
            raise LookupError(f"{key} of this pod is not kept")
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:  # noqa: ANN401
        try:
            return self[key]
        except KeyError:
            return default


class Sealed(dict[str, Any]):
    """Reads as the object. What is sealed is decoded anew whenever it is asked for, and not kept:
    to change it is of no effect.
    """

    # No dictionary for what is sealed: there are thousands of these.
    __slots__ = ("_spec", "_status", "is_brief")

    def __init__(
        self, parts: Object, sealed: Mapping[str, bytes], *, is_brief: bool = False
    ) -> None:
        super().__init__(parts)
        self._spec, self._status = (sealed.get(name) for name in _SEALED)
        self.is_brief = is_brief

    @property
    def _sealed(self) -> dict[str, bytes]:
        parts = zip(_SEALED, (self._spec, self._status), strict=True)
        return {name: each for name, each in parts if each is not None}

    def __missing__(self, key: str) -> Any:  # noqa: ANN401
        found = _decode(self._sealed[key])
        return Brief(found, _KEPT[key]) if self.is_brief else found

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
        if key in _SEALED:
            setattr(self, f"_{key}", None)
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


def is_brief(found: Mapping[str, Any]) -> bool:
    """Whether only little of it was kept."""
    if isinstance(found, Sealed):
        return found.is_brief
    return isinstance(found.get("spec"), Brief)


def brief(found: Mapping[str, Any]) -> Object:
    """The same of an object that was never sent: an embedded cluster hands out no more."""
    spec, status = found.get("spec") or {}, found.get("status") or {}
    conditions = [_kept_of_condition(each) for each in status.get("conditions") or ()]
    parts = {"spec": spec, "status": {**status, "conditions": conditions}}
    kept = {
        part: Brief({name: each[name] for name in _KEPT[part] if name in each}, _KEPT[part])
        for part, each in parts.items()
    }
    return {**found, **kept}


def _kept_of_condition(found: Mapping[str, Any]) -> Object:
    names = ("type", "status") if found["status"] == "True" else _OF_CONDITIONS
    return {name: found[name] for name in names if name in found}


class Reader:
    """Of the objects of one list or watch."""

    def __init__(self, whole: Whole | None = None, known: Known | None = None) -> None:
        """Without `whole`, all of every object is kept. What is `known` is not made once more."""
        self._whole = whole
        self._known = known
        self._in_common: dict[bytes, Any] = {}
        self._alike: dict[bytes, bytes] = {}

    def read(self, parts: Parts) -> Object:
        """The parts are used up by it."""
        told = _decode_parts(parts.pop("metadata"))
        if (known := self._same(told)) is not None:
            return known
        metadata = self._metadata(told)
        closed = {name: parts.pop(name) for name in _SEALED if name in parts}
        others = _opened(parts)
        others["metadata"] = metadata
        if self._whole is None or self._whole(metadata):
            # As bytes of their own: a part of the page would keep all of it.
            return Sealed(others, {name: bytes(each) for name, each in closed.items()})
        kept = {name: _BRIEF[name](each) for name, each in closed.items()}
        alike = {name: self._alike.setdefault(each, each) for name, each in kept.items()}
        return Sealed(others, alike, is_brief=True)

    def _same(self, told: Parts) -> Object | None:
        """What we have of it, if that is of the same version, and enough."""
        if self._known is None:
            return None
        known = self._known(_decode(told["name"]), _decode(told["resourceVersion"]))
        if known is None or not is_brief(known):
            return known
        is_enough = self._whole is not None and not self._whole(known["metadata"])
        return known if is_enough else None

    def _metadata(self, told: Parts) -> Object:
        return {
            name: self._shared(bytes(each)) if name in _IN_COMMON else _decode(each)
            for name, each in told.items()
            if name != _OF_NO_USE
        }

    def _shared(self, encoded: bytes) -> Any:  # noqa: ANN401
        if encoded not in self._in_common:
            self._in_common[encoded] = _decode(encoded)
        return self._in_common[encoded]


class Pages:
    """The pages of one list, in order. ValueError for what is none."""

    def __init__(self, whole: Whole | None = None, known: Known | None = None) -> None:
        self._items: list[Object] = []
        self._reader = Reader(whole, known)
        self._metadata: dict[str, Any] = {}

    def add(self, body: bytes) -> str:
        """The token of the page that follows; empty: this was the last."""
        page = _decode_page(body)
        self._items += map(self._reader.read, page.items or ())
        self._metadata = page.metadata
        return page.metadata.get("continue") or ""

    def listing(self) -> Listing:
        return Listing(self._items, self._metadata["resourceVersion"])


def event(line: bytes, whole: Whole | None = None) -> Event:
    """Of a watch. An error and a bookmark are of no object, which could be sealed."""
    found = _decode_event(line)
    is_of_none = found.type in ("ERROR", "BOOKMARK")
    return Event(
        found.type, _opened(found.object) if is_of_none else Reader(whole).read(found.object)
    )


def _opened(parts: Parts) -> Object:
    return {name: _decode(each) for name, each in parts.items()}
