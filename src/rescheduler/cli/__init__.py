"""The command line. Reads flags, starts the flow, and tells people in words how it ended."""

from rescheduler.cli.commands import app, main

__all__ = ["app", "main"]
