"""The description of the dashboard's API, from its table of endpoints and its documents."""

import ast
import inspect
import re
import sys
from typing import Any, Final

import msgspec

from rescheduler.serve.dashboard import contract
from rescheduler.serve.dashboard.contract import ENDPOINTS, Endpoint
from rescheduler.serve.dashboard.documents import Document, Error, events

_REFERENCE: Final = "#/components/schemas/{name}"
_RESPONSE: Final = "#/components/responses/{status}"
_IN_PATH: Final = re.compile(r"\{(\w+)\}")
_STATUSES: Final = {
    "400": "a parameter is wrong",
    "401": "no token, or one that the API server does not know",
    "403": "not allowed, by the API server or because acting is off",
    "404": "there is none, or whoever asks may not see it",
    "409": "it is too late for that, or somebody else was faster",
    "429": "too many ask at once: again, after a while",
    "503": "nothing is known yet, or the API server does not answer",
}


def text() -> str:
    return msgspec.json.format(msgspec.json.encode(document()), indent=1).decode() + "\n"


def document() -> dict[str, Any]:
    answers = [each.answer for each in ENDPOINTS if each.answer is not None]
    bodies = [each.body for each in ENDPOINTS if each.body is not None]
    types = list(dict.fromkeys([*answers, *bodies, Error, events.Events]))
    schemas, components = msgspec.json.schema_components(types, ref_template=_REFERENCE)
    _describe(components)
    found = dict(zip(map(repr, types), schemas, strict=True))
    error = found[repr(Error)]
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "kube-rescheduler",
            "version": contract.PREFIX.rsplit("/", 1)[1],
            "description": "What the dashboard shows, for programs: see docs/dashboard.md.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": contract.PREFIX}],
        "security": [{"token": []}, {}],
        "paths": _paths(found),
        "components": {
            "schemas": components,
            "responses": {status: _refusal(words, error) for status, words in _STATUSES.items()},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _paths(schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for each in ENDPOINTS:
        found.setdefault(each.path, {})[each.method.lower()] = _operation(each, schemas)
    return found


def _operation(endpoint: Endpoint, schemas: dict[str, dict[str, Any]]) -> dict[str, Any]:
    if endpoint.answer is None:
        schema: dict[str, Any] = {"type": "string", "x-events": schemas[repr(events.Events)]}
    else:
        schema = schemas[repr(endpoint.answer)]
    operation: dict[str, Any] = {
        "operationId": endpoint.name,
        "summary": endpoint.summary,
        "parameters": [*_in_path(endpoint), *_in_query(endpoint)],
        "responses": {
            "200": {"description": "the answer", "content": {endpoint.content: {"schema": schema}}},
            **{status: {"$ref": _RESPONSE.format(status=status)} for status in _STATUSES},
        },
    }
    if endpoint.body is not None:
        operation["security"] = [{"token": []}]
        operation["parameters"].append(
            {
                "name": contract.REQUEST_HEADER,
                "in": "header",
                "required": True,
                "schema": {"const": "1"},
                "description": "Shows that no form of another page asks.",
            }
        )
        content = {"application/json": {"schema": schemas[repr(endpoint.body)]}}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _refusal(words: str, error: dict[str, Any]) -> dict[str, Any]:
    return {"description": words, "content": {"application/json": {"schema": error}}}


def _in_path(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _IN_PATH.findall(endpoint.path)
    ]


def _in_query(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "in": "query",
            "required": False,
            "schema": {"type": each.type},
            "description": each.description,
        }
        for each in endpoint.parameters
    ]


# ---------------------------------------------------------------------- what stands below fields


def _describe(components: dict[str, Any]) -> None:
    """Python drops the texts below fields; they are read from the source."""
    for kind in _documents(Document):
        schema = components.get(kind.__name__)
        if schema is None:
            continue
        texts = _texts(kind)
        schema.pop("title", None)
        names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
        for name, encoded in names.items():
            # All fields are always there, but for those of a request and of an event.
            if name in texts:
                schema["properties"][encoded]["description"] = texts[name]
            schema["properties"][encoded].pop("default", None)
        if kind.__name__ not in ("Events", "ActionRequest", "ErrorBody"):
            schema["required"] = list(names.values())


def _documents(kind: type[msgspec.Struct]) -> list[type[msgspec.Struct]]:
    found = []
    for each in kind.__subclasses__():
        found += [each, *_documents(each)]
    return found


def _texts(kind: type[msgspec.Struct]) -> dict[str, str]:
    found: dict[str, str] = {}
    for each in reversed(kind.__mro__):
        if each is msgspec.Struct or not issubclass(each, msgspec.Struct):
            continue
        tree = ast.parse(inspect.getsource(sys.modules[each.__module__]))
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name == each.__name__:
                found |= _below_fields(node)
    return found


def _below_fields(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        is_text = isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
            found[field.target.id] = " ".join(str(text.value.value).split())  # type: ignore[attr-defined]
    return found
