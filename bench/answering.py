"""How soon /healthz answers while a large cluster is decoded and planned, beside idle.

Asked by a process of its own, so that what the bench itself is busy with does not count.
"""

import asyncio
import json
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rich.table import Table

_GOAL_SECONDS = 0.05
_EVERY_SECONDS = 0.02


@dataclass(slots=True)
class Answers:
    seconds: list[float] = field(default_factory=list)

    def in_words(self) -> str:
        if not self.seconds:
            return "no answer"
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        late = sum(each > _GOAL_SECONDS for each in self.seconds)
        said = f"{1000 * middle:.1f} ms, worst {1000 * worst:.0f} ms"
        return f"{said}, {late} of {len(self.seconds)} later than 50 ms"


@asynccontextmanager
async def probing(port: int, answers: Answers) -> AsyncIterator[None]:
    """As long as the block lasts, one connection after the other, as a kubelet does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.answering", str(port)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield
    finally:
        output, _ = await process.communicate(b"")  # which closes its input
        answers.seconds += json.loads(output)


def tell(table: Table, busy: Answers, idle: Answers) -> None:
    table.add_row(
        "/healthz, until the first cycle has ended",
        busy.in_words(),
        f"goal 50 ms; then, with moves under way, {idle.in_words()}",
    )


def _probe(port: int) -> list[float]:
    """Until nobody listens to us any more. What is refused is not counted: it is starting."""
    ended = threading.Event()

    def hear() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=hear, daemon=True).start()
    found = []
    while not ended.wait(_EVERY_SECONDS):
        begun = time.monotonic()
        if _is_answered(port):
            found.append(time.monotonic() - begun)
    return found


def _is_answered(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
            return bool(answer.read() == b"ok")
    except urllib.error.URLError:
        return False


if __name__ == "__main__":
    print(json.dumps(_probe(int(sys.argv[1]))))
