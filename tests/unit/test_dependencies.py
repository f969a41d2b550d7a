"""What pyproject.toml asks for, what the lock files pin, and what the code imports agree."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
GROUPS: dict[str, list[str]] = {
    "run": PYPROJECT["project"]["dependencies"],
    **PYPROJECT["dependency-groups"],
}
LOCKS = {
    "requirements.lock": ("run", "build"),
    "requirements-dev.lock": ("run", "build", "dev"),
}
OUR_OWN = {"bench", "rescheduler", "testbed", "tests", "tools"}
DISTRIBUTIONS = {
    "google": "protobuf",
    "prometheus_client": "prometheus-client",
    "pytest_asyncio": "pytest-asyncio",
    "yaml": "pyyaml",
}
"""By the module that they hold, where that has another name."""

# Read by the standard library (zoneinfo).
DATA = {"tzdata"}
# Needed, though no code of ours imports them.
TOOLS = {
    "cyclonedx-bom",
    "import-linter",
    "mkdocs-material",
    "mypy",
    "pytest-timeout",
    "pytest-xdist",
    "ruff",
    "types-jsonschema",
    "types-protobuf",
    "types-pyyaml",
    "uv",
}


def names(*groups: str) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for each in groups for line in GROUPS[each]}


def pinned(lock: str) -> dict[str, str]:
    found = re.findall(r"^(\S+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE)
    return {canonicalize_name(name): version for name, version in found}


def imported(*folders: str) -> set[str]:
    """The distributions that the code of these folders imports from."""
    modules = {each for folder in folders for each in imported_modules(ROOT / folder)}
    foreign = modules - sys.stdlib_module_names - OUR_OWN
    return {DISTRIBUTIONS.get(module, module) for module in foreign}


def imported_modules(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                yield from (alias.name.partition(".")[0] for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield node.module.partition(".")[0]


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_pins_what_pyproject_asks_for(lock: str) -> None:
    versions = pinned(lock)
    unmet = [
        line
        for group in LOCKS[lock]
        for line in GROUPS[group]
        if not Requirement(line).specifier.contains(
            versions.get(canonicalize_name(Requirement(line).name), "0")
        )
    ]
    assert unmet == [], "run make lock"


def test_both_locks_pin_the_same_versions() -> None:
    with_tools = pinned("requirements-dev.lock")
    assert {name: with_tools.get(name) for name in pinned("requirements.lock")} == pinned(
        "requirements.lock"
    )


@pytest.mark.parametrize("lock", LOCKS)
def test_the_lock_names_no_place_of_this_machine(lock: str) -> None:
    """Only names, versions, conditions, checksums and who asks for it: no index, URL or path."""
    allowed = re.compile(
        r"[\w.-]+==[\w.]+( ; [\w.' <>=!()]+)? \\"
        r"|    --hash=sha256:[0-9a-f]{64}( \\)?"
        r"|    #( via|  ).*"
    )
    lines = (ROOT / lock).read_text().splitlines()
    assert [line for line in lines if not allowed.fullmatch(line) or "/" in line] == []


def test_the_product_declares_exactly_what_it_imports() -> None:
    assert imported("src") == names("run") - DATA


def test_testbed_and_tests_declare_exactly_what_they_import() -> None:
    needed = imported("testbed", "tests", "bench", "tools") - names("run")
    assert needed == names("dev") - TOOLS


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    silent = [
        line
        for group in GROUPS.values()
        for line in group
        if not re.search(rf'^  "{re.escape(line)}", +# \w', text, re.MULTILINE)
    ]
    assert silent == []
