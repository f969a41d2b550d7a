"""The planner's word on a migration that is about to begin, or to hand over: the cluster may be
another by then.
"""

from collections.abc import Callable
from dataclasses import replace

from rescheduler import plan
from rescheduler.config import Configuration, Forced
from rescheduler.controller.passes import Observes
from rescheduler.migrate import Intent
from rescheduler.model.moves import Move, Way


class LastCheck:
    """Answers, for whoever is about to begin a migration, why it would not be planned any more."""

    def __init__(self, observer: Observes, in_force: Callable[[], Configuration]) -> None:
        self._observer = observer
        self._in_force = in_force
        # Not that of the plans, which are made in another thread.
        self._memory = plan.Memory()

    def why_not(self, intent: Intent) -> str:
        """Empty: it may begin. Then it is assumed, as those of a plan are from the start: who asks
        next may want the same place, and no copy is to be seen yet.
        """
        move = _move(intent)
        configuration = replace(self._in_force(), forced=Forced() if intent.forced else None)
        snapshot = self._observer.snapshot()
        why = plan.why_not_there(
            snapshot, configuration, move, self._memory, asks=intent.asks, record=intent.record
        )
        if not why:
            self._observer.assume(move)
        return why

    def why_uneven_after(self, intent: Intent) -> str:
        """Empty: the copy may take the place of its original."""
        snapshot = self._observer.snapshot()
        return plan.why_uneven_after(snapshot, _move(intent), intent.copy, self._memory)

    def forget(self, intent: Intent) -> None:
        self._observer.forget(_move(intent))


def _move(intent: Intent) -> Move:
    return Move(
        namespace=intent.namespace,
        pod=intent.pod,
        uid=intent.uid,
        source=intent.source,
        target=intent.target,
        strategy=intent.strategy,
        reason=intent.reason,
        way=Way.RECREATE if intent.may_recreate else Way.SURGE,
        asked=intent.asked,
    )
