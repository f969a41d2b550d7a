"""What the whole `rescheduler run` costs on a large cluster, each figure beside its goal.

The process runs as an operator runs it: with the default configuration, its own rights and its
lease, all that it follows, its plans, and the moves of those. Beside it, from the same cluster: the
bare download of what it follows, and descheduler.
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from rich.console import Console
from rich.table import Table

from bench import answering
from bench.hands import hands
from bench.peer import descheduler
from bench.whole_run import Cost, WholeRun, cpu_seconds, whole_run
from rescheduler import plan
from rescheduler.config import Configuration
from rescheduler.observe.sources import BY_NAME
from rescheduler.wire import POD_MIGRATIONS
from testbed.big_cluster import NODES, PODS, BigCluster, big_cluster
from testbed.golang import BuildError
from testbed.installing import install_rights
from testbed.instance import Instance, OwnedInstance

_EVENTS_PER_SECOND = 1000
_INTERVAL_SECONDS = 30.0
"""From pass to pass by default: so the CPU of one pass, and its moves, are in the figure."""
_PROBING_SECONDS = 10.0
_MARGIN_SECONDS = 2.0
"""Until the stream of changes has come to its pace."""


async def measure(table: Table) -> None:
    """BENCH_NODES and BENCH_PODS make it smaller, BENCH_SECONDS shorter, for a machine without the
    memory or the time.
    """
    nodes = int(os.environ.get("BENCH_NODES", NODES))
    pods = int(os.environ.get("BENCH_PODS", PODS))
    idle = await _answers_when_idle()
    async with big_cluster(nodes, pods, say=_say) as (owned, cluster):
        table.add_section()
        table.add_row(
            f"cluster of {nodes:,} nodes, {len(cluster.pods):,} pods",
            f"loaded in {cluster.load_seconds:.0f} s",
            f"{cluster.bytes / 1e6:,.0f} MB in etcd",
        )
        await install_rights(owned.instance)
        await _measure(table, owned.instance, cluster, idle)


async def _answers_when_idle() -> answering.ByPath:
    """Of the same run on an empty cluster: after its first pass it has nothing to do."""
    found = answering.nothing_yet()
    with OwnedInstance(bare=True) as owned, tempfile.TemporaryDirectory() as folder:
        await install_rights(owned.instance)
        async with whole_run(owned.instance, Path(folder)) as run:
            await run.first_pass()
            async with answering.probing(run.port, found):
                await asyncio.sleep(_PROBING_SECONDS)
    return found


async def _measure(
    table: Table, instance: Instance, cluster: BigCluster, idle: answering.ByPath
) -> None:
    # Twice: the first reader finds the server's caches cold.
    await _download(instance)
    raw = await _download(instance)
    with tempfile.TemporaryDirectory() as folder:
        server = instance.pids["kube-apiserver"]
        before = cpu_seconds(server)
        async with hands(instance), whole_run(instance, Path(folder)) as run:
            busy, moving = answering.nothing_yet(), answering.nothing_yet()
            async with answering.probing(run.port, busy, is_starting=True):
                first = await run.first_pass()
            _first_pass(table, run, first, raw, cpu_seconds(server) - before)
            _neighbours(table)
            async with answering.probing(run.port, moving):
                await asyncio.sleep(_PROBING_SECONDS)
            answering.tell(table, idle=idle, busy=busy, moving=moving)
            await _churn(table, cluster, run)
            _passes(table, run)
            _memory(table, first, run.cost())
    await _peer(table, instance)


def _first_pass(
    table: Table, run: WholeRun, cost: Cost, raw: "Download", server_cpu: float
) -> None:
    table.add_row(
        "run, start to first pass",
        f"{cost.seconds:.1f} s, {cost.seconds / raw.seconds:.2f}x",
        f"{raw.seconds:.1f} s to download the same ({raw.megabytes:,.0f} MB); goal 1.5x",
    )
    table.add_row("  its CPU", f"{cost.cpu:.1f} s", f"{raw.cpu:.1f} s to download")
    table.add_row(
        "  the API server's CPU", f"{server_cpu:.1f} s", f"{raw.server_cpu:.1f} s to download"
    )
    table.add_row(
        "  of which that pass", f"{run.passes[0]['seconds']:.2f} s", "no rule is known yet"
    )


def _neighbours(table: Table) -> None:
    """Whoever shares the machine makes everything slower that is not counted in CPU."""
    load = os.getloadavg()[0]
    table.add_row("  load of the machine meanwhile", f"{load:.0f}", f"{os.cpu_count()} cores")


async def _churn(table: Table, cluster: BigCluster, run: WholeRun) -> None:
    seconds = float(os.environ.get("BENCH_SECONDS", _INTERVAL_SECONDS))
    quiet = run.cost()
    await asyncio.sleep(seconds)
    idle = run.cost().share_since(quiet)
    # Past the API server, so not those that are moved meanwhile: their marks would be lost.
    churn = cluster.churn(_EVENTS_PER_SECOND, seconds + 2 * _MARGIN_SECONDS, cluster.daemons)
    churning = asyncio.create_task(churn)
    await asyncio.sleep(_MARGIN_SECONDS)
    before = run.cost()
    await asyncio.sleep(seconds)
    share = run.cost().share_since(before)
    # On a busy machine etcd does not keep up: what was really written counts.
    rate = (await churning) / (seconds + 2 * _MARGIN_SECONDS)
    scaled = idle + (share - idle) * _EVENTS_PER_SECOND / rate
    table.add_row(
        f"CPU at {_EVENTS_PER_SECOND:,} events/s",
        f"{scaled:.0%} of a core",
        f"goal 25%; {share:.0%} at the {rate:,.0f} events/s written, "
        f"{idle:.0%} before, with moves under way",
    )


def _passes(table: Table, run: WholeRun) -> None:
    later = [each for each in run.passes[1:] if each["planned"]] or run.passes[-1:]
    seconds = [each["seconds"] for each in later]
    planned = ", ".join(str(each["planned"]) for each in run.passes)
    moved = sum(each["moved"] for each in run.passes)
    failed = sum(each["failed"] for each in run.passes)
    table.add_row(
        "a pass",
        f"{1000 * statistics.median(seconds):.0f} ms, worst {1000 * max(seconds):.0f} ms",
        f"goal 300 ms; moves planned {planned}; {moved} moved, {failed} failed",
    )


def _memory(table: Table, first: Cost, last: Cost) -> None:
    table.add_row(
        "peak memory",
        f"{last.peak_megabytes:.0f} MB",
        f"goal 256 MB; {first.peak_megabytes:.0f} MB until the first pass, "
        f"{last.megabytes:.0f} MB in the end",
    )


# ---------------------------------------------------------------------- the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    seconds: float
    cpu: float
    megabytes: float
    server_cpu: float


async def _download(instance: Instance) -> Download:
    """The same streams, all at once, read and thrown away, in a process of their own."""
    server = instance.pids["kube-apiserver"]
    before = cpu_seconds(server)
    command = [sys.executable, "-m", "bench.observing", instance.to_json()]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the raw download failed")
    return Download(**json.loads(output), server_cpu=cpu_seconds(server) - before)


def _followed() -> Iterable[str]:
    """Where what the default configuration follows is found, but for our own records: those are
    no protobuf, and there are none.
    """
    for name in sorted(plan.needs(Configuration().enabled_strategies)):
        if BY_NAME[name] != POD_MIGRATIONS:
            yield BY_NAME[name].path()


async def _fetch_everything(instance: Instance) -> None:
    token = instance.tokens["admin"]
    loop = asyncio.get_running_loop()
    started, begun = loop.time(), cpu_seconds(os.getpid())
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(ssl=instance.client_ssl(), limit=0),
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.kubernetes.protobuf;stream=watch",
            "Accept-Encoding": "identity",
        },
        timeout=aiohttp.ClientTimeout(total=None),
        read_bufsize=2**21,
    ) as session:
        sizes = await asyncio.gather(
            *(_fetch(session, instance.url + path) for path in _followed())
        )
    took, cpu = loop.time() - started, cpu_seconds(os.getpid()) - begun
    print(json.dumps({"seconds": took, "cpu": cpu, "megabytes": sum(sizes) / 1e6}))


async def _fetch(session: aiohttp.ClientSession, url: str) -> int:
    query = {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    size, tail = 0, b""
    async with session.get(url, params=query) as answer:
        answer.raise_for_status()
        async for chunk in answer.content.iter_any():
            size += len(chunk)
            tail = tail[-100:] + chunk[-1000:]
            if b"initial-events-end" in tail:
                break
    return size


# ---------------------------------------------------------------------- the peer


async def _peer(table: Table, instance: Instance) -> None:
    if os.environ.get("BENCH_PEER") == "none":
        return
    try:
        peer = await descheduler(instance)
    except (BuildError, OSError) as problem:
        table.add_row("descheduler, one pass", "failed", str(problem).splitlines()[0])
        return
    table.add_row(
        "the same by descheduler, one pass",
        f"{peer.seconds:.1f} s",
        f"{peer.cpu:.1f} s of CPU, peak {peer.peak_megabytes:,.0f} MB, {peer.version}",
    )


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    """With an argument it is the download above, in its own process; without, all of it."""
    if sys.argv[1:]:
        asyncio.run(_fetch_everything(Instance.from_json(sys.argv[1])))
        return
    rows = Table("FIGURE", "MEASURED", "BESIDE", box=None, padding=(0, 2))
    asyncio.run(measure(rows))
    Console(highlight=False, width=160).print(rows)


if __name__ == "__main__":
    main()
