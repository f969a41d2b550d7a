"""The rules about imports and clocks hold, and each of them is caught when it is broken."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
CONTRACTS: list[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"][
    "importlinter"
]["contracts"]


def lint_imports(where: Path) -> subprocess.CompletedProcess[str]:
    # It puts the working directory in front of the path, so a copy is found before the original.
    command: list[str | Path] = [BIN / "lint-imports", "--config", "pyproject.toml", "--no-cache"]
    return subprocess.run(
        command,
        cwd=where,
        env={"PYTHONPATH": f"{where / 'src'}:{where}", "PATH": "/usr/bin:/bin", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )


def ruff(where: Path, rule: str) -> subprocess.CompletedProcess[str]:
    command: list[str | Path] = [BIN / "ruff", "check", "--no-cache", "--select", rule, where]
    return subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)


def broken(answer: subprocess.CompletedProcess[str]) -> set[str]:
    """Names of the contracts that are reported as broken."""
    return {
        contract["name"]
        for contract in CONTRACTS
        if f"{contract['name']} BROKEN" in answer.stdout.replace("\n", " ")
    }


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    ignored = shutil.ignore_patterns("__pycache__")
    for package in ("src/rescheduler", "testbed"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_all_contracts_are_kept() -> None:
    answer = lint_imports(ROOT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in answer.stdout


LAYERS = "Higher layers may import lower ones, never the reverse"
STAGES = "Stages do not know each other; only the cycle composes them"
DECIDING = "Deciding does no I/O and reads no clock"
TALKING = "Only rescheduler.kube talks to the API server"
JUDGE = "The judge shares no code with the judged"
PLANTED = [
    pytest.param("src/rescheduler/plan/movable.py", "import time", DECIDING, id="plan-clock"),
    pytest.param("src/rescheduler/model/pins.py", "import asyncio", DECIDING, id="model-io"),
    pytest.param(
        "src/rescheduler/migrate/surge.py",
        "from rescheduler.kube import errors",
        DECIDING,
        id="surge-io",
    ),
    pytest.param(
        "src/rescheduler/migrate/viewing.py",
        "from rescheduler import plan",
        STAGES,
        id="migrate-knows-plan",
    ),
    pytest.param(
        "src/rescheduler/observe/listing.py", "import aiohttp", TALKING, id="observe-http"
    ),
    pytest.param(
        "src/rescheduler/kube/client.py", "import rescheduler.cycle", LAYERS, id="upwards"
    ),
    pytest.param("testbed/world.py", "import rescheduler", JUDGE, id="the-judge-peeks"),
]


@pytest.mark.parametrize(("path", "line", "contract"), PLANTED)
def test_a_planted_violation_is_caught(copied: Path, path: str, line: str, contract: str) -> None:
    planted = copied / path
    planted.write_text(planted.read_text() + f"\n{line}\n")
    answer = lint_imports(copied)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert contract in broken(answer), answer.stdout


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract["name"] for contract in CONTRACTS} == {str(each.values[2]) for each in PLANTED}


def test_an_untouched_copy_keeps_all_contracts(copied: Path) -> None:
    """Or the violations above might be caught for another reason."""
    assert lint_imports(copied).returncode == 0


@pytest.mark.parametrize(
    "line",
    [
        "import datetime\n\nNOW = datetime.datetime.now(datetime.UTC)",
        "from datetime import UTC, datetime\n\nNOW = datetime.now(UTC)",
        "import random\n\nLUCK = random.random()",
    ],
    ids=["module", "name", "random"],
)
def test_a_clock_that_is_not_ours_is_caught(copied: Path, line: str) -> None:
    (copied / "src/rescheduler/plan/late.py").write_text(f"{line}\n")
    answer = ruff(copied, "TID251")
    assert answer.returncode == 1
    assert "TID251" in answer.stdout
    assert "late.py" in answer.stdout


def test_product_code_reads_no_clock_of_its_own(copied: Path) -> None:
    answer = ruff(copied, "TID251")
    assert answer.returncode == 0, answer.stdout
