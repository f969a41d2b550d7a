"""Structured log lines on standard error: text for people, JSON for machines."""

import logging
import sys
from typing import Literal, TextIO

import structlog

Format = Literal["text", "json"]

# As Kubernetes components count: 2 tells what happens, 4 also why nothing does.
_DETAILS = 4


def set_up(
    *,
    verbosity: int = 2,
    form: Format = "text",
    quiet: bool = False,
    to: TextIO | None = None,
) -> None:
    """Quiet is for commands that tell people in their own words what they meet. `to`: instead of
    standard error.
    """
    to = to or sys.stderr
    level = logging.DEBUG if verbosity >= _DETAILS else logging.INFO
    if quiet:
        level = logging.ERROR
    renderer: structlog.types.Processor
    if form == "json":
        renderer = structlog.processors.JSONRenderer(sort_keys=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(colors=to.isatty(), sort_keys=False)
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(to),
        cache_logger_on_first_use=True,
    )
