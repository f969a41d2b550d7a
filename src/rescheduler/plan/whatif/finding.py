"""Which changes let a pod move: one where one is enough, else few."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from rescheduler.plan.whatif.changes import RANK, Change
from rescheduler.plan.whatif.holding import against_holds
from rescheduler.plan.whatif.placing import against_nowhere
from rescheduler.plan.whatif.worlds import World

_MOST: Final = 4
"""Choices that are named."""
_MOST_TOGETHER: Final = 8
"""Changes that are worth naming together."""
_MOST_FIRST: Final = 10
"""Changes that are tried as the first of two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """Made together, these let the pod move; none of them alone does, unless there is one only."""

    changes: tuple[Change, ...]

    @property
    def words(self) -> str:
        return ", and ".join(each.words for each in self.changes)

    @property
    def cost(self) -> tuple[int, list[int]]:
        return len(self.changes), [RANK[each.kind] for each in self.changes]


def remedies(world: World) -> tuple[Remedy, ...]:
    """The smallest first; none: it may move already, or nothing is known that would help."""
    if world.is_movable:
        return ()
    found: list[Remedy] = []
    for changes, freed in freed_worlds(world):
        if freed.is_movable:
            found.append(_needed(world, changes))
        elif not found:
            found += (_needed(world, (*changes, *more)) for more in _placed(freed))
    return tuple(sorted(found, key=lambda each: each.cost)[:_MOST])


def freed_worlds(world: World) -> Iterator[tuple[tuple[Change, ...], World]]:
    """Worlds in which no rule holds it any more, and how to get there."""
    changes: tuple[Change, ...] = ()
    while world.stays and len(changes) < _MOST_TOGETHER:
        done = {each.identity for each in changes}
        tried = [
            (each, each.made_in(world))
            for each in against_holds(world)
            if each.identity not in done
        ]
        enough = [(each, made) for each, made in tried if not made.stays]
        if enough:
            # What lets it go somewhere right now is better than what asks for more.
            for each, made in sorted(enough, key=lambda one: (not one[1].is_movable, _rank(one))):
                yield (*changes, each), made
            return
        # One rule may hide another: then as many hold it as before, but not the same.
        helping = [one for one in tried if one[1].weight < world.weight] or [
            one for one in tried if one[1].weight == world.weight and one[1].stays != world.stays
        ]
        if not helping:
            return
        change, world = min(helping, key=lambda one: (one[1].weight, _rank(one)))
        changes = (*changes, change)
    if not world.stays:
        yield changes, world


def _needed(world: World, changes: tuple[Change, ...]) -> Remedy:
    """Without those that turn out to be none: what one lifts, a later one may lift as well."""
    for change in changes:
        left = tuple(each for each in changes if each is not change)
        if left and _made(world, left).is_movable:
            return _needed(world, left)
    return Remedy(changes=changes)


def _made(world: World, changes: tuple[Change, ...]) -> World:
    for change in changes:
        world = change.made_in(world)
    return world


def _rank(one: tuple[Change, World]) -> int:
    return RANK[one[0].kind]


def _placed(world: World) -> Iterator[tuple[Change, ...]]:
    """What gets it a node, once nothing else holds it."""
    offered = [*against_nowhere(world)]
    enough = [(each,) for each in offered if each.made_in(world).is_movable]
    yield from enough[:_MOST] or _placed_by_two(world, offered)


def _placed_by_two(world: World, offered: list[Change]) -> Iterator[tuple[Change, ...]]:
    for first in offered[:_MOST_FIRST]:
        made = first.made_in(world)
        for second in against_nowhere(made):
            if second.made_in(made).is_movable:
                yield first, second
                return
