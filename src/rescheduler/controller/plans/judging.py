"""Whether moves still hold, as the cluster is now: each as if those before it were made."""

from collections.abc import Sequence

from rescheduler import plan as planning
from rescheduler.config import Configuration
from rescheduler.controller.passes import Observes
from rescheduler.model.moves import Move


def why_not(
    observer: Observes,
    configuration: Configuration,
    moves: Sequence[Move],
    memory: planning.Memory | None = None,
) -> dict[str, str]:
    """By the UID of the pod, of those that do not. Nothing stays assumed."""
    found: dict[str, str] = {}
    assumed: list[Move] = []
    known = memory or planning.Memory()
    try:
        for move in moves:
            why = planning.why_not_there(observer.snapshot(), configuration, move, known)
            if why:
                found[move.uid] = why
            elif observer.assume(move):
                assumed.append(move)
    finally:
        for move in assumed:
            observer.forget(move)
    return found
