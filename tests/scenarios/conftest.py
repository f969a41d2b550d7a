"""One suite, two clusters: every scenario runs on a real control plane and on the embedded cluster.

CLUSTERS=embedded (or real) in the environment chooses one of them. On the embedded one, time is
virtual: hours pass in a moment. CLUSTER_SEED gives it other luck.
"""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import pytest

from rescheduler.embedded.virtual_time import VirtualTimeLoop
from testbed.instance import Instance
from testbed.world import make_kind_of_world
from tests.control_plane import instance
from tests.scenarios.drawing import drawn
from tests.scenarios.embedded_process import speaking_apart
from tests.scenarios.embedded_world import make_embedded_world
from tests.scenarios.own_cluster import OwnCluster, OwnEmbedded, own_control_plane
from tests.scenarios.world import RealWorld, World

__all__ = ["instance"]

CLUSTERS: Mapping[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "real": asyncio.SelectorEventLoop,
    "embedded": VirtualTimeLoop,
}
SEED = int(os.environ.get("CLUSTER_SEED", "0"))
_PARAMETER = "_asyncio_loop_factory"
_SHARE = 1 / 8


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return CLUSTERS


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = os.environ.get("CLUSTERS", "both")
    if chosen not in (*CLUSTERS, "both"):
        raise pytest.UsageError(f"CLUSTERS is {chosen!r}, not one of real, embedded and both")
    if chosen == "both":
        return
    wanted = [item for item in items if _cluster_of(item) in (chosen, "")]
    if chosen == "real":
        wanted = _drawn_of_each_file(wanted)
    kept = {id(item) for item in wanted}
    config.hook.pytest_deselected(items=[item for item in items if id(item) not in kept])
    items[:] = wanted


def _drawn_of_each_file(items: list[pytest.Item]) -> list[pytest.Item]:
    """An eighth of its scenarios, others each time: all of them run on the embedded cluster. Not
    of matrices, which draw by themselves, nor of what does not run there.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        draws = hasattr(getattr(item, "module", None), drawn.__name__)
        is_whole = draws or _cluster_of(item) != "real"
        cases.setdefault(item.nodeid if is_whole else item.location[0], []).append(item)
    chosen = (drawn(each, matrix="SCENARIO", share=_SHARE) for each in cases.values())
    return [item for each in chosen for item in each]


def _cluster_of(item: pytest.Item) -> str:
    """Empty for what runs on neither."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    factory = parameters.get(_PARAMETER)
    return next((name for name, each in CLUSTERS.items() if each is factory), "")


@pytest.fixture
def control_plane(request: pytest.FixtureRequest) -> Instance | None:
    """None on the embedded cluster. Before the event loop runs: it is started in one of its own."""
    if _cluster_of(request.node) != "real":
        return None
    started: Instance = request.getfixturevalue("instance")
    return started


@pytest.fixture
async def own(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[OwnCluster]:
    if _cluster_of(request.node) == "real":
        async with own_control_plane(tmp_path) as real:
            yield real
    else:
        with speaking_apart():
            async with make_embedded_world(tmp_path, "own", seed=SEED) as embedded:
                yield OwnEmbedded(embedded)


@pytest.fixture
async def world(
    control_plane: Instance | None, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    if control_plane is None:
        with speaking_apart():
            async with make_embedded_world(tmp_path, name[:30].strip("-"), seed=SEED) as embedded:
                yield embedded
    else:
        async with make_kind_of_world(RealWorld, control_plane, tmp_path, name) as real:
            yield real
