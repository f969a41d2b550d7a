"""JSON into the fields of the table and no others: one msgspec struct for each message.

Absent pointers are told from empty ones by identity: each has one value that stands for absent, and
reads as an empty one does.
"""

import datetime as dt
from collections.abc import Callable
from typing import Annotated, Any, Final

import msgspec

from rescheduler.wire.schema import MESSAGES, Field, Form

Struct = msgspec.Struct


class _AbsentText(str):
    __slots__ = ()


class _AbsentNumber(int):
    """Also for flags, which cannot be subclassed."""


_NO_TEXT: Final = _AbsentText()
_NO_NUMBER: Final = _AbsentNumber()
_NO_MAP: Final = msgspec.Raw(b"")

_TIME = Annotated[dt.datetime, msgspec.Meta(tz=True)] | None
_TYPES: dict[str, Any] = {
    "text": str,
    "number": int,
    "flag": bool,
    "time": _TIME,
    # The server writes text; people write numbers, too.
    "quantity": str | int | float,
    "intOrString": int | str,
    "anything": dict[str, Any],
}
_EMPTY = {"text": "", "number": 0, "flag": False, "time": None}
_ABSENT: dict[str, Any] = {
    "text": _NO_TEXT,
    "number": _NO_NUMBER,
    "flag": _NO_NUMBER,
    "time": None,
    "intOrString": None,
}
_FORMS: dict[Form, Callable[[Any], Any]] = {
    Form.ONE: lambda type_: type_,
    Form.LIST: lambda type_: list[type_],  # type: ignore[valid-type]
    Form.MAP: lambda type_: dict[str, type_],  # type: ignore[valid-type]
    Form.OPAQUE_MAP: lambda _: msgspec.Raw,
}


class _Structs:
    def __init__(self) -> None:
        self._made: dict[str, type[Struct]] = {}
        self.absent: dict[str, Struct] = {}

    def of(self, message: str) -> type[Struct]:
        if message not in self._made:
            members = [self._member(field) for field in flat(message)]
            inlined = [field.name for field in MESSAGES[message] if field.form is Form.INLINE]
            self._made[message] = msgspec.defstruct(
                message,
                members,
                # In protobuf they are messages of their own, and so are they to who reads a view.
                namespace={name: property(lambda self: self) for name in inlined},
                gc=False,
                omit_defaults=True,
            )
        return self._made[message]

    def _member(self, field: Field) -> tuple[str, Any, Any]:
        type_ = self.of(field.type) if field.is_message else _TYPES[field.type]
        return (field.name, _FORMS[field.form](type_), self._default(field))

    def _default(self, field: Field) -> Any:  # noqa: ANN401
        match field:
            case Field(form=Form.LIST):
                return msgspec.field(default_factory=list)
            case Field(form=Form.MAP) | Field(type="anything"):
                return msgspec.field(default_factory=dict)
            case Field(form=Form.OPAQUE_MAP):
                return _NO_MAP
            case Field(pointer=True):
                return self.absence(field)
            case Field(is_message=True):
                return msgspec.field(default_factory=self.of(field.type))
        return _EMPTY[field.type]

    def absence(self, field: Field) -> Any:  # noqa: ANN401
        if not field.is_message:
            return _ABSENT[field.type]
        if field.type not in self.absent:
            empty = self.of(field.type)
            name = f"No{field.type}"
            # Frozen, for it is shared by all who lack it.
            frozen = msgspec.defstruct(
                name, [], bases=(empty,), frozen=True, gc=False, omit_defaults=True
            )
            self.absent[field.type] = frozen()
        return self.absent[field.type]


def flat(message: str) -> list[Field]:
    """The fields as JSON has them: those of an inlined message stand among its owner's."""
    made = []
    for field in MESSAGES[message]:
        made += flat(field.type) if field.form is Form.INLINE else [field]
    return made


_structs = _Structs()
STRUCTS: Final = {name: _structs.of(name) for name in MESSAGES}
MESSAGE_OF: Final = {struct: name for name, struct in STRUCTS.items()} | {
    type(empty): name for name, empty in _structs.absent.items()
}


def absence(field: Field) -> Any:  # noqa: ANN401
    """The one value that a pointer has when the server sent none."""
    return _structs.absence(field)
