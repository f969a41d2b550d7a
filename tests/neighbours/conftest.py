"""Beside real programs that other clusters run: each test has a control plane of its own, for what
they register holds for all of a cluster.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.scenarios.own_cluster import OwnControlPlane, own_control_plane


@pytest.fixture
async def own(tmp_path: Path) -> AsyncIterator[OwnControlPlane]:
    async with own_control_plane(tmp_path) as started:
        yield started
