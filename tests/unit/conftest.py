"""For unit tests: how long an example takes is no reason to fail, for the machines are busy; and
how a command under test has set up the log is forgotten before the next test looks at it.
"""

from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


@pytest.fixture(autouse=True)
def _log_as_at_first() -> Iterator[None]:
    structlog.reset_defaults()
    yield
    structlog.reset_defaults()
