"""descheduler on the same cluster: how long it takes from start to verdict, and at what cost.

It looks once, finds no node too full, so moves nothing, and ends. Not with --dry-run, where it was
seen to take full nodes for empty ones. Built when it is first asked for.
"""

import asyncio
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import yaml

from testbed import build
from testbed.instance import Instance

# Its own way to even out nodes by requests, as its documentation shows it.
_POLICY = {
    "apiVersion": "descheduler/v1alpha2",
    "kind": "DeschedulerPolicy",
    "maxNoOfPodsToEvictTotal": 0,
    "profiles": [
        {
            "name": "balance",
            "pluginConfig": [
                {"name": "DefaultEvictor", "args": {"nodeFit": True}},
                {
                    "name": "LowNodeUtilization",
                    "args": {
                        "thresholds": {"cpu": 25, "memory": 25, "pods": 25},
                        "targetThresholds": {"cpu": 100, "memory": 100, "pods": 100},
                    },
                },
            ],
            "plugins": {"balance": {"enabled": ["LowNodeUtilization"]}},
        }
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    version: str
    seconds: float
    cpu: float
    peak_megabytes: float


async def descheduler(instance: Instance) -> Peer:
    program = await asyncio.to_thread(build.programs, "descheduler")
    started = time.monotonic()
    cpu, peak = await asyncio.to_thread(_run, program / "descheduler", instance.admin_kubeconfig)
    return Peer(
        version=build.read_pins("descheduler").version,
        seconds=time.monotonic() - started,
        cpu=cpu,
        peak_megabytes=peak,
    )


def _run(program: Path, kubeconfig: Path) -> tuple[float, float]:
    """CPU seconds, and the most memory that it ever had, in megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        policy, log = Path(folder) / "policy.yaml", Path(folder) / "log"
        policy.write_text(yaml.safe_dump(_POLICY))
        files = [f"--kubeconfig={kubeconfig}", f"--policy-config-file={policy}"]
        server = ["--secure-port=0", f"--cert-dir={folder}"]
        with log.open("wb") as output:
            process = subprocess.Popen([program, *files, *server], stdout=output, stderr=output)
        # By hand, for only this tells what a single child has used.
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise OSError(f"descheduler failed:\n{log.read_text(errors='replace')[-2000:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6
