"""What time alone would change: cooldowns, and the age of a pod."""

from collections.abc import Iterator
from dataclasses import replace

from rescheduler.documents import durations
from rescheduler.plan.whatif.changes import Change, Kind
from rescheduler.plan.whatif.smallest import smallest
from rescheduler.plan.whatif.worlds import World


def later(world: World) -> Iterator[Change]:
    """If nobody does anything, and nothing else happens."""
    configuration = world.configuration
    cooldown = configuration.stability.cooldown
    longest = max(
        cooldown.pod_seconds,
        cooldown.workload_seconds,
        cooldown.node_seconds,
        configuration.pods.min_pod_age_seconds,
    )
    if world.asked or not world.snapshot.taken_at or not longest:
        return
    least = _after(world, longest).weight
    if least == world.weight:
        return
    seconds = smallest(lambda each: _after(world, each).weight <= least, int(longest) + 1)
    text = durations.format_nanoseconds(seconds * durations.SECOND)
    yield Change(
        kind=Kind.TIME,
        subject=world.desk.name(world.row),
        words=f"wait for {text}",
        details={"seconds": seconds},
        amount=seconds,
        made_in=lambda world: _after(world, seconds),
    )


def _after(world: World, seconds: float) -> World:
    return world.but(snapshot=replace(world.snapshot, taken_at=world.snapshot.taken_at + seconds))
