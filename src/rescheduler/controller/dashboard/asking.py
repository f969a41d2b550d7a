"""What the dashboard asks of planning: each answer is that of a command."""

from typing import Any, Final

from rescheduler import plan as planning
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan import documents
from rescheduler.plan.curve import curve
from rescheduler.plan.explaining import explain
from rescheduler.plan.loads import Loads as PlannedLoads
from rescheduler.serve.dashboard.view import Loads, Questions, View

_STEPS: Final = 5_000
"""Of a search for a point of the curve: many are drawn, and somebody waits."""


def questions() -> Questions:
    return Questions(loads=_loads, explain=_explain, curve=_curve)


def _loads(snapshot: Snapshot) -> Loads:
    found = PlannedLoads(snapshot)
    return Loads(
        word=found.word,
        capacity=found.capacity,
        used=found.used,
        of_pod=found.of_pod,
        known=found.known,
        unknown=found.unknown,
    )


def _explain(view: View, row: int) -> dict[str, Any]:
    decided = view.decided.plan if view.decided else Plan()
    return documents.of_pod(explain(view.snapshot, view.configuration, row, decided))


def _curve(view: View) -> dict[str, Any]:
    def search() -> planning.Search:
        return planning.Search(steps=_STEPS)

    return documents.of_curve(curve(view.snapshot, view.configuration, search=search))
