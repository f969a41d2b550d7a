"""docs/configuration.md says what the code says."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from rescheduler import config
from rescheduler.config import settings_beside_defaults
from tests.unit.config import samples
from tools import configuration_page, generate


def test_the_page_is_what_the_code_says() -> None:
    assert generate.PAGE.read_text() == generate.page(), "write it anew: make generate"


TYPES = ("apiVersion", "kind")


def single(document: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in document.items():
        if isinstance(value, Mapping):
            yield from single(value, f"{above}{name}.")
        else:
            yield f"{above}{name}"


def test_every_setting_is_on_it() -> None:
    """Also those that have no default; the sample has a value for each."""
    paths = list(configuration_page.paths())
    sample = {name: value for name, value in samples.COMPLETE_OWN.items() if name not in TYPES}
    excluded = {"migration.temporaryBudget.minAvailable"}  # by maxUnavailable, which is in it
    assert set(paths) == set(single(sample)) | set(single(document())) | excluded
    assert len(paths) == len(set(paths))


def test_every_variable_is_on_it() -> None:
    rows = {f"| `{config.variable(path)}` | `{path}` |" for path in configuration_page.paths()}
    assert rows <= set(generate.PAGE.read_text().splitlines())


def document() -> dict[str, object]:
    written = config.to_document(config.Configuration())
    return {name: value for name, value in written.items() if name not in TYPES}


def test_the_defaults_on_it_are_those_in_force() -> None:
    """Read back from the page, they make up a file that sets nothing."""
    settings: dict[str, Any] = {}
    above: list[str] = []
    for line in generate.PAGE.read_text().partition(configuration_page.BEGIN)[2].splitlines():
        if line.startswith("## "):
            above = line.removeprefix("## ").strip("`").split(".") if "`" in line else []
        if not line.startswith("| `") or line.startswith("| `RESCHEDULER_"):
            continue
        name, _, default = (cell.strip() for cell in line.split(" | ")[:3])
        if default.startswith("`"):
            place = settings
            for each in above:
                place = place.setdefault(each, {})
            place[name.strip("| `")] = yaml.safe_load(default.strip("`"))
    parsed = samples.parsed({**samples.OWN_TYPE, **settings})
    assert settings_beside_defaults(parsed) == {}
