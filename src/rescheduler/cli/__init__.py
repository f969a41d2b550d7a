"""The command line. Reads flags, starts the flow, and tells people in words how it ended."""

import sys
from typing import Final

_INTERRUPTED: Final = 130


def main() -> None:
    try:
        # To import all of it takes a moment, in which somebody may think better of it.
        from rescheduler.cli import app
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    app.main()
