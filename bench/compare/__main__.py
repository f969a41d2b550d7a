"""python -m bench.compare: each contender on the same cluster, one after the other.

SCENES=a, or "SCENES=b/kubectl drain,e" runs only that; WORKLOADS=2 makes it small.
"""

import asyncio
import os
import sys

from rich.console import Console

from bench.compare import guard_tables, guarding, request_tables, requests, running, tables

_SCENES = "SCENES"
_WORKLOADS = "WORKLOADS"


async def main() -> None:
    only = os.environ.get(_SCENES, "")
    workloads = int(os.environ.get(_WORKLOADS) or 0)
    simulated = running.chosen(only) or running.chosen(only, guarding.SCENARIOS)
    if not simulated and not requests.chosen(only):
        sys.exit(f"{_SCENES}={only} names no scene (a, b, c, d, e, f) with such a contender")
    console = Console(highlight=False, width=120)
    if results := await running.run(only, workloads, say=_say):
        tables.show(results, console)
    if outcomes := await requests.run(only, workloads, say=_say):
        request_tables.show(outcomes, console)
    if results := await running.run(only, workloads, _say, guarding.SCENARIOS):
        guard_tables.show(results, console)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    asyncio.run(main())
