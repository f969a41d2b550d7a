"""docs/api.md says what the resource definition says."""

import yaml

from tools import api_page, generate


def test_the_page_is_what_the_definition_says() -> None:
    assert generate.API_PAGE.read_text() == api_page.page(), "write it anew: make generate"


def test_every_field_is_on_it_once() -> None:
    [version] = yaml.safe_load(api_page.DEFINITION.read_text())["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    paths = [path for path, _, _ in api_page.fields(schema, "")]
    assert {"spec.pod.uid", "status.conditions[].reason"} <= set(paths)
    page = generate.API_PAGE.read_text()
    assert [path for path in paths if page.count(f"| `{path}` |") != 1] == []
