"""`rescheduler run` without a cluster."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from rescheduler.cli.stopping import AGAIN_SECONDS
from rescheduler.controller import loop
from tests.unit.cli.running import Command

CONFIGURATION = """
apiVersion: rescheduler.io/v1alpha1
kind: ReschedulerConfiguration
leaderElection: {leaderElect: false}
"""


@pytest.fixture
def config(tmp_path: Path) -> str:
    path = tmp_path / "config.yaml"
    path.write_text(CONFIGURATION)
    return str(path)


@pytest.mark.parametrize("flags", [(), ("--once",), ("--dry-run",), ("--once", "--dry-run")])
def test_a_kubeconfig_that_is_not_there_ends_it_with_one_line(
    rescheduler: Command, config: str, flags: tuple[str, ...]
) -> None:
    ended = rescheduler("run", "--config", config, "--kubeconfig", "/nowhere/kubeconfig", *flags)
    assert ended.code == 1
    *_, last = ended.err.strip().splitlines()
    assert last.startswith("error: ")
    assert "/nowhere/kubeconfig" in last
    assert "Traceback" not in ended.err


def test_it_tells_its_version_and_what_is_configured_first(
    rescheduler: Command, config: str
) -> None:
    ended = rescheduler(
        "run", "--config", config, "--log-format", "json", "--kubeconfig", "/nowhere/kubeconfig"
    )
    first = ended.err.splitlines()[0]
    assert '"event": "rescheduler starts"' in first
    assert '"configuration": {"leaderElection.leaderElect": false' in first
    assert "cpuThreshold" not in first  # is the default


def test_help_has_examples(rescheduler: Command) -> None:
    ended = rescheduler("run", "--help")
    assert ended.code == 0
    assert "rescheduler run --config rescheduler.yaml --dry-run" in ended.out
    assert "Exit status" in ended.out


@pytest.mark.parametrize("between", [0.0, AGAIN_SECONDS + 0.05])
@pytest.mark.parametrize(
    ("signals", "code"),
    [
        ([signal.SIGTERM, signal.SIGTERM], 0),
        ([signal.SIGINT, signal.SIGTERM], 130),
        ([signal.SIGTERM], 0),
        ([signal.SIGINT], 130),
    ],
    ids=lambda each: "+".join(one.name for one in each) if isinstance(each, list) else "",
)
def test_told_to_stop_again_and_not_only_twice_it_ends_at_once(
    rescheduler: Command,
    config: str,
    monkeypatch: pytest.MonkeyPatch,
    signals: list[signal.Signals],
    code: int,
    between: float,
) -> None:
    """`timeout` sends SIGTERM to its child and to the group of that: this is one word."""
    is_again = len(signals) > 1 and between > 0

    async def going(*arguments: object, **_: object) -> None:
        stop = arguments[-1]
        assert isinstance(stop, asyncio.Event)
        for each in signals:
            os.kill(os.getpid(), each)
            await asyncio.sleep(between)
        await stop.wait()
        if is_again:
            # An orderly end takes longer than anybody waits.
            await asyncio.Event().wait()

    monkeypatch.setattr(loop, "run", going)
    ended = rescheduler("run", "--config", config)
    assert ended.code == (130 if is_again else code)
    assert "Traceback" not in ended.err
    assert ended.err.count("stop requested") == (2 if is_again else 1)
    assert ("stopping at once" in ended.err) == is_again
