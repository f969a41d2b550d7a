"""For tests of plans: whatever refuses a pod there has a class of its own in the metrics, which go
by its words. So a new or reworded reason does not become `Other` unnoticed.
"""

from collections.abc import Iterable

import pytest

from rescheduler.model.moves import Refusal
from rescheduler.model.refusal_kinds import RefusalKind, kind_of
from rescheduler.plan.desk import Desk
from rescheduler.plan.movable import Movable


@pytest.fixture(autouse=True)
def _every_refusal_has_a_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse, why_it_stays = Desk.refuse, Movable.why_it_stays

    def refuse_by_kind(self: Desk, row: int, reasons: Iterable[str]) -> None:
        refuse(self, row, _of_a_kind(reasons))

    def stay_by_kind(
        self: Movable, row: int, *, asked: bool = False, begun: bool = False
    ) -> tuple[str, ...]:
        return _of_a_kind(why_it_stays(self, row, asked=asked, begun=begun))

    monkeypatch.setattr(Desk, "refuse", refuse_by_kind)
    monkeypatch.setattr(Movable, "why_it_stays", stay_by_kind)


def _of_a_kind(reasons: Iterable[str]) -> tuple[str, ...]:
    found = tuple(reasons)
    for each in found:
        kind = kind_of(Refusal.of("a/b", [each]))
        assert kind is not RefusalKind.OTHER, f"model/refusal_kinds.py does not know {each!r}"
    return found
