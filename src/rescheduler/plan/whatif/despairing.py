"""Why nothing is named that would let a pod move: in words, for whoever would wonder."""

from typing import Final

from rescheduler.plan.whatif.finding import freed_worlds
from rescheduler.plan.whatif.worlds import World

ON_ITS_WAY: Final = "nothing: it is on its way out, or another takes its place already"
STORAGE: Final = (
    "no one thing, nor two together: on every other node its storage keeps it, beside what holds it"
)
HELD: Final = "nothing that is known: behind the rules that hold it there are others"
NOWHERE: Final = (
    "no one thing, nor two together: every other node has more against it than two changes lift"
)
_LEAVING: Final = ("it is terminating", "a copy is taking its place")


def why_none(world: World) -> str:
    """Of one for which no remedy was found; empty: it may move already."""
    if world.is_movable:
        return ""
    if any(each in reason for reason in world.stays for each in _LEAVING):
        return ON_ITS_WAY
    freed = [made for _, made in freed_worlds(world)]
    if not freed:
        return HELD
    return STORAGE if all(map(_is_kept_by_storage, freed)) else NOWHERE


def _is_kept_by_storage(world: World) -> bool:
    desk, row = world.desk, world.row
    way = desk.way(row)
    nodes = [each for each in world.others if desk.placement.nodes_open[each]] or world.others
    return all(any(desk.placement.volumes.why_not(row, way, each)) for each in nodes)
