"""Whatever a test leaves open is blamed on that test, not on the one during which Python finds it.

A socket, a process or an event loop that nobody closed is noticed when it is collected, and what
hangs in a cycle is collected at any later time. So all is collected at the end of each test, while
its name is known.
"""

import gc
import sys
from collections.abc import Generator

import pytest


def pytest_collection_finish() -> None:
    _collect()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    try:
        yield
    finally:
        _let_go_of(item)
        left_open = _collect()
    if left_open:
        pytest.fail("\n  ".join(["it left open:", *left_open]), pytrace=False)


def _let_go_of(item: pytest.Item) -> None:
    """What pytest itself would drop a little later: fixtures, and the frames of a failure."""
    getattr(item, "funcargs", {}).clear()
    for name in ("last_type", "last_value", "last_traceback"):
        vars(sys).pop(name, None)


def _collect() -> list[str]:
    """What was found unclosed, or failed in any other way while it was collected.

    What is alive is passed over from then on: it is modules and the tests themselves, and going
    through them after each test would take longer than the tests.
    """
    found: list[str] = []

    def note(raised: "sys.UnraisableHookArgs") -> None:
        found.append(f"{raised.object!r}: {raised.exc_value!r}")

    before, sys.unraisablehook = sys.unraisablehook, note
    try:
        gc.collect()
        gc.freeze()
    finally:
        sys.unraisablehook = before
    return found
