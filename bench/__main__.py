"""python -m bench: measures a control plane of its own and moves on it, and prints a table."""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench import (
    balance_bound,
    dashboard,
    dashboard_page,
    demonstrating,
    evicting,
    extending,
    guarding,
    observing,
    packing,
    patience,
    planning,
    scheduling,
    simulating,
    turns,
)
from testbed import build, builders
from testbed.audit import Audit
from testbed.instance import Instance, OwnedInstance
from testbed.world import World, install_rights, make_world

_NODES = 100
_RUNS = int(os.environ.get("BENCH_RUNS", "3"))


async def main() -> None:
    table = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    started = time.monotonic()
    with OwnedInstance() as owned, tempfile.TemporaryDirectory() as folder:
        seconds = time.monotonic() - started
        table.add_row("control plane, start to usable", f"{seconds:.1f} s", "limit 20 s")
        await install_rights(owned.instance)
        where = Path(folder)
        await _nodes(table, owned.instance, where)
        await _one_move(table, owned.instance, where)
        await _drain(table, owned.instance, where)
        await evicting.measure(table, owned.instance, where)
    _process(table)
    demonstrating.measure(table)
    simulating.measure(table)
    planning.measure(table)
    turns.measure(table)
    balance_bound.measure(table)
    packing.measure(table)
    patience.measure(table)
    extending.measure(table)
    guarding.measure(table)
    dashboard.measure(table)
    await scheduling.measure(table)
    await dashboard_page.measure(table)
    await observing.measure(table)
    Console(highlight=False, width=120).print(table)


async def _nodes(table: Table, instance: Instance, folder: Path) -> None:
    async with make_world(instance, folder, "nodes") as world:
        started = time.monotonic()
        await world.add_nodes(_NODES)
        ready = time.monotonic() - started
        started = time.monotonic()
        names = [f"bare-{number}" for number in range(_NODES)]
        world.nodes += names
        await asyncio.gather(*(world.api.create(builders.node(name)) for name in names))
        bare = time.monotonic() - started
    table.add_row(
        f"{_NODES} nodes, made and Ready", f"{ready:.2f} s", f"{bare:.2f} s for the bare requests"
    )


async def _one_move(table: Table, instance: Instance, folder: Path) -> None:
    """Beside the least it can take: a pod's own start and a pod's own end."""
    took, writes, requests = [], 0, 0
    for _ in range(_RUNS):
        async with _stage(instance, folder, "move") as world:
            async with world.auditor() as auditor:
                run = await world.run()
                audit = await world.audit(auditor)
            if run.code:
                sys.exit(f"the move failed: {run.summary}")
            first, last = run.lines[1]["timestamp"], run.lines[-1]["timestamp"]
            took.append(_seconds_between(first, last))
            writes, requests = len(audit.writes()), len(audit.requests)
            least = await _start_and_end_of_a_pod(world)
    table.add_row(
        "one pod moved, planned to ended",
        f"{min(took):.2f} s (best of {_RUNS})",
        f"{least:.2f} s for a pod to start and one to end",
    )
    table.add_row("writes for it", str(writes), "goal 12")
    table.add_row("requests for it, watches and reads in all", str(requests), "")


async def _drain(table: Table, instance: Instance, folder: Path) -> None:
    """The same pods off the same node, ours one at a time: what users would have noticed."""
    async with _stage(instance, folder, "drain") as world, world.auditor() as auditor:
        kubeconfig = f"--kubeconfig={instance.admin_kubeconfig}"
        kubectl = str(build.programs() / "kubectl")
        command = [kubectl, kubeconfig, "drain", world.nodes[0], "--force"]
        process = await asyncio.create_subprocess_exec(
            *command, "--timeout=60s", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        await process.wait()
        await world.wait("web is complete", lambda: world.is_complete("web"))
        drained = await world.audit(auditor)
    async with _stage(instance, folder, "surge") as world, world.auditor() as auditor:
        for _ in range(2):
            await world.run(imbalanceThreshold=1)
        moved = await world.audit(auditor)
    table.add_row(
        "workloads below their replicas, pods moved",
        f"{_dipped(moved)}, {len(moved.pods_removed())} moved",
        f"kubectl drain: {_dipped(drained)}, {len(drained.pods_removed())} moved",
    )


def _process(table: Table) -> None:
    """What the command itself costs."""
    measure = (
        "import resource, rescheduler.controller.once, rescheduler.kube as k; "
        "print(resource.getrusage(0)[2])"
    )
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-c", measure], check=True, capture_output=True)
    seconds = time.monotonic() - started
    started = time.monotonic()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    bare = time.monotonic() - started
    megabytes = int(done.stdout) / 1024
    table.add_row("process, start", f"{seconds:.2f} s", f"{bare:.2f} s for Python alone")
    table.add_row("process, memory after start", f"{megabytes:.0f} MB", "limit 512 MB (S48)")


@asynccontextmanager
async def _stage(instance: Instance, folder: Path, name: str) -> AsyncIterator[World]:
    async with make_world(instance, folder, name) as world:
        full, _ = await world.add_nodes(2)
        await world.create(builders.service("web"))
        await world.deploy(builders.deployment("web", replicas=4), on=full)
        yield world


async def _start_and_end_of_a_pod(world: World) -> float:
    started = time.monotonic()
    await world.create(
        {"kind": "Pod", "metadata": {"name": "bare", "labels": {"app": "bare"}}}
        | {"apiVersion": "v1", "spec": builders.pod_spec()}
    )
    await world.wait("it is Ready", lambda: _is_there(world, wanted=True))
    await world.api.delete("Pod", world.name, "bare")
    await world.wait("it is gone", lambda: _is_there(world, wanted=False))
    return time.monotonic() - started


async def _is_there(world: World, *, wanted: bool) -> bool:
    return bool(await world.nodes_of("bare")) if wanted else not await world.pods("bare")


def _dipped(audit: Audit) -> str:
    return f"{len({each.what for each in audit.replicas_missing()})} of 1"


def _seconds_between(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


if __name__ == "__main__":
    asyncio.run(main())
