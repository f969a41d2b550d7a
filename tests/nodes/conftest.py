"""Tests on real nodes: they need root and a kernel to match, and `make test-nodes` says so.

Each worker has a control plane and three nodes of its own, for its tests one after the other.
"""

import asyncio
import re
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from testbed.instance import Instance, OwnedInstance
from testbed.realnodes import traces
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.serving import world_of_real_nodes
from testbed.world import World, install_rights

MILLICORES = 500
"""Of each node, for pods: so that one machine can make several nodes hot, or full."""

START_SECONDS = 30
"""In which three nodes are to be Ready; a busy machine may take longer, and no test fails by it."""


CLEAN_UP_SECONDS = 60.0
"""In which another worker removes what a supervisor left that one of its tests killed."""


def say(line: str) -> None:
    """A figure, for whoever runs the tests with -s or -rP."""
    sys.stdout.write(f"\n{line}\n")


@pytest.fixture(scope="session", autouse=True)
def run() -> Iterator[traces.Run]:
    """The first to come and the last to go: by then the machine is as it was before all of it."""
    run = traces.Run()
    yield run
    deadline = time.monotonic() + CLEAN_UP_SECONDS
    while (changes := run.changes()) and time.monotonic() < deadline:
        time.sleep(1)
    say(f"the machine is as before: {changes or 'yes'}")
    assert changes == {}


@pytest.fixture(scope="session")
def instance(run: traces.Run) -> Iterator[Instance]:
    del run  # it is over when this one is gone, too
    with OwnedInstance() as owned:
        asyncio.run(install_rights(owned.instance))
        yield owned.instance


@pytest.fixture(scope="session")
def nodes(instance: Instance, run: traces.Run) -> Iterator[RealNodes]:
    began = time.monotonic()
    with RealNodes(instance, millicores=MILLICORES) as started:
        took = time.monotonic() - began
        say(f"{len(started.names)} real nodes Ready after {took:.1f} s, goal {START_SECONDS} s")
        yield started
        run.note(started)


@pytest.fixture
async def world(
    instance: Instance, nodes: RealNodes, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    """The real nodes are this test's, as long as it lasts."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    async with world_of_real_nodes(instance, nodes, tmp_path, name) as made:
        yield made
