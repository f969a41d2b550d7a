"""One real control plane for the whole test run, shared by its workers."""

import asyncio
import fcntl
import os
import subprocess
from collections.abc import Iterator

import pytest

from testbed import build
from testbed.instance import Instance, OwnedInstance, read_answer, start_supervisor
from testbed.world import install_rights

__all__ = ["instance"]


@pytest.fixture(scope="session")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    if "PYTEST_XDIST_WORKER" not in os.environ:
        with OwnedInstance() as owned:
            asyncio.run(install_rights(owned.instance))
            yield owned.instance
        return
    # Workers share one instance: the first to come starts it, and it belongs to the process that
    # started the workers, so it ends with the run, whatever becomes of the workers.
    shared = tmp_path_factory.getbasetemp().parent / "instance.json"
    with (shared.with_suffix(".lock")).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not shared.exists():
            supervisor = start_supervisor(build.programs(), owner=os.getppid())
            started = read_answer(supervisor)
            _let_go_of(supervisor)
            asyncio.run(install_rights(started))
            shared.write_text(started.to_json())
    yield Instance.from_json(shared.read_text())


def _let_go_of(supervisor: subprocess.Popen[str]) -> None:
    """It is to outlive this worker, of which Python would warn at exit."""
    for stream in (supervisor.stdin, supervisor.stdout):
        if stream:
            stream.close()
    supervisor.returncode = 0
