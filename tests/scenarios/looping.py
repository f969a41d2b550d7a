"""The continuous controller as tests meet it, and commands as people type them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.processes import WAIT_SECONDS, Running
from testbed.scenarios import Scene


@asynccontextmanager
async def controller(world: Scene, *flags: str, **settings: Any) -> AsyncIterator[Running]:  # noqa: ANN401
    """`rescheduler run`, as long as the block lasts."""
    async with _controller(world, world.configuration(**settings), *flags) as running:
        yield running


@asynccontextmanager
async def default_controller(world: Scene, **settings: Any) -> AsyncIterator[Running]:  # noqa: ANN401
    """The same with everything at its default but these settings."""
    async with _controller(world, world.default_configuration(**settings)) as running:
        yield running


@asynccontextmanager
async def _controller(world: Scene, path: Path, *flags: str) -> AsyncIterator[Running]:
    running = await world.start_command("run", "--config", str(path), *flags)
    try:
        yield running
    except AssertionError as problem:
        problem.add_note(running.told())
        raise
    finally:
        if not running.has_ended:
            running.kill()
        await running.finish()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended, as its user sees it."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


async def ended(running: Running) -> Ended:
    run = await running.finish(within=2 * WAIT_SECONDS)
    return Ended(run.code, run.out, run.err)


async def as_admin(world: Scene, *arguments: str) -> Ended:
    return await ended(await world.start_as_admin(*arguments))


def election(world: Scene) -> dict[str, object]:
    times = {"leaseDuration": "4s", "renewDeadline": "3s", "retryPeriod": "500ms"}
    return {"leaderElection": {**times, "resourceNamespace": world.name}}


async def cleanup(world: Scene, *flags: str, **settings: object) -> Ended:
    path = str(world.configuration(**{**election(world), **settings}))
    return await as_admin(world, "cleanup", *flags, "--config", path)
