"""How long whoever follows a stream waits before it asks for the next one."""

import random
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Pauses:
    """Before it is tried again, each twice as long as the one before."""

    first_seconds: float = 0.5
    longest_seconds: float = 30.0
    # A right may be granted, or a resource definition installed, while we run. (A server that has
    # just started refuses everything for a moment, so it is asked again soon, and then ever less
    # often.)
    longest_refused_seconds: float = 60.0
    jitter: random.Random | None = None
    """All clients lose their streams when a server goes: they must not come back all at once."""

    def after(self, failures: int, *, refused: bool, asked_seconds: float) -> float:
        doubled = min(failures - 1, 10)
        longest = self.longest_refused_seconds if refused else self.longest_seconds
        pause = max(float(min(self.first_seconds * 2**doubled, longest)), asked_seconds)
        return pause * self.jitter.uniform(1.0, 1.5) if self.jitter else pause
