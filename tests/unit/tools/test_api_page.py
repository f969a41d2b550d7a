"""docs/api.md says what the resource definitions say."""

from pathlib import Path

import pytest
import yaml

from tools import api_page, generate


def test_the_page_is_what_the_definition_says() -> None:
    assert generate.API_PAGE.read_text() == api_page.page(), "write it anew: make generate"


@pytest.mark.parametrize("definition", api_page.DEFINITIONS, ids=lambda each: each.name)
def test_every_field_is_on_it_once(definition: Path) -> None:
    document = yaml.safe_load(definition.read_text())["spec"]
    [version] = document["versions"]
    paths = [path for path, _, _ in api_page.fields(version["schema"]["openAPIV3Schema"], "")]
    assert {"spec", "status.conditions[].reason"} <= set(paths)
    _, _, after = generate.API_PAGE.read_text().partition(f"## {document['names']['kind']}\n")
    page = after.partition("\n## ")[0]
    assert [path for path in paths if page.count(f"| `{path}` |") != 1] == []
