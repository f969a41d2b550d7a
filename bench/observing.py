"""What it costs to see a whole large cluster, each figure beside its limit from the same run."""

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
from rich.table import Table

from bench.observer import FOLLOWED
from bench.peer import descheduler
from testbed.big_cluster import NODES, PODS, BigCluster, big_cluster
from testbed.golang import BuildError
from testbed.instance import Instance

_EVENTS_PER_SECOND = 1000
_CHURN_SECONDS = 20.0
_SAMPLE_BYTES = 200_000_000
_GROUPS = {
    "replicasets": "apps/v1",
    "deployments": "apps/v1",
    "statefulsets": "apps/v1",
    "daemonsets": "apps/v1",
    "jobs": "batch/v1",
    "poddisruptionbudgets": "policy/v1",
}


async def measure(table: Table) -> None:
    """BENCH_NODES and BENCH_PODS make it smaller, for a machine without the memory or the time."""
    nodes = int(os.environ.get("BENCH_NODES", NODES))
    pods = int(os.environ.get("BENCH_PODS", PODS))
    with tempfile.TemporaryDirectory() as folder:
        async with big_cluster(nodes, pods, say=_say) as (owned, cluster):
            table.add_section()
            table.add_row(
                f"cluster of {nodes:,} nodes, {len(cluster.pods):,} pods",
                f"loaded in {cluster.load_seconds:.0f} s",
                f"{cluster.bytes / 1e6:,.0f} MB in etcd",
            )
            await _measure(table, owned.instance, cluster, Path(folder))


async def _measure(table: Table, instance: Instance, cluster: BigCluster, folder: Path) -> None:
    # Twice: the first reader finds the server's caches cold.
    await _download(instance, None)
    raw = await _download(instance, folder / "frames")
    decoded = await _decode(folder / "frames")
    server = _Cpu(instance.pids["kube-apiserver"])
    async with _observer(instance) as (first, ask):
        server_cpu = server.spent()
        table.add_row(
            "first snapshot",
            f"{first['seconds']:.1f} s, {first['seconds'] / raw.seconds:.2f}x",
            f"{raw.seconds:.1f} s to download the same ({raw.megabytes:,.0f} MB); goal 1.5x",
        )
        scale = len(cluster.pods) / decoded["pods"]
        table.add_row(
            "  its CPU",
            f"{first['cpu']:.1f} s",
            f"{decoded['cpu'] * scale:.1f} s to decode the pods into columns, "
            f"{decoded['pods'] / decoded['cpu']:,.0f} pods/s",
        )
        table.add_row(
            "  the API server's CPU", f"{server_cpu:.1f} s", f"{raw.server_cpu:.1f} s to download"
        )
        table.add_row(
            "  memory after it, peak",
            f"{first['megabytes']:.0f} MB, {first['peak_megabytes']:.0f} MB",
            f"goal 256 MB; {first['pods']:,} pods of {first['classes']:,} classes",
        )
        await _churn(table, cluster, ask)
    await _peer(table, instance)


async def _churn(table: Table, cluster: BigCluster, ask: "_Ask") -> None:
    quiet = await ask("cost")
    await asyncio.sleep(3)
    idle = await ask("cost")
    idle_percent = 100 * (idle["cpu"] - quiet["cpu"]) / (idle["seconds"] - quiet["seconds"])
    started = time.monotonic()
    churning = asyncio.create_task(cluster.churn(_EVENTS_PER_SECOND, _CHURN_SECONDS))
    await asyncio.sleep(2)
    before = await ask("cost")
    await asyncio.sleep(_CHURN_SECONDS - 8)
    after = await ask("cost")
    snapshot = await ask("snapshot")
    changes = await churning
    # On a busy machine etcd does not keep up: what was really written counts.
    rate = changes / (time.monotonic() - started)
    percent = 100 * (after["cpu"] - before["cpu"]) / (after["seconds"] - before["seconds"])
    table.add_row(
        f"CPU at {_EVENTS_PER_SECOND:,} events/s",
        f"{percent * _EVENTS_PER_SECOND / rate:.0f} % of a core",
        f"goal 25 %; {percent:.0f} % at the {rate:,.0f} events/s written, "
        f"{idle_percent:.0f} % without",
    )
    table.add_row(
        "  memory then", f"{after['megabytes']:.0f} MB", f"peak {after['peak_megabytes']:.0f} MB"
    )
    table.add_row(
        "a snapshot meanwhile",
        f"{snapshot['taken']:.2f} ms, worst {snapshot['worst']:.2f} ms",
        f"goal 5 ms; {snapshot['summed']:.1f} ms for all sums by node, "
        f"{snapshot['with_usage']:.0f} ms for usage",
    )


# ---------------------------------------------------------------------- the limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    seconds: float
    megabytes: float
    server_cpu: float


async def _download(instance: Instance, pods_into: Path | None) -> Download:
    """The same streams, all at once, read and thrown away, in a process of their own."""
    server = _Cpu(instance.pids["kube-apiserver"])
    command = [sys.executable, "-m", "bench.observing", instance.to_json(), str(pods_into or "")]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    if process.returncode:
        raise RuntimeError("the raw download failed")
    return Download(**json.loads(output), server_cpu=server.spent())


async def _fetch_everything(instance: Instance, pods_into: str) -> None:
    token = instance.tokens["admin"]
    started = time.monotonic()
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
            *(_fetch(session, instance.url, each, pods_into) for each in FOLLOWED)
        )
    print(json.dumps({"seconds": time.monotonic() - started, "megabytes": sum(sizes) / 1e6}))


async def _fetch(session: aiohttp.ClientSession, url: str, plural: str, into: str) -> int:
    group = _GROUPS.get(plural)
    path = f"/apis/{group}/{plural}" if group else f"/api/v1/{plural}"
    query = {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
    }
    size, tail, kept = 0, b"", []
    async with session.get(url + path, params=query) as answer:
        answer.raise_for_status()
        async for chunk in answer.content.iter_any():
            if into and plural == "pods" and size < _SAMPLE_BYTES:
                kept.append(chunk)
            size += len(chunk)
            tail = tail[-100:] + chunk[-1000:]
            if b"initial-events-end" in tail:
                break
    if kept:
        with open(into, "wb") as file:  # noqa: ASYNC230, PTH123 - after the last reading
            file.writelines(kept)
    return size


async def _decode(frames: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.observer", "decode", str(frames)]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return json.loads(output)  # type: ignore[no-any-return]


# ---------------------------------------------------------------------- ours


class _Ask:
    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    async def __call__(self, question: str) -> dict[str, Any]:
        if self._process.stdin is None:
            raise RuntimeError("the observer has no standard input")
        self._process.stdin.write(f"{question}\n".encode())
        return await self.answer()

    async def answer(self) -> dict[str, Any]:
        if self._process.stdout is None or not (line := await self._process.stdout.readline()):
            raise RuntimeError("the observer ended")
        return json.loads(line)  # type: ignore[no-any-return]


@asynccontextmanager
async def _observer(instance: Instance) -> AsyncIterator[tuple[dict[str, Any], _Ask]]:
    kubeconfig = str(instance.admin_kubeconfig)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.observer", "observe", kubeconfig),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    ask = _Ask(process)
    try:
        yield await ask.answer(), ask
    finally:
        process.kill()
        await process.wait()


class _Cpu:
    """Seconds that a process has spent since this was made."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._before = self._now()

    def spent(self) -> float:
        return self._now() - self._before

    def _now(self) -> float:
        fields = Path(f"/proc/{self._pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


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


if __name__ == "__main__":
    asyncio.run(_fetch_everything(Instance.from_json(sys.argv[1]), sys.argv[2]))
