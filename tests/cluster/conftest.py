"""Tests of what only a real control plane has; each has its world there."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from testbed import build
from testbed.instance import Instance
from testbed.world import World, make_world
from tests.control_plane import instance

__all__ = ["instance"]


@pytest.fixture
async def world(
    instance: Instance, tmp_path: Path, request: pytest.FixtureRequest
) -> AsyncIterator[World]:
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower().removeprefix("test_"))
    async with make_world(instance, tmp_path, name) as made:
        yield made


@pytest.fixture(scope="session")
def kubectl() -> Path:
    return build.programs() / "kubectl"
