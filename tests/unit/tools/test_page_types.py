"""The page's types say what the API's documents say."""

import re
from pathlib import Path

import msgspec
import pytest

from rescheduler.serve.dashboard.documents import cluster
from tools import openapi, page_types

TYPES = Path(__file__).parents[3] / "dashboard/src/api/types.ts"


def interface(name: str) -> str:
    pattern = re.compile(rf"^export interface {name} {{\n(.*?)^}}", re.MULTILINE | re.DOTALL)
    found = pattern.search(page_types.text())
    assert found, name
    return found[1]


def test_they_are_up_to_date() -> None:
    assert TYPES.read_text() == page_types.text()


@pytest.mark.parametrize("name", sorted(openapi.document()["components"]["schemas"]))
def test_every_document_is_an_interface_with_every_field(name: str) -> None:
    schema = openapi.document()["components"]["schemas"][name]
    found = re.search(
        rf"^export interface {name} {{\n(.*?)^}}", page_types.text(), re.MULTILINE | re.DOTALL
    )
    assert found
    fields = re.findall(r'^  "?(\w+)"?\??: ', found[1], re.MULTILINE)
    assert fields == list(schema.get("properties") or {})


def test_types_are_those_of_the_wire() -> None:
    text = page_types.text()
    assert "  from: number;" in text
    assert "  imbalance: Record<string, BeforeAfter>;" in text
    assert "  paused: PauseNote | null;" in text
    assert "  remedies: Change[][];" in text
    assert "  uid?: string;" in text


def test_a_document_has_the_fields_that_its_type_promises() -> None:
    mark = cluster.MoveMark(
        namespace="n",
        pod="p",
        uid="u",
        workload=0,
        from_=1,
        to=2,
        state="planned",
        step="",
        migration="",
    )
    sent = msgspec.json.decode(msgspec.json.encode(mark))
    assert set(re.findall(r"^  (\w+): ", interface("MoveMark"), re.MULTILINE)) == set(sent)
