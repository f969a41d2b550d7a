"""Records the pods of a namespace by a watch of its own, each change with the time it was seen."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager

from bench.compare.timeline import Pods, Sighting, Timeline
from testbed.api import Api, Object
from testbed.audit import is_ready
from testbed.instance import Instance


class Recorder:
    def __init__(self, api: Api, namespace: str, wanted: Mapping[str, int]) -> None:
        self._api = api
        self._namespace = namespace
        self._wanted = wanted
        self._sightings: list[Sighting] = []
        self._pods = Pods()
        self._changed = asyncio.Event()
        self._began = 0.0
        self._seen = 0
        """The newest version of a pod; they come in order."""

    async def look(self) -> str:
        """What is there now; the version after which to watch."""
        page = await self._api.list_page("Pod", self._namespace)
        for item in page["items"]:
            self._see("ADDED", item)
        return str(page["metadata"]["resourceVersion"])

    async def follow(self, version: str) -> None:
        async for event, item in self._api.watch("Pod", self._namespace, version):
            if event == "ERROR":
                raise RuntimeError(f"the recorder's watch failed: {item}")
            if event != "BOOKMARK":
                self._see(event, item)
        raise RuntimeError("the API server ended the recorder's watch")

    async def catch_up(self) -> None:
        """Until everything was seen that has happened by now."""
        found = await self._api.list("Pod", self._namespace)
        newest = max(map(_version, found), default=0)
        while self._seen < newest:
            self._changed.clear()
            await self._changed.wait()

    def start_the_clock(self) -> None:
        self._began = time.monotonic()

    async def until(self, condition: Callable[[Pods], bool], within: float) -> bool:
        """Looks after each change of a pod; False when the time is over before."""
        try:
            async with asyncio.timeout(within):
                while not condition(self._pods):
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    def timeline(self, *, done: bool) -> Timeline:
        """Up to the last change, if that was the end of it; else up to now."""
        last = max(self._sightings[-1].at, self._began)
        return Timeline(
            wanted=self._wanted,
            sightings=tuple(self._sightings),
            began=self._began,
            ended=last if done else time.monotonic(),
        )

    def _see(self, event: str, item: Object) -> None:
        seen = Sighting(
            at=time.monotonic(),
            uid=item["metadata"]["uid"],
            workload=item["metadata"]["labels"]["app"],
            node=item["spec"].get("nodeName", ""),
            cpu=sum(map(_cores, item["spec"]["containers"])),
            is_ready=is_ready(item),
            is_gone=event == "DELETED",
        )
        self._sightings.append(seen)
        self._pods.apply(seen)
        self._seen = max(self._seen, _version(item))
        self._changed.set()


def _version(pod: Object) -> int:
    return int(pod["metadata"]["resourceVersion"])


def _cores(container: Object) -> float:
    amount = str(container["resources"]["requests"]["cpu"])
    return float(amount[:-1]) / 1000 if amount.endswith("m") else float(amount)


@asynccontextmanager
async def recording(
    instance: Instance, namespace: str, wanted: Mapping[str, int]
) -> AsyncIterator[Recorder]:
    """Of the workloads named in `wanted`, whose pods carry their name as the label `app`."""
    async with Api(instance.url, instance.tokens["auditor"], instance.client_ssl()) as api:
        recorder = Recorder(api, namespace, wanted)
        watch = asyncio.create_task(recorder.follow(await recorder.look()))
        try:
            yield recorder
            # Who may have missed something must not give figures.
            if watch.done():
                watch.result()
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
