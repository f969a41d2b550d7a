"""Simulations are silent, as whoever runs them has it; asynchronous tests are on virtual time."""

import asyncio
from collections.abc import Callable, Iterator, Mapping

import pytest
import structlog

from rescheduler import logs
from rescheduler.embedded.virtual_time import VirtualTimeLoop


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logs.set_up(quiet=True)
    yield
    structlog.reset_defaults()


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": VirtualTimeLoop}
