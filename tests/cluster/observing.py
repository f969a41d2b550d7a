"""Observing a test's own piece of a cluster, and what is asked of every observer in trouble."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rescheduler.clock import Clock, SystemClock
from rescheduler.config import UsageSettings
from rescheduler.kube import connect
from rescheduler.kube.following import Manner
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Gap, Snapshot
from rescheduler.observe import Observer, observing, sources
from rescheduler.observe.files import to_objects
from testbed.world import World

EVERYTHING = tuple(sources.BY_NAME)
SOME = ("nodes", "pods", "replicasets", "deployments")
REQUESTS = UsageSettings(source="requests")
QUICK = Manner(watch_seconds=3.0, silence_seconds=1.0)
"""Dead connections are found after a few seconds."""

_LOOK_SECONDS = 0.01


@asynccontextmanager
async def eyes(
    world: World,
    names: Iterable[str] = SOME,
    manner: Manner | None = None,
    *,
    clock: Clock | None = None,
    kubeconfig: str = "",
) -> AsyncIterator[Observer]:
    """An observer as the product has it, with the rights of rbac.yaml; through the fault proxy, if
    there is one. It may still be listing.
    """
    async with (
        connect(kubeconfig or str(world.kubeconfig()), manner=manner) as api,
        observing(api, clock or SystemClock(), names, REQUESTS) as observer,
    ):
        yield observer


def seen(world: World, snapshot: Snapshot) -> list[Object]:
    """Of the snapshot, what is the test's own: others share the control plane."""

    def is_own(metadata: Object) -> bool:
        return metadata.get("namespace") == world.name or world.name in metadata["name"]

    return [each for each in to_objects(snapshot) if is_own(each["metadata"])]


def everything(_: World, snapshot: Snapshot) -> list[Object]:
    """For a test that has a control plane of its own."""
    return to_objects(snapshot)


Part = Callable[[World, Snapshot], list[Object]]


async def fresh(
    world: World,
    names: Iterable[str] = SOME,
    manner: Manner | None = None,
    *,
    part: Part = seen,
) -> list[Object]:
    """What one sees who looks now for the first time, past the fault proxy."""
    config = world.folder / "fresh.kubeconfig"
    config.write_text(world.instance.kubeconfig(world.token))
    async with eyes(world, names, manner, kubeconfig=str(config)) as observer:
        await observer.settled()
        assert observer.gaps() == ()
        return part(world, observer.snapshot())


def names_of(objects: Iterable[Object], kind: str = "Pod") -> list[str]:
    return [each["metadata"]["name"] for each in objects if each["kind"] == kind]


async def converges(
    world: World, observer: Observer, names: Iterable[str] = SOME, *, part: Part = seen
) -> list[Object]:
    """Until the observer sees what a fresh one sees, and says that it sees. Gives what that is."""
    found: list[Object] = []

    async def sees_the_same() -> bool:
        found[:] = await fresh(world, names, part=part)
        return not observer.gaps() and part(world, observer.snapshot()) == found

    await world.wait("the observer sees what is there", sees_the_same)
    return found


async def sees(world: World, observer: Observer, *pods: str) -> None:
    """Until it sees these pods of the test, and no others."""

    async def all_of_them() -> bool:
        return names_of(seen(world, observer.snapshot())) == sorted(pods)

    await world.wait(f"the observer sees {pods}", all_of_them)


@dataclass(slots=True)
class Blindness:
    """All that an observer said not to see, from here on."""

    gaps: list[Gap] = field(default_factory=list)

    def reasons(self, source: str) -> list[str]:
        return [gap.reason for gap in self.gaps if gap.source == source]

    def was_told(self, source: str, *words: str) -> bool:
        return any(all(word in each for word in words) for each in self.reasons(source))


@asynccontextmanager
async def blindness_of(observer: Observer) -> AsyncIterator[Blindness]:
    """Some of it is over in half a second, so it is noted as it comes."""
    noted = Blindness()

    async def look() -> None:
        while True:
            noted.gaps += [gap for gap in observer.gaps() if gap not in noted.gaps]
            await asyncio.sleep(_LOOK_SECONDS)

    looking = asyncio.create_task(look())
    try:
        yield noted
    finally:
        looking.cancel()


async def is_blind(world: World, observer: Observer, source: str, *words: str) -> Gap:
    """Until the observer says that it does not see this, and why in these words."""
    found: list[Gap] = []

    async def says_so() -> bool:
        found[:] = [
            gap
            for gap in observer.gaps()
            if gap.source == source and all(word in gap.reason for word in words)
        ]
        return bool(found)

    await world.wait(f"the observer says why it does not see {source}", says_so)
    return found[0]


def told(lines: Sequence[Object], event: str) -> list[Object]:
    """Of captured log lines, those about this."""
    return [line for line in lines if line["event"] == event]
