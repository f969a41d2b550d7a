"""--v: what each command logs with it, on standard error, and that nothing else changes."""

import re
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.unit.cli.running import Command
from tests.unit.cli.test_every_command import ALL, BIN

NOWHERE: Final = ("--kubeconfig", "/nowhere/kubeconfig")
EXAMPLE: Final = ("-f", "docs/examples/uneven-cluster.json")
SETTINGS: Final = ("--config", "tests/unit/config/examples/rescheduler.yaml")

_CONNECTS: Final = ("connecting to the cluster", "setting")
"""They end where they cannot log in; tests/cluster shows what they log of requests."""

TOLD: Final[dict[str, tuple[tuple[str, ...], str, str]]] = {
    "apply": (("tests/unit/cli/plan.yaml", *NOWHERE), *_CONNECTS),
    "approve": (("pass-1", *NOWHERE), *_CONNECTS),
    "cleanup": (NOWHERE, *_CONNECTS),
    "config show": (SETTINGS, "configuration read", "setting"),
    "config validate": (SETTINGS, "configuration read", "setting"),
    "drain": (("worker-1", *NOWHERE), *_CONNECTS),
    "explain node": (("worker-1", *EXAMPLE), "strategy acted", "pod stays"),
    "explain plan": (EXAMPLE, "strategy acted", "pod stays"),
    "explain pod": (("shop/web-1", *EXAMPLE), "strategy acted", "pod stays"),
    "get migrations": (("-A", *NOWHERE), *_CONNECTS),
    "get plans": (NOWHERE, *_CONNECTS),
    "history": (NOWHERE, *_CONNECTS),
    "migrate": (("shop/web-1", "-n", "shop", *NOWHERE), *_CONNECTS),
    "pause": (NOWHERE, *_CONNECTS),
    "plan": (EXAMPLE, "strategy acted", "pod stays"),
    "reject": (("pass-1", *NOWHERE), *_CONNECTS),
    "resume": (NOWHERE, *_CONNECTS),
    "retry": (("web-1", *NOWHERE), *_CONNECTS),
    "run": (("--once", *NOWHERE), "rescheduler starts", "setting"),
    "snapshot save": (("-", *EXAMPLE), "cluster read", "objects read"),
    "snapshot show": (EXAMPLE, "cluster read", "objects read"),
    "status": (NOWHERE, *_CONNECTS),
    "undo": (("pass-1", *NOWHERE), *_CONNECTS),
    "validate": (SETTINGS, "configuration read", "setting"),
}
"""By command: how it is called, what it logs with --v=2, and only with --v=4."""
OF_THEIR_OWN: Final = ("demo", "simulate")
NOTHING: Final = {
    "completion": ("bash",),
    "config init": (),
    "config schema": (),
    "config scheduler": ("-f", "tests/unit/config/examples/kube-scheduler.yaml"),
    "install": ("--print",),
    "version": (),
}
ALWAYS: Final = ("run",)
"""Its log is what it is looked at for."""

LOGGED = re.compile(r"^\d{4}-\d\d-\d\dT\S+ \[(debug|info|warning|error) *\]", re.MULTILINE)


def test_every_command_is_here() -> None:
    assert sorted([*TOLD, *NOTHING, *OF_THEIR_OWN]) == sorted(map(" ".join, ALL))


@pytest.mark.parametrize("command", sorted(TOLD))
def test_it_logs_what_happens_and_also_why_nothing_does(rescheduler: Command, command: str) -> None:
    arguments, what_happens, details = TOLD[command]
    quiet = rescheduler(*command.split(), *arguments)
    assert bool(LOGGED.search(quiet.err)) == (command in ALWAYS)
    two = rescheduler(*command.split(), *arguments, "--v=2")
    assert what_happens in two.err
    assert details not in two.err
    four = rescheduler(*command.split(), *arguments, "--v=4")
    assert what_happens in four.err
    assert details in four.err
    assert (quiet.code, quiet.out) == (two.code, two.out) == (four.code, four.out)


@pytest.mark.parametrize("command", sorted(NOTHING))
def test_where_there_is_nothing_to_log_its_help_says_so(rescheduler: Command, command: str) -> None:
    called = [*command.split(), *NOTHING[command]]
    assert rescheduler(*called, "--v=4") == rescheduler(*called)
    words = rescheduler(*command.split(), "--help").out.split()
    assert "there is nothing to log here" in " ".join(words)


def test_a_demo_logs_into_its_file(rescheduler: Command, tmp_path: Path) -> None:
    file = tmp_path / "demo.log"
    told = []
    for flags in ((), ("--v=4",)):
        ended = rescheduler("demo", "--nodes", "6", "--log", str(file), *flags)
        assert (ended.code, ended.err) == (0, "")
        told.append(file.read_text())
    assert all("strategy acted" in each for each in told)
    assert ["plan made" in each for each in told] == [False, True]
    assert "Verbosity of what --log writes." in rescheduler("demo", "--help").out


def test_a_simulation_logs_from_each_of_its_processes() -> None:
    small = ("--nodes", "3", "--pods", "9", "--hours", "0.1", "--compare", "LoadBalancing", "-q")
    told = []
    for flag in ("--v=2", "--v=4"):
        called = [BIN / "rescheduler", "simulate", *small, flag]
        ended = subprocess.run(called, capture_output=True, text=True, timeout=120, check=True)
        told.append(ended.stderr)
    assert all("contender=LoadBalancing" in each for each in told)
    assert ["plan made" in each for each in told] == [False, True]
