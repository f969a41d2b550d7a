"""Files that a released version has written, or that its users have written for it, are read by the
code of today, and mean the same.
"""

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rescheduler import config
from rescheduler.cli.render import documents
from rescheduler.controller.plans import files as plan_files
from rescheduler.model import plan_documents
from rescheduler.observe import files as snapshot_files
from rescheduler.plan import plan
from rescheduler.plan.explaining import cluster_of
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
    document = plan_documents.with_origin(
        plan_documents.of_plan(decided), loaded.taken_at, cluster_of(loaded.snapshot)
    )
    now = json.loads(documents.as_text(document, "json"))
    assert set(places(then)) <= set(places(now))


@OF_EACH
def test_its_plans_can_be_applied_from_files(left: Path) -> None:
    """What it printed, and what it kept in clusters and `get plans -o yaml` prints."""
    printed = left / left_behind.DOCUMENTS / "plan.json"
    read = plan_files.read(printed.read_text(), printed.name)
    assert read.moves
    assert read.taken_at == datetime.fromisoformat(left_behind.TAKEN_AT)
    for story in left_behind.stories(left.name):
        for each in left_behind.scenes(left.name, story, left_behind.PLANS)[-1].objects:
            if each["kind"] == "ReschedulePlan":
                found = plan_files.read(json.dumps(each), story)
                assert len(found.moves) == each["spec"]["total"]


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


NOW = ROOT / "src/rescheduler"
DEFINITIONS = {
    left_behind.DEFINITION: ("PodMigration", left_behind.MIGRATIONS),
    left_behind.PLAN_DEFINITION: ("ReschedulePlan", left_behind.PLANS),
}
"""What each defines, and where such objects are kept."""
OF_EACH_KIND = pytest.mark.parametrize("definition", DEFINITIONS)


def parts(schema: Schema, path: str = "") -> Iterator[tuple[str, Schema]]:
    yield path, schema
    for name, each in (schema.get("properties") or {}).items():
        yield from parts(each, f"{path}.{name}")
    if items := schema.get("items"):
        yield from parts(items, f"{path}[]")


@OF_EACH
@OF_EACH_KIND
def test_every_object_that_it_could_store_stays_valid(left: Path, definition: str) -> None:
    """What was allowed is allowed: no field is gone or of another type, none is needed that was
    not, no word of a list is gone, no bound is narrower.
    """
    then, now = (dict(parts(schema_of(folder / definition))) for folder in (left, NOW))
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
@OF_EACH_KIND
def test_every_object_that_it_left_is_valid(left: Path, definition: str) -> None:
    checked = jsonschema.Draft202012Validator(schema_of(NOW / definition))
    kind, kept = DEFINITIONS[definition]
    found = {
        json.dumps(each): each
        for path in sorted((left / kept).iterdir())
        for scene in left_behind.scenes(left.name, path.stem, kept)
        for each in scene.objects
        if each["kind"] == kind
    }
    assert len(found) > 25
    for each in found.values():
        checked.validate(each)


@OF_EACH_KIND
def test_the_schema_is_structural(definition: str) -> None:
    """As Kubernetes asks for it: every part has a type, or is an integer or a string by its own
    extension; so nothing is stored that was not meant.
    """
    for path, each in parts(schema_of(NOW / definition)):
        assert "type" in each or each.get("x-kubernetes-int-or-string"), path
        assert not each.get("x-kubernetes-preserve-unknown-fields"), path
        assert "additionalProperties" not in each, path
