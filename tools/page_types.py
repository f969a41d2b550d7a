"""The types of the page, from docs/openapi.json: what the API answers, as TypeScript."""

import json
from typing import Any, Final

from tools import openapi

_HEAD: Final = "/* Written by `make generate` from docs/openapi.json. */\n"
_PLAIN: Final = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def text() -> str:
    schemas = openapi.document()["components"]["schemas"]
    return "\n".join([_HEAD, *(_interface(name, schemas[name]) for name in sorted(schemas))])


def _interface(name: str, schema: dict[str, Any]) -> str:
    lines = [*_comment(schema, ""), f"export interface {name} {{"]
    needed = set(schema.get("required") or ())
    for field, of in (schema.get("properties") or {}).items():
        optional = "" if field in needed else "?"
        key = field if field.isidentifier() else json.dumps(field)
        lines += [*_comment(of, "  "), f"  {key}{optional}: {_type(of)};"]
    return "\n".join([*lines, "}", ""])


def _comment(schema: dict[str, Any], indent: str) -> list[str]:
    said = schema.get("description")
    return [f"{indent}/** {said.replace('*/', '')} */"] if said else []


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if alternatives := schema.get("anyOf"):
        return " | ".join(dict.fromkeys(map(_type, alternatives)))
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    match schema.get("type"):
        case "null":
            return "null"
        case "array":
            inner = _type(schema.get("items") or {})
            return f"({inner})[]" if "|" in inner else f"{inner}[]"
        case "object":
            values = schema.get("additionalProperties")
            return f"Record<string, {_type(values) if isinstance(values, dict) else 'unknown'}>"
        case str() as plain:
            return _PLAIN[plain]
    return "unknown"
