"""Faults that users plant in a simulation, by name and rate: `never-ready=0.02`."""

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from rescheduler.documents.suggestions import advice
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.client import faults
from rescheduler.embedded.client.calls import Around
from rescheduler.embedded.client.faults import Trouble

_SLOW_SECONDS: Final = 300.0

_OF_PODS: Final[dict[str, Callable[[Trouble, float], object]]] = {
    "never-ready": lambda trouble, rate: trouble.never_ready(rate),
    "slow-start": lambda trouble, rate: trouble.slow_to_start(rate, _SLOW_SECONDS),
    "crash": lambda trouble, rate: trouble.crashing(rate),
}
"""Of the pods that are made."""
_OF_CALLS: Final[dict[str, Around]] = {
    "conflict": faults.conflict,
    "lost-reply": faults.lost_reply,
    "lost-request": faults.lost_request,
    "throttled": faults.throttled,
    "unavailable": faults.unavailable,
}
"""Of what the product asks the API server."""
NAMES: Final = (*_OF_PODS, *_OF_CALLS)


@dataclass(frozen=True, slots=True)
class Fault:
    name: str
    rate: float

    def __str__(self) -> str:
        return f"{self.name}={self.rate:g}"


def parse(text: str) -> Fault:
    """Raises ValueError, which says what is wrong."""
    name, _, rate = text.partition("=")
    if name not in NAMES:
        raise ValueError(f"{name!r} is no fault; {advice(name, NAMES)}")
    try:
        share = float(rate)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"{name} has no rate from 0 to 1, such as {name}=0.02")
    return Fault(name, share)


def plant(api: ApiServer, planted: Iterable[Fault], chance: random.Random) -> Around | None:
    """In pods that are made from now on. Gives those of calls, if there are any."""
    trouble, around = Trouble(api, chance), []
    for each in planted:
        if each.name in _OF_PODS:
            _OF_PODS[each.name](trouble, each.rate)
        else:
            around.append(faults.at_rate(each.rate, chance, _OF_CALLS[each.name]))
    return faults.together(*around) if around else None
