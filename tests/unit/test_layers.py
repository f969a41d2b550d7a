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
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
CONTRACTS: list[dict[str, Any]] = SETTINGS["importlinter"]["contracts"]


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
TALKING = "Only kube and prometheus talk to servers"
JUDGE = "The judge shares no code with the judged"
PLANTED = [
    pytest.param("src/rescheduler/plan/history.py", "import time", DECIDING, id="plan-clock"),
    pytest.param("src/rescheduler/model/pins.py", "import asyncio", DECIDING, id="model-io"),
    pytest.param("src/rescheduler/config/settings.py", "import os", DECIDING, id="config-io"),
    pytest.param("src/rescheduler/config/kinds.py", "import pathlib", DECIDING, id="config-file"),
    pytest.param("src/rescheduler/observe/placing.py", "import time", DECIDING, id="placing-clock"),
    pytest.param(
        "src/rescheduler/migrate/deciding/surge.py",
        "from rescheduler.kube import errors",
        DECIDING,
        id="surge-io",
    ),
    pytest.param(
        "src/rescheduler/migrate/deciding/late.py", "import time", DECIDING, id="new-module-clock"
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
    pytest.param("src/rescheduler/logs.py", "import urllib.request", TALKING, id="logs-http"),
    pytest.param(
        "src/rescheduler/extender/__init__.py", "import aiohttp", TALKING, id="new-package-http"
    ),
    pytest.param(
        "src/rescheduler/kube/client.py", "import rescheduler.cycle", LAYERS, id="upwards"
    ),
    pytest.param("src/rescheduler/extender/__init__.py", "", LAYERS, id="package-without-a-layer"),
    pytest.param("testbed/world.py", "import rescheduler", JUDGE, id="the-judge-peeks"),
]


@pytest.mark.parametrize(("path", "line", "contract"), PLANTED)
def test_a_planted_violation_is_caught(copied: Path, path: str, line: str, contract: str) -> None:
    planted = copied / path
    planted.parent.mkdir(exist_ok=True)
    with planted.open("a") as file:
        file.write(f"\n{line}\n")
    answer = lint_imports(copied)
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert contract in broken(answer), answer.stdout


def test_every_module_that_deciding_may_not_import_is_caught(copied: Path) -> None:
    [contract] = [each for each in CONTRACTS if each["name"] == DECIDING]
    forbidden = contract["forbidden_modules"]
    (copied / "src/rescheduler/plan/late.py").write_text(
        "".join(f"import {each}\n" for each in forbidden)
    )
    said = lint_imports(copied).stdout
    assert [each for each in forbidden if f"rescheduler.plan.late -> {each} " not in said] == []


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract["name"] for contract in CONTRACTS} == {str(each.values[2]) for each in PLANTED}


def test_an_untouched_copy_keeps_all_contracts(copied: Path) -> None:
    """Or the violations above might be caught for another reason."""
    assert lint_imports(copied).returncode == 0


# How a name is reached must not matter.
BANNED: list[str] = list(SETTINGS["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"])
WAYS = [
    *(f"import {name.split('.')[0]}\n\nFOUND = {name}" for name in BANNED),
    "import random as luck\n\nFOUND = luck.random()",
    "from random import random\n\nFOUND = random()",
    "from time import time\n\nFOUND = time()",
    "from datetime import UTC, datetime\n\nFOUND = datetime.now(UTC)",
    "from datetime import date\n\nFOUND = date.today()",
]


@pytest.mark.parametrize("lines", WAYS, ids=[lines.replace("\n\nFOUND =", ":") for lines in WAYS])
def test_a_clock_or_luck_that_is_not_ours_is_caught(copied: Path, lines: str) -> None:
    (copied / "src/rescheduler/plan/late.py").write_text(f"{lines}\n")
    answer = ruff(copied, "TID251")
    assert answer.returncode == 1
    assert "TID251" in answer.stdout
    assert "late.py" in answer.stdout


def test_luck_with_a_seed_is_allowed(copied: Path) -> None:
    lines = "import random\n\nFOUND = random.Random(1).choice([1, 2])"
    (copied / "src/rescheduler/plan/late.py").write_text(f"{lines}\n")
    assert ruff(copied, "TID251").returncode == 0


def test_product_code_reads_no_clock_of_its_own(copied: Path) -> None:
    answer = ruff(copied, "TID251")
    assert answer.returncode == 0, answer.stdout
