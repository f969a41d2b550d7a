"""One process that observes a cluster as the product does, and says what that costs it.

`bench.observing` starts it and asks, one line of JSON at a time: processes measured together would
hide each other's memory and time.
"""

import asyncio
import json
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import structlog

from rescheduler.clock import SystemClock
from rescheduler.config import UsageSettings
from rescheduler.kube import connect
from rescheduler.observe import Observer, observing
from rescheduler.observe.state import ClusterState
from rescheduler.wire import PODS, Batch
from rescheduler.wire.formats import GROUP, PROTOBUF, format_of

FOLLOWED = (
    "nodes",
    "pods",
    "namespaces",
    "replicasets",
    "deployments",
    "statefulsets",
    "daemonsets",
    "jobs",
    "poddisruptionbudgets",
)
_SNAPSHOTS = 30
_STATUS = Path("/proc/self/status")


async def observe(kubeconfig: str) -> None:
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    cost = Cost()
    settings = UsageSettings(source="requests")
    async with (
        connect(kubeconfig) as kube,
        observing(kube, SystemClock(), FOLLOWED, settings) as observer,
    ):
        await observer.settled(patience_seconds=120)
        snapshot = observer.snapshot()
        say(
            **cost.so_far(),
            nodes=len(snapshot.nodes),
            pods=len(snapshot.rows),
            classes=sum(each is not None for each in snapshot.classes),
        )
        while question := await asyncio.to_thread(sys.stdin.readline):
            if question.strip() == "cost":
                say(**cost.so_far(), ready=ready_pods(observer))
            else:
                say(**await snapshot_cost(observer))


class Cost:
    def __init__(self) -> None:
        self._started = time.monotonic()

    def so_far(self) -> dict[str, float]:
        # Not getrusage, whose peak is that of the process which started this one, if that was more.
        status = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
        return {
            "seconds": time.monotonic() - self._started,
            "cpu": time.process_time(),
            "megabytes": int(status["VmRSS"].split()[0]) / 1024,
            "peak_megabytes": int(status["VmHWM"].split()[0]) / 1024,
        }


def ready_pods(observer: Observer) -> int:
    """How far it has heard of the churn."""
    snapshot = observer.snapshot()
    return int((snapshot.pods.flags[snapshot.rows] & 1).sum())


async def snapshot_cost(observer: Observer) -> dict[str, float]:
    """Milliseconds: taking one, and what the sums by node take that everybody asks of it first."""
    taken: list[float] = []
    summed: list[float] = []
    with_usage: list[float] = []
    for _ in range(_SNAPSHOTS):
        with timed(taken):
            snapshot = observer.snapshot()
        with timed(summed):
            _ = snapshot.requested, snapshot.staying
        with timed(with_usage):
            observer.with_usage(snapshot)
        # Events go on between: what was shared has to be copied before the next write.
        await asyncio.sleep(0.05)
    return {
        "taken": statistics.median(taken),
        "worst": max(taken),
        "summed": statistics.median(summed),
        "with_usage": statistics.median(with_usage),
    }


@contextmanager
def timed(into: list[float]) -> Iterator[None]:
    started = time.perf_counter()
    yield
    into.append(1000 * (time.perf_counter() - started))


def decode(frames_file: str) -> None:
    """What is left when nothing has to be fetched: frames of a watch into columns."""
    stream = Path(frames_file).read_bytes()
    format_ = format_of(PODS, PROTOBUF)
    frames = format_.events(stream)
    state = ClusterState()
    started = time.process_time()
    for first in range(0, len(frames), GROUP):
        objects = [frame.object for frame in frames[first : first + GROUP]]
        views, malformed = format_.group(objects)
        state.take(PODS, Batch(present=views, malformed=malformed))
    seconds = time.process_time() - started
    say(pods=len(state.pods), cpu=seconds)


def say(**what: Any) -> None:  # noqa: ANN401
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "decode":
        decode(sys.argv[2])
    else:
        asyncio.run(observe(sys.argv[2]))
