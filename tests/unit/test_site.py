"""The documentation as a site: `make docs`, and what of it `make check` refuses."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MKDOCS = Path(sys.executable).parent / "mkdocs"
BUILT_FROM = ("docs", "manifests", "charts", "tools", "mkdocs.yml", "Dockerfile", "LICENSE")


def build(tree: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", site],
        cwd=tree,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_is_built_without_a_warning_and_asks_no_other_host(tmp_path: Path) -> None:
    built = build(ROOT, tmp_path)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stdout + built.stderr
    pages = [path.read_text() for path in tmp_path.rglob("*.html")]
    assert len(pages) > 40
    loaded = [each for page in pages for each in re.findall(r"<(?:script|link|img)[^>]*>", page)]
    assert len(loaded) > 200
    assert [each for each in loaded if "//" in each] == []
    # What pages link to outside of docs/ is there as well.
    rights = (tmp_path / "repository/manifests/rescheduler/rbac.yaml.html").read_text()
    assert "rescheduler-scheduler-moving" in rights
    assert "repository/manifests/rescheduler/rbac.yaml.html" in (
        (tmp_path / "security.html").read_text()
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    copy = tmp_path / "tree"
    copy.mkdir()
    for path in (*(ROOT / each for each in BUILT_FROM), *ROOT.glob("*.md")):
        if path.is_dir():
            shutil.copytree(path, copy / path.name)
        else:
            shutil.copy(path, copy)
    return copy


@pytest.mark.parametrize(
    ("page", "planted", "named"),
    [
        ("docs/concepts.md", "[x](nowhere.md)", "nowhere.md"),
        ("docs/concepts.md", "[x](moving.md#nowhere)", "#nowhere"),
        ("docs/concepts.md", "[x](../manifests/nowhere.yaml)", "nowhere.yaml"),
        ("docs/concepts.md", "![x](images/nowhere.svg)", "nowhere.svg"),
        ("README.zh-CN.md", "[x](docs/nowhere.md)", "nowhere.md"),
        ("CONTRIBUTING.md", "[x](docs/testing.md#nowhere)", "#nowhere"),
        ("docs/forgotten.md", "# In no menu", "forgotten.md"),
    ],
)
def test_what_leads_nowhere_is_an_error(tree: Path, page: str, planted: str, named: str) -> None:
    with (tree / page).open("a") as file:
        file.write(f"\n{planted}\n")
    built = build(tree, tree / "site")
    assert built.returncode != 0
    assert named in built.stdout + built.stderr
