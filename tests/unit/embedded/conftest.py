"""Asynchronous tests of the embedded cluster run on virtual time, and what goes wrong beside one,
in a controller say, goes wrong in it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import pytest

from rescheduler.embedded.virtual_time import VirtualTimeLoop
from tests.unit.embedded.support.node_cluster import NodeCluster
from tests.unit.embedded.support.server_and_client import ServerAndClient


class _StrictLoop(VirtualTimeLoop):
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise context.get("exception") or AssertionError(context["message"])


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": _StrictLoop}


@pytest.fixture
async def cluster() -> AsyncIterator[NodeCluster]:
    with NodeCluster() as made:
        yield made


@pytest.fixture
async def both() -> ServerAndClient:
    return ServerAndClient()
