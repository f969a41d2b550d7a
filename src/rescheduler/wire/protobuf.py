"""Protobuf into the fields of the table and no others, in classes made from it at start.

There is no generated code, which would tie us to one version of the library: the table is put into
a descriptor, and the library makes classes of that. Scalars that upstream always sends have no
presence here, so absent and empty are the same; pointers have.
"""

from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import api_implementation
from google.protobuf.message import DecodeError

from rescheduler.wire.schema import MESSAGES, Field, Form, kinds

__all__ = ["CLASSES", "ENTRIES", "IS_FAST", "MESSAGE_OF", "DecodeError"]

# The pure Python implementation is slower than JSON by far.
IS_FAST: Final = api_implementation.Type() == "upb"

_PACKAGE = "rescheduler.wire"
_TYPE = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "text": _TYPE.TYPE_STRING,
    # Of 32 or 64 bits: on the wire they are the same.
    "number": _TYPE.TYPE_INT64,
    "flag": _TYPE.TYPE_BOOL,
}
_SCALAR_MESSAGES = {"time": "Time", "quantity": "Quantity", "intOrString": "IntOrString"}
# How an object is wrapped: see k8s.io/apimachinery/pkg/runtime/generated.proto.
_ENVELOPES: Final = {
    "RawExtension": {"raw": 1},
    "Unknown": {"raw": 2},
    "Named": {"metadata": 1},
    "NamedMeta": {"name": 1, "namespace": 3},
    "Annotation": {"key": 1, "value": 2},
}
# The way to the annotations of any object, as bytes; all else is kept as it is.
_AS_BYTES: Final = (
    ("Annotated", "metadata", 1, "AnnotatedMeta"),
    ("AnnotatedMeta", "annotations", 12, "Annotation"),
)


def _describe() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(
        name="rescheduler/wire.proto", package=_PACKAGE, syntax="proto3"
    )
    for name, fields in MESSAGES.items():
        if not any(field.type == "anything" for field in fields):
            message = file.message_type.add(name=name)
            for field in fields:
                _add(message, field)
    for kind in kinds().values():
        if kind.protobuf:
            page = file.message_type.add(name=f"{kind.message}List")
            _add(page, Field(1, "metadata", "ListMeta", Form.ONE, pointer=False))
            _add(page, Field(2, "items", kind.message, Form.LIST, pointer=False))
    for type_ in ("text", "quantity"):
        entry = file.message_type.add(name=_entry(type_))
        _add(entry, Field(1, "key", "text", Form.ONE, pointer=False))
        _add(entry, Field(2, "value", type_, Form.ONE, pointer=False))
    for name, members in _ENVELOPES.items():
        message = file.message_type.add(name=name)
        for member, number in members.items():
            message.field.add(
                name=member, number=number, type=_TYPE.TYPE_BYTES, label=_TYPE.LABEL_OPTIONAL
            )
    for name, member, number, type_ in _AS_BYTES:
        label = _TYPE.LABEL_REPEATED if member == "annotations" else _TYPE.LABEL_OPTIONAL
        file.message_type.add(name=name).field.add(
            name=member,
            number=number,
            label=label,
            type=_TYPE.TYPE_MESSAGE,
            type_name=f".{_PACKAGE}.{type_}",
        )
    event = file.message_type.add(name="WatchEvent")
    _add(event, Field(1, "type", "text", Form.ONE, pointer=False))
    _add(event, Field(2, "object", "RawExtension", Form.ONE, pointer=False))
    return file


def _entry(type_: str) -> str:
    return f"{type_.capitalize()}Entry"


def _add(message: descriptor_pb2.DescriptorProto, field: Field) -> None:
    label = _TYPE.LABEL_OPTIONAL if field.form in (Form.ONE, Form.INLINE) else _TYPE.LABEL_REPEATED
    made = message.field.add(name=field.name, number=field.number, label=label)
    # Else the library would derive it, which it warns of for names that differ in case only.
    made.json_name = field.name
    if field.form is Form.OPAQUE_MAP:
        made.type = _TYPE.TYPE_BYTES
    elif field.form is Form.MAP:
        made.type, made.type_name = _TYPE.TYPE_MESSAGE, _map_entry(message, field)
    elif field.type in _SCALARS:
        made.type = _SCALARS[field.type]
        if field.pointer:
            made.proto3_optional = True
            made.oneof_index = len(message.oneof_decl)
            message.oneof_decl.add(name=f"_{field.name}")
    else:
        made.type = _TYPE.TYPE_MESSAGE
        made.type_name = f".{_PACKAGE}.{_SCALAR_MESSAGES.get(field.type, field.type)}"


def _map_entry(message: descriptor_pb2.DescriptorProto, field: Field) -> str:
    name = f"{field.name[0].upper()}{field.name[1:]}Entry"
    entry = message.nested_type.add(name=name)
    entry.options.map_entry = True
    _add(entry, Field(1, "key", "text", Form.ONE, pointer=False))
    _add(entry, Field(2, "value", field.type, Form.ONE, pointer=False))
    return f".{_PACKAGE}.{message.name}.{name}"


def _classes() -> dict[str, Any]:
    # A pool of our own: nobody else's messages can be in our way.
    pool = descriptor_pool.DescriptorPool()
    described = _describe()
    pool.Add(described)
    return {
        message.name: message_factory.GetMessageClass(
            pool.FindMessageTypeByName(f"{_PACKAGE}.{message.name}")
        )
        for message in described.message_type
    }


CLASSES: Final = _classes()
MESSAGE_OF: Final = {CLASSES[name]: name for name in MESSAGES if name in CLASSES}
ENTRIES: Final = {type_: CLASSES[_entry(type_)] for type_ in ("text", "quantity")}
