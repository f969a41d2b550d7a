"""Packing problems for tests: small ones by hand, and others by chance."""

import random
from collections.abc import Iterator
from itertools import product

import numpy as np

from rescheduler.plan.packing.ordering import untangle_by_numbers
from rescheduler.plan.packing.problem import NO_LIMIT, Problem, Whole
from rescheduler.plan.packing.search import Outcome, search


def problem(  # noqa: PLR0913
    capacity: list[list[int]],
    pods: list[tuple[list[int], int]],
    *,
    cost: list[float] | None = None,
    groups: list[tuple[int, ...]] | None = None,
    limit: list[int] | None = None,
    always_open: list[int] | None = None,
    allowed: list[list[int]] | None = None,
    move_cost: float = 1.0,
) -> Problem:
    """Every pod is a kind of its own: what it asks for, and its home."""
    nodes = len(capacity)
    limits = limit or []
    masks = np.ones((len(pods) or 1, nodes), np.bool_)
    for pod, where in enumerate(allowed or []):
        masks[pod] = np.isin(np.arange(nodes), where)
    return Problem(
        capacity=np.array(capacity, np.int64),
        node_cost=np.array(cost or [100.0] * nodes),
        asks=np.array([asks for asks, _ in pods], np.int64).reshape(len(pods), len(capacity[0])),
        kind=np.arange(len(pods)),
        home=np.array([home for _, home in pods], np.int64),
        allowed_sets=masks,
        allowed=np.arange(len(pods)),
        groups=tuple(groups or [()] * len(pods)),
        limit=np.array(limits, np.int64),
        extra_cost=np.full(len(limits), move_cost),
        always_open=np.isin(np.arange(nodes), always_open or []),
        move_cost=move_cost,
    )


def by_chance(seed: int, *, nodes: int, resources: int, fill: float = 0.7) -> Problem:
    chance = random.Random(seed)  # noqa: S311
    sizes = [[chance.randint(1, 9) for _ in range(resources)] for _ in range(4)]
    capacity = [[chance.choice((16, 24, 31)) for _ in range(resources)] for _ in range(nodes)]
    limits = [chance.choice((1, 2, NO_LIMIT)) for _ in range(3)]
    pods: list[tuple[list[int], int]] = []
    groups: list[tuple[int, ...]] = []
    for node in range(nodes):
        left = [int(fill * each) for each in capacity[node]]
        held = [0] * len(limits)
        for _ in range(12):
            asks, group = chance.choice(sizes), chance.randrange(len(limits))
            if held[group] < limits[group] and all(
                ask <= has for ask, has in zip(asks, left, strict=True)
            ):
                pods.append((asks, node))
                groups.append((group,))
                held[group] += 1
                left = [has - ask for ask, has in zip(asks, left, strict=True)]
    cost = [float(sum(each) + chance.randint(0, 5)) for each in capacity]
    return problem(
        capacity, pods, cost=cost, groups=groups, limit=limits, move_cost=chance.choice((0.0, 0.5))
    )


def solve(
    given: Problem, *, seed: int = 0, steps: int = 400, most_moves: int = NO_LIMIT
) -> Outcome:
    return search(
        given,
        seed=seed,
        steps=steps,
        stop=lambda: False,
        check=lambda place, _final: untangle_by_numbers(given, place),
        most_moves=most_moves,
    )


def cheapest(given: Problem) -> float:
    """By trying all assignments that keep the rules."""
    return min(given.cost(place) for place in _all(given) if not given.broken(place).any())


def _all(given: Problem) -> Iterator[Whole]:
    choices = [
        np.flatnonzero(given.allowed_sets[given.allowed[kind]] | (np.arange(given.nodes) == home))
        for kind, home in zip(given.kind, given.home, strict=True)
    ]
    for each in product(*(choice.tolist() for choice in choices)):
        yield np.array(each, np.int64)
