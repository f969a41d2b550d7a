"""helm as an administrator runs it."""

import asyncio
import os
import subprocess
from pathlib import Path

from testbed import build
from testbed.instance import Instance
from tests.cluster.kubectl import WAIT_SECONDS

CHART = str(Path(__file__).parents[2] / "charts" / "kube-rescheduler")


class Helm:
    """As an administrator runs it; without an instance it asks no server."""

    def __init__(self, folder: Path, instance: Instance | None = None) -> None:
        login = ("--kubeconfig", str(instance.admin_kubeconfig)) if instance else ()
        self._start = (str(build.programs("helm") / "helm"), *login, "--namespace", "kube-system")
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    async def __call__(self, *arguments: str) -> str:
        done = await self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            subprocess.run,
            [*self._start, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            timeout=WAIT_SECONDS,
        )


def setting(*values: str) -> list[str]:
    return [part for value in values for part in ("--set", value)]
