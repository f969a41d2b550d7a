"""Asynchronous tests of the embedded cluster run on virtual time, and what goes wrong beside one,
in a controller say, goes wrong in it.
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from rescheduler.embedded.virtual_time import VirtualTimeLoop


class _StrictLoop(VirtualTimeLoop):
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        raise context.get("exception") or AssertionError(context["message"])


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"virtual": _StrictLoop}
