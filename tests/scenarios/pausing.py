"""Pauses, as a person sets them by hand: a note on the Lease, which may have to be made."""

from typing import Final

from testbed.scenarios import Scene

PAUSED: Final = "rescheduler.io/paused"
SAYS_PAUSED: Final = "moves paused: nothing new begins, and what has begun is brought to its end"


async def pause_by_hand(world: Scene, why: str = "a test") -> None:
    note = {"annotations": {PAUSED: why}}
    if await world.api.find("Lease", world.name, "rescheduler") is None:
        metadata = {"name": "rescheduler", "namespace": world.name, **note}
        await world.api.create({"kind": "Lease", "metadata": metadata, "spec": {}})
    else:
        await world.api.patch("Lease", world.name, "rescheduler", {"metadata": note})


async def resume_by_hand(world: Scene) -> None:
    change = {"metadata": {"annotations": {PAUSED: None}}}
    await world.api.patch("Lease", world.name, "rescheduler", change)


async def is_at_rest(world: Scene) -> bool:
    """Nothing is under way but what nobody could have noticed."""
    return all(is_over(each) or not has_begun(each) for each in await world.records())


def is_over(record: dict[str, dict[str, str]]) -> bool:
    return (record.get("status") or {}).get("phase") in ("Completed", "Failed")


def has_begun(record: dict[str, dict[str, str]]) -> bool:
    return (record.get("status") or {}).get("step") not in (None, "", "Check")
