"""What pods are priced by: those of one size are one item, and so are those of a tight group."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from rescheduler.plan.packing.problem import NO_LIMIT, Mask, Problem, Real, Whole

_OWN_ITEMS: Final = 24
"""Groups with a limit that are priced on their own, at the most: those that press most."""
_PRESSURE: Final = 0.04
"""A group presses when it needs more than this share of all nodes."""
_SHAPES: Final = 40
"""Sizes that are told apart, at the most; where there are more, near ones count as one."""
_ITEMS: Final = 80
_POOLS: Final = 8


@dataclass(frozen=True, kw_only=True)
class Items:
    """What the programme tells apart: kinds of one size, and kinds of a group that presses."""

    of_kind: Whole
    asks: Real
    """By item and resource: of its pods on average."""
    least: Real
    """The same: the least of each, which a bound has to go by."""
    demand: Real
    copies: Whole
    """By item: how many a node may hold."""
    group: Whole
    """By item: the group whose limit that is; -1: of several."""
    in_pool: Mask
    """By item and pool."""
    pools: Whole
    """By node; the last may be a mix of many."""


def items_of(problem: Problem) -> Items:
    pools, in_pool_of_set = _pools(problem)
    shapes = near_sizes(problem.scaled_asks, _SHAPES)
    pressing = _pressing_groups(problem, shapes)
    keys = [
        (pressing[kind], int(shapes[kind]), in_pool_of_set[problem.allowed[kind]].tobytes())
        for kind in range(problem.kinds)
    ]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    of_kind = np.array([numbers[key] for key in keys], np.int64)
    count, resources = len(numbers), problem.asks.shape[1]
    demand = np.bincount(of_kind, weights=problem.demand, minlength=count).astype(np.float64)
    asks, least = np.zeros((count, resources)), np.zeros((count, resources))
    copies = np.zeros(count, np.int64)
    group = np.full(count, -1, np.int64)
    in_pool = np.zeros((count, int(pools.max(initial=0)) + 1), np.bool_)
    tightest = _tightest(problem)
    for (own, _, _), item in numbers.items():
        kinds = np.flatnonzero(of_kind == item)
        weights = np.maximum(problem.demand[kinds], 1e-9)
        asks[item] = weights @ problem.scaled_asks[kinds] / weights.sum()
        least[item] = problem.scaled_asks[kinds].min(axis=0)
        group[item] = own
        in_pool[item] = in_pool_of_set[problem.allowed[kinds[0]]]
        limits = problem.limit[[own]] if own >= 0 else _limits_of(problem, tightest, kinds)
        copies[item] = min(int(limits.sum()), int(demand[item]))
    room = np.maximum(problem.scaled_capacity, 0).max(axis=0, initial=0)
    with np.errstate(divide="ignore"):
        fits = np.where(least > 0, room // np.maximum(least, 1e-9), np.inf).min(axis=1)
    return Items(
        of_kind=of_kind,
        asks=asks,
        least=least,
        demand=demand,
        copies=np.minimum(copies, np.minimum(fits, NO_LIMIT).astype(np.int64)),
        group=group,
        in_pool=in_pool,
        pools=pools,
    )


def _pools(problem: Problem) -> tuple[Whole, Mask]:
    """By node its pool, few of them; and by allowed set whether a pool is open to it at all."""
    sizes = np.bincount(problem.pools)
    largest = np.argsort(-sizes, kind="stable")
    few = np.full(len(sizes), min(len(sizes), _POOLS) - 1, np.int64)
    few[largest[: _POOLS - 1]] = np.arange(min(len(sizes), _POOLS - 1))
    pools = few[problem.pools]
    in_pool = np.zeros((len(problem.allowed_sets), int(pools.max(initial=0)) + 1), np.bool_)
    for pool in range(in_pool.shape[1]):
        in_pool[:, pool] = problem.allowed_sets[:, pools == pool].any(axis=1)
    return pools, in_pool


def _pressure(problem: Problem) -> Real:
    members = np.zeros(len(problem.limit))
    for kind, groups in enumerate(problem.groups):
        members[list(groups)] += problem.demand[kind]
    return members / np.maximum(problem.limit, 1e-3) / max(problem.nodes, 1)


def _pressing_groups(problem: Problem, shapes: Whole) -> list[int]:
    """By kind: the group that is priced on its own, or -1."""
    pressure = _pressure(problem)
    sizes: dict[int, set[int]] = {}
    for kind, groups in enumerate(problem.groups):
        for group in groups:
            sizes.setdefault(group, set()).add(int(shapes[kind]))
    own: set[int] = set()
    left = _ITEMS - int(shapes.max(initial=0)) - 1
    for group in np.argsort(-pressure, kind="stable")[:_OWN_ITEMS].tolist():
        left -= len(sizes.get(group, ()))
        if pressure[group] < _PRESSURE or left < 0:
            break
        own.add(group)
    return [
        max((each for each in groups if each in own), key=lambda each: pressure[each], default=-1)
        for groups in problem.groups
    ]


def _tightest(problem: Problem) -> list[int]:
    """By kind: its group of the least limit, or -1."""
    return [
        min(groups, key=lambda each: problem.limit[each], default=-1) for groups in problem.groups
    ]


def _limits_of(problem: Problem, tightest: list[int], kinds: Whole) -> Whole:
    groups = {tightest[kind] for kind in kinds.tolist()}
    if -1 in groups:
        return np.array([NO_LIMIT])
    return np.minimum(problem.limit[sorted(groups)], NO_LIMIT // max(len(groups), 1))


def near_sizes(sizes: Whole, most: int) -> Whole:
    """By row: number of its size; where there are too many, sizes that are near count as one."""
    _, numbers = np.unique(sizes, axis=0, return_inverse=True)
    step = 0.02
    while numbers.max(initial=0) >= most:
        near = np.floor(np.log1p(sizes) / step)
        _, numbers = np.unique(near, axis=0, return_inverse=True)
        step *= 1.3
    return numbers.reshape(-1).astype(np.int64)
