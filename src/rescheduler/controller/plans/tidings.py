"""Who hears what becomes of plans: whoever counts, and whoever reads Events."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from rescheduler.controller.events import Regarding, happenings
from rescheduler.controller.events.happenings import Happening
from rescheduler.model import reschedule_plan
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Failing, Phase, Reason


class Counts(Protocol):
    def became(self, event: str) -> None: ...

    def waiting(self, plans: int) -> None: ...

    def predicted(self, strategy: str, error: float) -> None: ...

    def bounced(self, pods: int) -> None: ...

    def failing(self, strategies: Iterable[str]) -> None: ...


class _Uncounted:
    def became(self, event: str) -> None: ...

    def waiting(self, plans: int) -> None: ...

    def predicted(self, strategy: str, error: float) -> None: ...

    def bounced(self, pods: int) -> None: ...

    def failing(self, strategies: Iterable[str]) -> None: ...


def _nobody(_: Iterable[Happening]) -> None:
    """Reads Events."""


class Tidings:
    def __init__(
        self,
        counts: Counts | None = None,
        tell: Callable[[Iterable[Happening]], None] = _nobody,
        ourselves: Regarding | None = None,
    ) -> None:
        """`ourselves`: on whom Events about strategies are."""
        self._counts = counts or _Uncounted()
        self._tell = tell
        self._ourselves = ourselves
        self._told: frozenset[str] = frozenset()

    def stood(self, before: Object, after: Object) -> None:
        """How a plan stands was written."""
        event = what_became(before, after)
        if event:
            self._counts.became(event)
            self._tell(happenings.of_plan(after, event))

    def known(self, plans: Iterable[Object]) -> None:
        """All of them, as they are now."""
        self._counts.waiting(
            sum(
                reschedule_plan.is_open(each)
                and reschedule_plan.reason_of(each) == Reason.NEEDS_APPROVAL
                for each in plans
            )
        )

    def observed(self, plan: Object, observed: Mapping[str, Any]) -> None:
        del plan
        for each in observed.get("strategies") or ():
            if each["judged"]:
                self._counts.predicted(each["name"], float(each["error"]) / 100)

    def bounced(self, pods: int) -> None:
        self._counts.bounced(pods)

    def failing(self, found: Mapping[str, Failing]) -> None:
        self._counts.failing(found)
        for name in found.keys() - self._told:
            if self._ourselves is not None:
                self._tell([happenings.of_failing(self._ourselves, str(found[name]))])
        self._told = frozenset(found)


def what_became(before: Object, after: Object) -> str:
    """In one word; empty: nothing new."""
    was, phase = reschedule_plan.phase_of(before), reschedule_plan.phase_of(after)
    if phase is Phase.WAITING:
        is_new = not reschedule_plan.reason_of(before)
        return "proposed" if is_new and reschedule_plan.is_open(after) else ""
    if phase is was:
        return ""
    if phase is Phase.RUNNING:
        return "approved" if reschedule_plan.was_approved(after) else ""
    if phase is Phase.COMPLETED:
        is_whole = reschedule_plan.reason_of(after) == Reason.ALL_MOVED
        return "completed" if is_whole else "incomplete"
    return phase.lower()
