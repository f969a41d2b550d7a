"""Files that a released version has written, or that its users have written for it, are read by the
code of today, and mean the same.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rescheduler import config
from rescheduler.cli.render import documents
from rescheduler.model import plan_documents
from rescheduler.observe import files as snapshot_files
from rescheduler.plan import plan
from rescheduler.simulation import scenario_files
from tests.scenarios import left_behind

ROOT = Path(__file__).parents[2]
VERSIONS = [left_behind.LEFT / each for each in left_behind.VERSIONS]
OF_EACH = pytest.mark.parametrize("left", VERSIONS, ids=left_behind.VERSIONS)

Schema = dict[str, Any]


@OF_EACH
@pytest.mark.parametrize("name", ["own", "kube-scheduler", "starting"])
def test_a_configuration_means_what_it_meant(left: Path, name: str) -> None:
    path = left / left_behind.CONFIGURATIONS / f"{name}.yaml"
    then = json.loads(path.with_suffix(".json").read_text())
    now = json.loads(json.dumps(dict(config.single_settings(config.load(path))), default=str))
    assert {setting: now.get(setting) for setting in then} == then


@OF_EACH
def test_a_snapshot_is_read_and_a_plan_still_says_what_it_said(left: Path) -> None:
    folder = left / left_behind.DOCUMENTS
    for name, nodes in (("migrating", 2), ("cluster", 4)):
        loaded = snapshot_files.load(str(folder / f"{name}.json"))
        assert (loaded.snapshot.unreadable, len(loaded.snapshot.nodes)) == ((), nodes)
    then = json.loads((folder / "plan.json").read_text())
    assert then["moves"]
    decided = plan(loaded.snapshot, config.Configuration())
    now = json.loads(documents.as_text(plan_documents.of_plan(decided), "json"))
    assert set(places(then)) <= set(places(now))


def places(document: object, path: str = "") -> Iterator[str]:
    """Of every value that is in it, whatever it is."""
    yield path
    match document:
        case dict():
            for name, each in document.items():
                yield from places(each, f"{path}.{name}")
        case list():
            for each in document:
                yield from places(each, f"{path}[]")


@OF_EACH
def test_a_load_scenario_is_read(left: Path) -> None:
    read = scenario_files.load(left / left_behind.DOCUMENTS / "scenario.yaml")
    assert read.growth == 0.2


# ---------------------------------------------------------------------- the resource definition


def schema_of(path: Path) -> Schema:
    [version] = yaml.safe_load(path.read_text())["spec"]["versions"]
    schema: Schema = version["schema"]["openAPIV3Schema"]
    return schema


NOW = ROOT / "src/rescheduler/crd.yaml"


def parts(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, each in (schema.get("properties") or {}).items():
        yield from parts(each, f"{path}.{name}")
    if items := schema.get("items"):
        yield from parts(items, f"{path}[]")


@OF_EACH
def test_every_record_that_it_could_store_stays_valid(left: Path) -> None:
    """What was allowed is allowed: no field is gone or of another type, none is needed that was
    not, no word of a list is gone, no bound is narrower.
    """
    then, now = dict(parts(schema_of(left / left_behind.DEFINITION))), dict(parts(schema_of(NOW)))
    assert set(then) <= set(now)
    for path, old in then.items():
        new = now[path]
        assert new.get("type") == old.get("type"), path
        assert set(new.get("required") or ()) <= set(old.get("required") or ()), path
        if "enum" in new:
            assert set(old["enum"]) <= set(new["enum"]), path
        for bound in ("maxLength", "maximum", "maxItems"):
            assert new.get(bound, float("inf")) >= old.get(bound, float("inf")), (path, bound)
        for bound in ("minLength", "minimum", "minItems"):
            assert new.get(bound, 0) <= old.get(bound, 0), (path, bound)
        if "pattern" in new:
            assert new["pattern"] == old.get("pattern"), path


@OF_EACH
def test_every_record_that_it_left_is_valid(left: Path) -> None:
    checked = jsonschema.Draft202012Validator(schema_of(NOW))
    for way in left_behind.ways(left.name):
        for scene in left_behind.scenes(left.name, way):
            for each in scene.objects:
                if each["kind"] == "PodMigration":
                    checked.validate(each)


def test_the_schema_is_structural() -> None:
    """As Kubernetes asks for it: every part has a type, or is an integer or a string by its own
    extension; so nothing is stored that was not meant.
    """
    for path, each in parts(schema_of(NOW)):
        assert "type" in each or each.get("x-kubernetes-int-or-string"), path
        assert not each.get("x-kubernetes-preserve-unknown-fields"), path
        assert "additionalProperties" not in each, path
