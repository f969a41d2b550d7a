"""The rules about imports and clocks hold, and each of them is caught when it is broken."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
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
STAGES = "Stages do not know each other"
MIGRATING = "Of migrating, who begins knows who works, and all know who decides"
COMPOSING = "Only controller composes stages"
DECIDING = "Deciding does no I/O and reads no clock"
SHOWING = "What is pure in showing and simulating does no I/O of its own"
TALKING = "Only kube and prometheus talk to servers, and only serve is one"
JUDGE = "The judge shares no code with the judged"
PLANTED = [
    ("plan/cooldowns.py", "import time", DECIDING),
    ("model/pins.py", "import asyncio", DECIDING),
    ("config/usage.py", "import os", DECIDING),
    ("documents/kinds.py", "import pathlib", DECIDING),
    ("documents/settings.py", "from rescheduler.config import usage", LAYERS),
    ("observe/usage/placement.py", "import time", DECIDING),
    ("migrate/deciding/surge/surge.py", "from rescheduler.kube import errors", DECIDING),
    ("migrate/deciding/late.py", "import time", DECIDING),
    ("migrate/queue/admission.py", "from rescheduler.clock import Clock", DECIDING),
    ("cli/render/snapshot_tables.py", "import time", SHOWING),
    ("migrate/worker/view_building.py", "from rescheduler import plan", STAGES),
    ("migrate/worker/memory.py", "from rescheduler.migrate.queue import admission", MIGRATING),
    ("simulation/running.py", "from rescheduler.plan import plan", COMPOSING),
    ("cli/output.py", "from rescheduler.observe import observing", COMPOSING),
    ("cli/commands/cleanup.py", "from rescheduler.migrate import migrating", COMPOSING),
    ("observe/listing.py", "import aiohttp", TALKING),
    ("logs.py", "import urllib.request", TALKING),
    ("cli/app.py", "import socketserver", TALKING),
    ("serve/dashboard.py", "from rescheduler import migrate", STAGES),
    ("migrate/hygiene/maintenance_notes.py", "from rescheduler import serve", STAGES),
    ("serve/metrics/current.py", "import rescheduler.cli", LAYERS),
    ("extender/__init__.py", "import aiohttp", TALKING),
    ("kube/client.py", "import rescheduler.controller", LAYERS),
    ("extender/__init__.py", "", LAYERS),
    ("../../testbed/world.py", "import rescheduler", JUDGE),
]
"""By file of the package: a line at its end, and the contract that it breaks."""


@pytest.mark.parametrize(("path", "line", "contract"), PLANTED)
def test_a_planted_violation_is_caught(copied: Path, path: str, line: str, contract: str) -> None:
    planted = copied / "src/rescheduler" / path
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


STAGE = re.compile(r"rescheduler\.(leading|migrate|observe|plan)\b")


def modules(where: Path) -> Iterator[tuple[str, ast.Module]]:
    source = where / "src"
    for file in sorted(source.rglob("*.py")):
        name = ".".join(file.relative_to(source).with_suffix("").parts)
        yield name.removesuffix(".__init__"), ast.parse(file.read_text())


def stages_known_to(module: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{node.module}.{each.name}" for each in node.names]
        else:
            continue
        found |= {match[1] for name in names if (match := STAGE.match(name))}
    return found


def composers(where: Path) -> set[str]:
    """The packages of modules that know several stages."""
    return {
        name.split(".")[1] for name, module in modules(where) if len(stages_known_to(module)) > 1
    }


def test_who_is_not_the_controller_knows_at_most_one_stage_a_module(copied: Path) -> None:
    assert composers(ROOT) == {"controller"}
    with (copied / "src/rescheduler/cli/commands/plan.py").open("a") as file:
        file.write("\nfrom rescheduler.observe.files import take\n")
    assert composers(copied) == {"controller", "cli"}


def test_whoever_calls_himself_pure_is_held_to_it() -> None:
    held = [
        name
        for contract in CONTRACTS
        if contract["name"] in (DECIDING, SHOWING)
        for name in contract["source_modules"]
    ]
    pure = [
        name
        for name, module in modules(ROOT)
        if re.search(r"\bpure\b", ast.get_docstring(module) or "", re.IGNORECASE)
    ]
    assert len(pure) > len(held) / 2
    assert [
        name for name in pure if not f"{name}.".startswith(tuple(f"{each}." for each in held))
    ] == []


def test_every_contract_has_a_planted_violation() -> None:
    assert {contract["name"] for contract in CONTRACTS} == {contract for _, _, contract in PLANTED}


def test_an_untouched_copy_keeps_all_contracts(copied: Path) -> None:
    """Or the violations above might be caught for another reason."""
    assert lint_imports(copied).returncode == 0


# ---------------------------------------------------------------------- who listens

# import-linter knows packages, and aiohttp is a client as well as a server.
LISTENING = {"start_server", "start_unix_server", "create_server", "create_unix_server"}


def listeners(source: Path) -> list[str]:
    """Modules outside of `serve` that import aiohttp's server, or open a socket to listen on."""
    return [
        str(path.relative_to(source))
        for path in sorted(source.rglob("*.py"))
        if path.relative_to(source).parts[0] != "serve"
        and any(map(_listens, ast.walk(ast.parse(path.read_text()))))
    ]


def _listens(node: ast.AST) -> bool:
    if isinstance(node, ast.Import):
        return any(each.name.startswith("aiohttp.web") for each in node.names)
    if isinstance(node, ast.ImportFrom):
        imported = {f"{node.module}.{each.name}" for each in node.names}
        return any(each.startswith("aiohttp.web") for each in imported)
    if isinstance(node, ast.Attribute):
        is_web = isinstance(node.value, ast.Name) and node.value.id == "aiohttp"
        return node.attr in LISTENING or (is_web and node.attr == "web")
    return False


def test_only_serve_listens() -> None:
    assert listeners(ROOT / "src/rescheduler") == []


def test_a_second_one_that_listens_is_caught(copied: Path) -> None:
    source = copied / "src/rescheduler"
    for number, line in enumerate(
        (
            "from aiohttp import web",
            "import aiohttp.web",
            "from aiohttp.web import Application",
            "import aiohttp\n\nFOUND = aiohttp.web.Application()",
            "import asyncio\n\nFOUND = asyncio.start_server(print)",
        )
    ):
        (source / f"kube/late_{number}.py").write_text(f"{line}\n")
        (source / f"serve/late_{number}.py").write_text(f"{line}\n")
    assert listeners(source) == [f"kube/late_{number}.py" for number in range(5)]
    assert TALKING not in broken(lint_imports(copied))  # serve and kube may import it


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


def test_a_clock_or_luck_that_is_not_ours_is_caught(copied: Path) -> None:
    for number, lines in enumerate(WAYS):
        (copied / f"src/rescheduler/plan/late_{number}.py").write_text(f"{lines}\n")
    answer = ruff(copied, "TID251")
    assert answer.returncode == 1
    found = re.findall(r"TID251.*\n.*late_(\d+)\.py", answer.stdout)
    assert {int(each) for each in found} == set(range(len(WAYS)))


def test_luck_with_a_seed_is_allowed(copied: Path) -> None:
    lines = "import random\n\nFOUND = random.Random(1).choice([1, 2])"
    (copied / "src/rescheduler/plan/late.py").write_text(f"{lines}\n")
    assert ruff(copied, "TID251").returncode == 0


def test_product_code_reads_no_clock_of_its_own(copied: Path) -> None:
    answer = ruff(copied, "TID251")
    assert answer.returncode == 0, answer.stdout
