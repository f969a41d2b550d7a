"""Asynchronous tests about plans run beside an API server on virtual time."""

import pytest

from tests.unit.embedded.conftest import pytest_asyncio_loop_factories
from tests.unit.embedded.support.server_and_client import ServerAndClient

__all__ = ["pytest_asyncio_loop_factories"]


@pytest.fixture
async def there() -> ServerAndClient:
    return ServerAndClient()
