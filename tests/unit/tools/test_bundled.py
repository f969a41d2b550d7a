"""The bill of materials of a release names what the page brings into the wheel."""

import json
from pathlib import Path
from typing import Any

from tools import bundled

ROOT = Path(__file__).parents[3]
BY_CYCLONEDX: dict[str, Any] = {
    "metadata": {"component": {"name": "kube-rescheduler"}},
    "components": [{"bom-ref": "numpy==2", "name": "numpy"}],
    "dependencies": [
        {"ref": "numpy==2"},
        {"ref": "root-component", "dependsOn": ["numpy==2"]},
    ],
}


def test_all_that_the_page_asks_for_is_named_as_it_is_locked() -> None:
    asked = json.loads((ROOT / "dashboard/package.json").read_text())
    found = {each["name"]: each for each in bundled.components()}
    assert {name: each["version"] for name, each in found.items()} == asked["dependencies"]
    for name, each in found.items():
        assert each["purl"] == f"pkg:npm/{name}@{each['version']}"
        assert each["licenses"][0]["license"]["id"] == "MIT"
        [digest] = each["hashes"]
        assert (digest["alg"], len(bytes.fromhex(digest["content"]))) == ("SHA-512", 64)


def test_what_is_there_stays_and_a_second_time_changes_nothing() -> None:
    once = bundled.completed(BY_CYCLONEDX)
    refs = [each["bom-ref"] for each in bundled.components()]
    assert once["metadata"] == BY_CYCLONEDX["metadata"]
    assert [each["bom-ref"] for each in once["components"]] == ["numpy==2", *refs]
    [root] = [each for each in once["dependencies"] if each["ref"] == "root-component"]
    assert root["dependsOn"] == sorted(["numpy==2", *refs])
    assert bundled.completed(once) == once
