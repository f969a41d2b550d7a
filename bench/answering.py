"""How soon a run answers while a large cluster is decoded and planned, beside an idle one.

Asked by a process of its own, so that what the bench itself is busy with does not count.
"""

import asyncio
import http.client
import json
import statistics
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any, Final

from rich.table import Table

_GOAL_SECONDS: Final = 0.05
_EVERY_SECONDS: Final = 0.02
_PATIENCE_SECONDS: Final = 10.0
_REFUSED: Final = "refused"
_ROUNDS: Final[Mapping[str, int]] = {"/healthz": 1, "/readyz": 5, "/metrics": 50}
"""In which each is asked: nobody scrapes more often than every second."""
_RIGHT: Final[Mapping[str, frozenset[int]]] = {
    "/healthz": frozenset({200}),
    "/readyz": frozenset({200, 500}),  # 500: not yet
    "/metrics": frozenset({200}),
}


@dataclass(slots=True)
class Answers:
    """To one path."""

    seconds: list[float] = field(default_factory=list)
    """Of all that were asked for, until the answer or the failure."""
    failures: dict[str, int] = field(default_factory=dict)
    """How often, by what it was."""

    def in_words(self) -> str:
        if not self.seconds:
            return "never asked"
        return ", ".join([self.in_short(), self._late(), *self._failed()])

    def in_short(self) -> str:
        if not self.seconds:
            return "never asked"
        middle, worst = statistics.median(self.seconds), max(self.seconds)
        return f"{1000 * middle:.1f} ms, worst {1000 * worst:.0f} ms"

    def _late(self) -> str:
        late = sum(each > _GOAL_SECONDS for each in self.seconds)
        return f"{late} of {len(self.seconds)} late"

    def _failed(self) -> Iterable[str]:
        return (f"{times} {what}" for what, times in sorted(self.failures.items()))


ByPath = dict[str, Answers]


def nothing_yet() -> ByPath:
    return {path: Answers() for path in _ROUNDS}


@asynccontextmanager
async def probing(port: int, answers: ByPath, *, is_starting: bool = False) -> AsyncIterator[None]:
    """As long as the block lasts, one connection after the other, as a kubelet does."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bench.answering", str(port), *(["starting"] * is_starting)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield
    finally:
        output, _ = await process.communicate(b"")  # which closes its input
        found: dict[str, dict[str, Any]] = json.loads(output)
        answers.update({path: Answers(**each) for path, each in found.items()})


def tell(table: Table, *, idle: ByPath, busy: ByPath, moving: ByPath) -> None:
    for path in _ROUNDS:
        beside = f"goal 50 ms; idle: {idle[path].in_words()}"
        table.add_row(f"{path}, until the first pass has ended", busy[path].in_words(), beside)
        table.add_row("  then, with moves under way", moving[path].in_words(), "goal 50 ms")


class Prober:
    """Whatever is no answer is a failure, and took the time until that was known; but one that
    starts may refuse connections until it has answered once.
    """

    def __init__(
        self, port: int, *, is_starting: bool, patience_seconds: float = _PATIENCE_SECONDS
    ) -> None:
        self.answers = nothing_yet()
        self._port = port
        self._is_starting = is_starting
        self._patience_seconds = patience_seconds

    def ask(self, path: str) -> None:
        begun = time.monotonic()
        failure = self._failure(path)
        if failure == _REFUSED and self._is_starting:
            return
        self._is_starting = False
        found = self.answers[path]
        found.seconds.append(time.monotonic() - begun)
        if failure:
            found.failures[failure] = found.failures.get(failure, 0) + 1

    def _failure(self, path: str) -> str:
        """Empty: it was answered."""
        try:
            status = self._status(path)
        except (OSError, http.client.HTTPException) as problem:
            return _in_a_word(problem)
        return "" if status in _RIGHT[path] else f"answered {status}"

    def _status(self, path: str) -> int:
        url = f"http://127.0.0.1:{self._port}{path}"
        try:
            with urllib.request.urlopen(url, timeout=self._patience_seconds) as answer:
                answer.read()
                return int(answer.status)
        except urllib.error.HTTPError as answer:
            with answer:
                answer.read()
                return answer.code


def _in_a_word(problem: Exception) -> str:
    # What goes wrong while the request is sent is wrapped, and what does afterwards is not.
    inner = problem.reason if isinstance(problem, urllib.error.URLError) else problem
    if isinstance(inner, ConnectionRefusedError):
        return _REFUSED
    if isinstance(inner, TimeoutError):
        return "timed out"
    return "cut off"


def _probe(port: int, *, is_starting: bool) -> ByPath:
    """Until nobody listens to us any more."""
    ended = threading.Event()

    def hear() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=hear, daemon=True).start()
    prober, rounds = Prober(port, is_starting=is_starting), count()
    while not ended.wait(_EVERY_SECONDS):
        for path in due(next(rounds)):
            prober.ask(path)
    return prober.answers


def due(number: int) -> list[str]:
    """Which paths are asked in that round."""
    return [path for path, each in _ROUNDS.items() if number % each == 0]


if __name__ == "__main__":
    number, *words = sys.argv[1:]
    probed = _probe(int(number), is_starting="starting" in words)
    print(json.dumps({path: asdict(answers) for path, answers in probed.items()}))
