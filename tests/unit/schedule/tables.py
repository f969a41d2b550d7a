"""Tables of a few nodes, and pods that are to come to them, in few words."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from rescheduler.schedule import Figures, Newcomer, NodeTable, Rules, Steering

MI = 2**20
RULES = Rules(
    cpu_threshold_percent=80.0,
    memory_threshold_percent=80.0,
    is_strict=False,
    cpu_weight=1.0,
    memory_weight=1.0,
    balance_bonus=2.0,
)
NOBODY = (0.0, 0.0)


def table(  # noqa: PLR0913 - all but the first are for few
    used: Mapping[str, tuple[float, float]],
    *,
    capacity: tuple[float, float] = (1000.0, 1000.0 * MI),
    promised: Mapping[str, tuple[float, float]] | None = None,
    requested: Mapping[str, tuple[float, float]] | None = None,
    in_maintenance: tuple[str, ...] = (),
    being_emptied: tuple[str, ...] = (),
    steering: Mapping[str, list[Steering]] | None = None,
    arrived: Iterable[str] = (),
    taken_at: float = 0.0,
) -> NodeTable:
    """By node: cpu in thousandths, and memory in MiB. `arrived`: names of pods."""
    names = tuple(used)
    numbers = {name: number for number, name in enumerate(names)}
    return NodeTable(
        names=names,
        numbers=numbers,
        capacity=np.tile(np.array(capacity), (len(names), 1)),
        used=_figures(used, names),
        requested=_figures(requested or used, names),
        promised=_figures(promised or {}, names),
        word="requests",
        in_maintenance={numbers[name]: "it is in maintenance" for name in in_maintenance},
        being_emptied={numbers[name]: "it is being emptied" for name in being_emptied},
        steering=steering or {},
        arrived=frozenset(f"uid-{name}" for name in arrived),
        taken_at=taken_at,
    )


def _figures(given: Mapping[str, tuple[float, float]], names: tuple[str, ...]) -> Figures:
    rows = [given.get(name, NOBODY) for name in names]
    return np.array([(cpu, memory * MI) for cpu, memory in rows], np.float64).reshape(-1, 2)


def nothing(on: NodeTable) -> Figures:
    return np.zeros(on.capacity.shape)


def pod(name: str = "web-1", *, cpu: float = 100.0, memory: float = 100.0, **more: Any) -> Newcomer:  # noqa: ANN401
    given: dict[str, Any] = {
        "uid": f"uid-{name}",
        "namespace": "shop",
        "name": name,
        "owner_uid": "owner",
        "asks": (cpu, memory * MI),
        "belongs_to_its_node": False,
        "is_copy": False,
    }
    return Newcomer(**{**given, **more})


def of_kind(kind: str) -> Newcomer:
    given: dict[str, Any] = {kind: True}
    return pod(**given)
