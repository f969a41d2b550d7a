"""What the fields of a record mean is known in `model/podmigration` alone: nobody else looks into
its spec or its status.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src" / "rescheduler"
FIELDS = ("spec", "status")
# Of nothing else: whoever asks for one of these asks a record for it, whatever that is called.
OWN = ("mayRecreate", "forced", "stepTime", "oldPod", "newPod", "siblings", "unready", "fence")
# Who prints records as they are, or is the API server that keeps them.
PRINTS = (Path("cli/render"), Path("embedded"))


def raw_reads(text: str) -> Iterator[int]:
    """Lines that read a field of what is called a record, or ask for its whole status."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.expr):
            continue
        match node:
            case ast.Subscript(value, ast.Constant(field), ast.Load()):
                found = field in OWN or (field in FIELDS and _is_record(value))
            case ast.Call(ast.Attribute(value, "get"), [ast.Constant(field), *_]):
                found = field in OWN or (field in FIELDS and _is_record(value))
            case ast.Call(ast.Name("spec") | ast.Attribute(_, "spec"), [value]):
                found = _is_record(value)
            case ast.Call(ast.Name("status_of") | ast.Attribute(_, "status_of")):
                found = True
            case _:
                found = False
        if found:
            yield node.lineno


def _is_record(value: ast.expr) -> bool:
    """Records are called so, wherever there is one."""
    name = value.attr if isinstance(value, ast.Attribute) else getattr(value, "id", "")
    return name.lstrip("_") == "record"


def test_nobody_else_reads_what_a_record_says() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        if not any(path.is_relative_to(SOURCE / each) for each in (*PRINTS, "model/podmigration"))
        for line in raw_reads(path.read_text())
    ]
    assert not found, "ask rescheduler.model.podmigration instead"


@pytest.mark.parametrize(
    "planted",
    [
        'record["spec"]["pod"]["uid"]',
        '(record.get("status") or {}).get("siblings")',
        'self._record["status"]',
        'worker.record["spec"].get("group")',
        'spec(record).get("reason")',
        'objects.spec(record).get("reason")',
        'podmigration.status_of(each).get("step")',
        'told.get("siblings")',
        'told["newPod"]',
    ],
)
def test_it_is_found(planted: str) -> None:
    assert set(raw_reads(planted)) == {1}


@pytest.mark.parametrize("right", ['pod["spec"]', "podmigration.why_of(record)", "record['uid']"])
def test_nothing_else_is(right: str) -> None:
    assert not list(raw_reads(right))
