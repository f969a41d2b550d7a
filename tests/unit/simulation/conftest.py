"""Simulations are silent, as whoever runs them has it."""

from collections.abc import Iterator

import pytest
import structlog

from rescheduler import logs


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    logs.set_up(quiet=True)
    yield
    structlog.reset_defaults()
