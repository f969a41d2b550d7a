"""What is forked behaves as what is started: its output, its end, its environment."""

import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.forking import Forked, fork

LINE_BYTES = 2**20


async def _ended(*arguments: str, home: str = "/nowhere") -> tuple[Forked, str, str]:
    process = await fork(*arguments, env=_environment(home), limit=LINE_BYTES)
    out, err = await asyncio.gather(process.stdout.read(), process.stderr.read())
    await process.wait()
    return process, out.decode(), err.decode()


def _environment(home: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": home}


@pytest.mark.parametrize(
    "arguments",
    [["version"], ["plan", "--help"], ["paln"], ["plan", "-f", "/no/such/file"], ["status"]],
    ids=lambda arguments: arguments[0] if len(arguments) == 1 else arguments[1],
)
async def test_it_prints_and_ends_as_if_it_had_been_started(arguments: list[str]) -> None:
    started = subprocess.run(  # noqa: ASYNC221
        [sys.executable, "-m", "rescheduler", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=_environment("/nowhere"),
    )
    process, out, err = await _ended(*arguments)
    assert (process.returncode, out, err) == (started.returncode, started.stdout, started.stderr)


async def test_it_has_the_environment_that_it_is_given_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".kube").mkdir()
    (tmp_path / ".kube/config").write_text("not: [a kubeconfig")
    monkeypatch.setenv("KUBECONFIG", "/of/the/developer")
    _, _, err = await _ended("status", home=str(tmp_path))
    assert str(tmp_path / ".kube/config") in err
    assert "/of/the/developer" not in err


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
async def test_a_signal_ends_it_and_nobody_else(number: signal.Signals) -> None:
    ended, other = [
        await fork("demo", "--keep", env=_environment("/nowhere"), limit=LINE_BYTES)
        for _ in range(2)
    ]
    await asyncio.gather(ended.stdout.readline(), other.stdout.readline())
    ended.send_signal(number)
    assert await ended.wait() == (-number if number is signal.SIGKILL else 0)
    assert other.returncode is None
    with pytest.raises(ProcessLookupError):
        ended.kill()
    other.kill()
    assert await other.wait() == -signal.SIGKILL
    for process in (ended, other):
        await asyncio.gather(process.stdout.read(), process.stderr.read())


def test_all_of_them_end_with_the_process_that_asked_for_them() -> None:
    owner = subprocess.run(
        [sys.executable, "-c", _OWNER], stdout=subprocess.PIPE, text=True, check=False
    )
    assert owner.returncode == -signal.SIGKILL
    pidfd = _pidfd_or_none(int(owner.stdout))
    if pidfd is not None:
        ended, _, _ = select.select([pidfd], [], [], 60)
        os.close(pidfd)
        assert ended


def _pidfd_or_none(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except ProcessLookupError:
        return None


_OWNER = """
import asyncio, os, signal
from testbed.forking import fork

async def own():
    process = await fork("demo", "--keep", env={"PATH": os.environ["PATH"]}, limit=2**20)
    await process.stdout.readline()
    print(process.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(own())
"""
