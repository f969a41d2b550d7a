"""Tests on real nodes: they need root and a kernel to match, and `make test-nodes` says so.

All share one control plane and three nodes, one after the other.
"""

import sys
import time
from collections.abc import Iterator

import pytest

from testbed.instance import Instance
from testbed.realnodes.nodes import RealNodes
from tests.control_plane import instance

__all__ = ["instance"]


def say(line: str) -> None:
    """A figure, for whoever runs the tests with -s."""
    sys.stdout.write(f"\n{line}\n")


@pytest.fixture(scope="session")
def nodes(instance: Instance) -> Iterator[RealNodes]:
    began = time.monotonic()
    with RealNodes(instance) as started:
        say(f"{len(started.names)} real nodes Ready after {time.monotonic() - began:.1f} s")
        yield started
