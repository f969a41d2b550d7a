"""For all tests: one that was not run, or may fail, is a failed run, for nobody reads of it. Each
failure is told when it happens: a run that is cut short has named those it had.
"""

import os
import secrets
import signal
import sys

import pytest

from tests import slowest
from tests.blaming import pytest_collection_finish, pytest_runtest_teardown

__all__ = ["pytest_collection_finish", "pytest_runtest_teardown"]

# What a shell starts in the background ignores interrupts, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)

_not_passed: dict[str, str] = {}

# Of those that are too many for every run. The workers of a run inherit it, and draw the same.
os.environ.setdefault("DRAW_SEED", secrets.token_hex(4))


def pytest_report_header() -> str:
    return f"matrices: DRAW_SEED={os.environ['DRAW_SEED']} draws the same cases again"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    slowest.note(report)
    # It may be skipped, and it may pass all the same.
    if hasattr(report, "wasxfail"):
        _not_passed[report.nodeid] = "expected to fail"
    elif report.skipped:
        _not_passed[report.nodeid] = "skipped"
    # Of several processes, the one that hears of all of them.
    if report.failed and _is_in_charge():
        line = f"\nfailed: {report.nodeid} ({report.when}): {_why(report)}"
        print(line, file=sys.__stderr__, flush=True)


def _why(report: pytest.TestReport) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    return str(crash.message if crash else report.longrepr).split("\n", 1)[0]


def _is_in_charge() -> bool:
    return "PYTEST_XDIST_WORKER" not in os.environ


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _not_passed[report.nodeid] = "skipped as a whole"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _not_passed and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for nodeid, what in _not_passed.items():
        terminalreporter.line(f"{what}, which counts as a failure: {nodeid}", red=True)
    slowest.tell(terminalreporter)
