"""Structural schemas of custom resources: what they drop, fill in and refuse.

Of OpenAPI v3, as k8s.io/apiextensions-apiserver has it, what our own resource definition uses.
"""

import copy
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from rescheduler.embedded.apiserver import refusals
from rescheduler.embedded.apiserver.refusals import FieldProblem

Schema = Mapping[str, Any]

_TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
}
_INTEGERS: Final = {"int32": 2**31, "int64": 2**63}


def completed(schema: Schema, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Without the fields that the schema does not have, and with the defaults of those that are
    not given.
    """
    if isinstance(value, dict) and "properties" in schema:
        fields = schema["properties"]
        made = {key: completed(fields[key], each) for key, each in value.items() if key in fields}
        for key, field in fields.items():
            if key not in made and "default" in field:
                made[key] = completed(field, copy.deepcopy(field["default"]))
        return made
    if isinstance(value, list) and "items" in schema:
        return [completed(schema["items"], each) for each in value]
    return value


def problems_of(schema: Schema, value: Any, path: str) -> Iterator[FieldProblem]:  # noqa: ANN401
    is_either = schema.get("x-kubernetes-int-or-string")
    kinds = ["integer", "string"] if is_either else [schema["type"]]
    if not any(_TYPES[kind](value) for kind in kinds):
        found = next((kind for kind, fits in _TYPES.items() if fits(value)), "null")
        why = f'{path} in body must be of type {" or ".join(kinds)}: "{found}"'
        yield refusals.invalid_value(path, found, why)
        return
    yield from _of_value(schema, value, path)
    if isinstance(value, dict):
        for key in schema.get("required") or ():
            if key not in value:
                yield refusals.required(f"{path}.{key}".removeprefix("."))
        for key, each in value.items():
            field = f"{path}.{key}".removeprefix(".")
            yield from problems_of(schema["properties"][key], each, field)
    if isinstance(value, list):
        for place, each in enumerate(value):
            yield from problems_of(schema["items"], each, f"{path}[{place}]")
        yield from _of_length(schema, value, path)
        yield from _of_keys(schema, value, path)


def rules_of(schema: Schema, value: Any, path: str) -> Iterator[tuple[Schema, str, Any]]:  # noqa: ANN401
    """The x-kubernetes-validations of all that is there: each with the place and its value."""
    for rule in schema.get("x-kubernetes-validations") or ():
        yield rule, path, value
    if isinstance(value, dict):
        for key, field in (schema.get("properties") or {}).items():
            if key in value:
                yield from rules_of(field, value[key], f"{path}.{key}".removeprefix("."))


def _of_value(schema: Schema, value: Any, path: str) -> Iterator[FieldProblem]:  # noqa: ANN401
    if "enum" in schema and value not in schema["enum"]:
        yield refusals.unsupported(path, value, schema["enum"])
    if isinstance(value, str):
        yield from _of_text(schema, value, path)
    elif isinstance(value, int) and not isinstance(value, bool):
        if value < schema.get("minimum", value):
            why = f"{path} in body should be greater than or equal to {schema['minimum']}"
            yield refusals.invalid_value(path, value, why)
        size = _INTEGERS.get(schema.get("format", ""))
        if size is not None and value not in range(-size, size):
            why = f"{path} in body must be of type {schema['format']}"
            yield refusals.invalid_value(path, value, why)


def _of_text(schema: Schema, value: str, path: str) -> Iterator[FieldProblem]:
    if len(value) > schema.get("maxLength", len(value)):
        longest = schema["maxLength"]
        yield FieldProblem(path, f"Too long: may not be more than {longest} bytes")
    if len(value) < schema.get("minLength", 0):
        why = f"{path} in body should be at least {schema['minLength']} chars long"
        yield refusals.invalid_value(path, value, why)
    if "pattern" in schema and not re.search(schema["pattern"], value):
        why = f"{path} in body should match '{schema['pattern']}'"
        yield refusals.invalid_value(path, value, why)
    if schema.get("format") == "date-time" and not _is_time(value):
        why = f'{path} in body must be of type date-time: "{value}"'
        yield refusals.invalid_value(path, value, why)


def _of_length(schema: Schema, value: list[Any], path: str) -> Iterator[FieldProblem]:
    least, most = schema.get("minItems", 0), schema.get("maxItems", len(value))
    if len(value) > most:
        yield FieldProblem(path, f"Too many: {len(value)}: must have at most {most} items")
    if len(value) < least:
        why = f"{path} in body should have at least {least} items"
        yield refusals.invalid_value(path, len(value), why)


def _of_keys(schema: Schema, value: list[Any], path: str) -> Iterator[FieldProblem]:
    names = schema.get("x-kubernetes-list-map-keys")
    if not names:
        return
    seen = []
    for place, each in enumerate(value):
        key = [each.get(name) for name in names] if isinstance(each, dict) else each
        if key in seen:
            shown = ", ".join(map(str, key)) if isinstance(key, list) else str(key)
            yield FieldProblem(f"{path}[{place}]", f"Duplicate value: {shown}")
        seen.append(key)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
