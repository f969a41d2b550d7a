"""python -m bench.compare: each contender on a control plane of its own, one after the other.

COMPARE=a, or "COMPARE=b/kubectl drain,c" runs only that; COMPARE_WORKLOADS=2 makes it small.
"""

import asyncio
import os
import sys

from rich.console import Console

from bench.compare.running import run
from bench.compare.tables import show

_ONLY = "COMPARE"
_WORKLOADS = "COMPARE_WORKLOADS"


async def main() -> None:
    workloads = int(os.environ.get(_WORKLOADS, "0"))
    results = await run(os.environ.get(_ONLY, ""), workloads, say=_say)
    if not results:
        sys.exit(
            f"{_ONLY}={os.environ[_ONLY]} names no scenario (a, b, c, d) with such a contender"
        )
    show(results, Console(highlight=False, width=120))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
