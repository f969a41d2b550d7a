"""One pod moved without a dip, for people to watch, on a real control plane."""

import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from testbed.audit import Audit, is_ready
from testbed.builders import budget, deployment, pod_spec, service
from testbed.instance import OwnedInstance
from testbed.world import Run, World, install_rights, make_world

_BAR = 20


async def run() -> int:
    console = Console(highlight=False, soft_wrap=True)
    console.print("[bold]1[/] A real Kubernetes control plane starts, with simulated nodes.")
    with OwnedInstance() as owned, tempfile.TemporaryDirectory() as folder:
        await install_rights(owned.instance)
        async with make_world(owned.instance, Path(folder), "demo") as world:
            return await _show(console, world)


async def _show(console: Console, world: World) -> int:
    full, *_ = await world.add_nodes(3)
    await world.create(service("shop"), budget("shop", maxUnavailable=0))
    await world.deploy(deployment("shop", replicas=3, spec=pod_spec(cpu="900m")), on=full)
    console.print("[bold]2[/] A shop of 3 replicas, all on one node of 4 CPU, and a budget that")
    console.print("  allows no disruption: kubectl drain would move nothing here.")
    await _draw(console, world)
    console.print("[bold]3[/] rescheduler run --once")
    async with world.auditor() as auditor:
        ended = await world.run()
        await world.wait("the shop is complete", lambda: world.is_complete("shop"))
        audit = await world.audit(auditor)
    for line in ended.lines:
        if line["level"] != "debug" and line["event"] not in ("starts", "pass ended"):
            detail = line.get("because") or line.get("message") or line.get("summary") or ""
            console.print(f"  {line['timestamp'][11:23]} {line['event']} [dim]{detail}")
    await _draw(console, world)
    return _conclude(console, ended, audit)


async def _draw(console: Console, world: World) -> None:
    table = Table("NODE", "CPU REQUESTED", "PODS", box=None, padding=(0, 2))
    pods = [pod for pod in await world.pods("shop") if is_ready(pod)]
    for node in world.nodes:
        here = [pod["metadata"]["name"] for pod in pods if pod["spec"]["nodeName"] == node]
        share = 0.9 * len(here) / 4
        bar = "█" * round(share * _BAR)
        table.add_row(node, f"[green]{bar:<{_BAR}}[/] {share:4.0%}", " ".join(sorted(here)))
    console.print(table)


def _conclude(console: Console, ended: Run, audit: Audit) -> int:
    questions = {
        "ready replicas ever below spec": audit.replicas_missing(),
        "fewer ready endpoints than before": audit.endpoints_missing(),
        "budget violated": audit.budgets_violated(),
        "user objects changed": audit.changed_objects(),
    }
    console.print("[bold]4[/] What an independent auditor saw:")
    for question, found in questions.items():
        console.print(f"  {question}: {'[green]no' if not found else f'[red]{found}'}")
    console.print(
        f"  pods made and removed: {len(audit.pods_made())} and {len(audit.pods_removed())}"
    )
    console.print(f"  writes of the rescheduler: {len(audit.writes())}")
    console.print(f"[bold]{ended.summary}")
    return 1 if ended.code or any(questions.values()) else 0
