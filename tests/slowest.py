"""Which files of tests take the longest, told at the end of a run: what people wait for."""

from collections import defaultdict

import pytest

_SHOWN = 10
_seconds: defaultdict[str, float] = defaultdict(float)


def note(report: pytest.TestReport) -> None:
    _seconds[report.nodeid.split("::", 1)[0]] += report.duration


def tell(reporter: pytest.TerminalReporter) -> None:
    # Of a few files everybody knows.
    if len(_seconds) <= _SHOWN:
        return
    whole = sum(_seconds.values())
    reporter.section(f"slowest files, of {whole / 60:.1f} minutes of all processes together")
    for name in sorted(_seconds, key=_seconds.__getitem__, reverse=True)[:_SHOWN]:
        reporter.line(f"{_seconds[name] / 60:5.1f} min  {name}")
