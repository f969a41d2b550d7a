"""By how much a ResourceQuota would have to be raised."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from rescheduler.model import quantities
from rescheduler.model.moves import Way
from rescheduler.model.objects import Object
from rescheduler.model.resources import CPU, in_words
from rescheduler.model.snapshot import Key
from rescheduler.plan import quotas
from rescheduler.plan.whatif import editing
from rescheduler.plan.whatif.changes import Change, Kind
from rescheduler.plan.whatif.worlds import World

_NANOS: Final = 10**9


def more_quota(world: World) -> Iterator[Change]:
    """So that copies of the pod and of its group have room in it beside them."""
    desk = world.desk
    namespace = desk.name(world.row).split("/", 1)[0]
    for key, raw in sorted(world.snapshot.objects.get(quotas.SOURCE, {}).items()):
        if key[0] != namespace:
            continue
        short = {
            name: wanted
            for name in ((raw.get("spec") or {}).get("hard") or {})
            if (wanted := _short_of(world, raw, name)) > 0
        }
        if short:
            told = " and ".join(_words(name, amount) for name, amount in short.items())
            alone = next(iter(short.values())) if len(short) == 1 else None
            yield Change(
                kind=Kind.QUOTA,
                subject="/".join(key),
                words=f"ResourceQuota {key[1]} to allow {told}",
                details={"more": dict(short)},
                amount=alone,
                made_in=partial(_with_more, key=key, short=short),
            )


def _short_of(world: World, raw: Object, name: str) -> int:
    """In billionths. Of who goes before its successor comes, nothing is needed but what is over."""
    desk = world.desk
    used = ((raw.get("status") or {}).get("used") or {}).get(name)
    if used is None:
        return 0
    needed = 0
    for row in desk.unit(world.row):
        charged = desk.movable.charged(row)
        # Without the quota in the way it would be copied, unless something else is.
        if charged and (desk.way(row) is Way.SURGE or "ResourceQuota" in _why(world, row)):
            needed += charged.nanos(name)
    try:
        return needed + quantities.nanos(used) - quantities.nanos(raw["spec"]["hard"][name])
    except ValueError:
        return 0


def _why(world: World, row: int) -> str:
    return world.desk.movable.why_recreated(row)


def _words(name: str, nanos: int) -> str:
    bare = name.removeprefix("requests.").removeprefix("limits.")
    amount = -(-nanos // (_NANOS // 1000 if bare == CPU else _NANOS))
    return f"{in_words(bare, amount)} more {name}"


def _with_more(world: World, *, key: Key, short: dict[str, int]) -> World:
    raw = world.snapshot.objects[quotas.SOURCE][key]
    hard = dict(raw["spec"]["hard"])
    for name, amount in short.items():
        hard[name] = f"{quantities.nanos(hard[name]) + amount}n"
    made = {**raw, "spec": {**raw["spec"], "hard": hard}}
    return world.but(snapshot=editing.with_object(world.snapshot, quotas.SOURCE, key, made))
