"""Passes that fail: each is told, and that they keep failing."""

from typing import Final

import structlog

from rescheduler.errors import ReschedulerError

_MANY: Final = 3


class PassFailures:
    def __init__(self) -> None:
        self._in_a_row = 0
        self._log = structlog.get_logger()

    def note(self, problem: Exception) -> None:
        self._in_a_row += 1
        if isinstance(problem, ReschedulerError):
            self._log.error("pass failed, the next one follows", problem=str(problem))
        else:
            self._log.error("pass failed: internal error, please report", exc_info=problem)
        if self._in_a_row % _MANY == 0:
            self._log.error("passes keep failing: nothing is planned", in_a_row=self._in_a_row)

    def end(self) -> None:
        """One went well."""
        if self._in_a_row >= _MANY:
            self._log.info("passes recovered", failed_before=self._in_a_row)
        self._in_a_row = 0
