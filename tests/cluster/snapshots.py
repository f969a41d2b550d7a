"""`rescheduler snapshot`, and kubectl, as tests call them."""

import asyncio
import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from testbed.world import OWNER, World

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class Ended:
    code: int | None
    out: str
    err: str


async def run(world: World, program: Path | str, *arguments: str) -> Ended:
    process = await asyncio.create_subprocess_exec(
        *(program, *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(world.folder)},
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        out, err = await process.communicate()
    return Ended(process.returncode, out.decode(), err.decode())


async def snapshot(world: World, *arguments: str, online: bool = True) -> Ended:
    login = ("--kubeconfig", str(world.kubeconfig())) if online else ()
    return await run(world, sys.executable, "-m", "rescheduler", "snapshot", *arguments, *login)


async def save(world: World, name: str = "cluster.json.gz") -> tuple[Ended, Path]:
    path = world.folder / name
    return await snapshot(world, "save", str(path)), path


async def kubectl_get(world: World, kubectl: Path, what: str) -> Path:
    admin = ("--kubeconfig", str(world.instance.admin_kubeconfig))
    ended = await run(world, kubectl, "get", what, "-A", "-o", "json", *admin)
    assert ended.code == 0, ended
    path = world.folder / "kubectl.json"
    path.write_text(ended.out)
    return path


def own(world: World, objects: Iterable[Any], *kinds: str) -> list[Any]:
    """What is of this test, for others use the same control plane at the same time."""
    return [
        each
        for each in objects
        if (not kinds or each["kind"] in kinds)
        and (
            each["metadata"].get("namespace") == world.name
            or (each["metadata"].get("labels") or {}).get(OWNER) == world.name
        )
    ]


async def settle(world: World, *workloads: tuple[str, str]) -> None:
    async def all_complete() -> bool:
        return all([await world.is_complete(name, kind) for name, kind in workloads])

    await world.wait("the workloads are complete", all_complete)
