"""Our kinds as a page: every field with its type and its words, from the resource definition."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

_SOURCE: Final = Path(__file__).parent.parent / "src/rescheduler"
DEFINITIONS: Final = (_SOURCE / "crd.yaml", _SOURCE / "plan-crd.yaml")

_HEAD: Final = """\
# API reference

Written by `make generate` from the resource definitions (`src/rescheduler/crd.yaml` and
`plan-crd.yaml`).
`kubectl explain pmig --recursive` tells the same of the one that is installed. How to ask for a
move by hand: [operating.md](operating.md#a-move-by-hand). Plans: [plans.md](plans.md).
"""

_KIND: Final = """
## {kind}

`{group}/{version}`, `kubectl get {plural}` or `{short}`, in a namespace; category `{category}`.
Selected by field: {selected}.

| field | is | |
|---|---|---|
"""

_WORDS: Final = {"string": "text", "integer": "whole number", "boolean": "true or false"}

Schema = dict[str, Any]


def page() -> str:
    return _HEAD + "".join(map(_of, DEFINITIONS))


def _of(file: Path) -> str:
    definition = yaml.safe_load(file.read_text())["spec"]
    [version] = definition["versions"]
    names = definition["names"]
    head = _KIND.format(
        kind=names["kind"],
        group=definition["group"],
        version=version["name"],
        plural=names["plural"],
        short=names["shortNames"][0],
        category=names["categories"][0],
        selected=", ".join(f"`{each['jsonPath'][1:]}`" for each in version["selectableFields"]),
    )
    return head + "".join(_rows(version["schema"]["openAPIV3Schema"], ""))


def fields(schema: Schema, above: str) -> Iterator[tuple[str, Schema, bool]]:
    """Each with its path, and whether it has to be given."""
    for name, field in schema.get("properties", {}).items():
        path = f"{above}{name}"
        yield path, field, name in schema.get("required", ())
        yield from fields(field, f"{path}.")
        yield from fields(field.get("items", {}), f"{path}[].")


def _rows(schema: Schema, above: str) -> Iterator[str]:
    for path, field, is_required in fields(schema, above):
        words = " ".join(field.get("description", "").split())
        if is_required and not words.startswith("Needed"):
            words = f"Needed. {words}".strip()
        if "default" in field and field["type"] != "object":
            words = f"{words} Default `{str(field['default']).lower()}`.".strip()
        yield f"| `{path}` | {_type(field)} | {words.replace('|', '&#124;')} |\n"


def _type(field: Schema) -> str:
    if "enum" in field:
        return " or ".join(f"`{each}`" for each in field["enum"])
    if field.get("x-kubernetes-int-or-string"):
        return "number or text"
    kind: str = "time" if field.get("format") == "date-time" else field["type"]
    return _WORDS.get(kind, kind)
