"""What more moves would gain, as the command says it, is what the page is answered."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from rescheduler.config import Configuration
from rescheduler.observe import files
from rescheduler.plan import documents
from rescheduler.plan.curve import curve
from rescheduler.plan.desk import Search
from rescheduler.serve.dashboard.answers import Asked, plan

EXAMPLE = Path(__file__).parents[4] / "docs/examples/uneven-cluster.json"
AT = datetime(2026, 1, 5, 10, tzinfo=UTC)


def test_it_is_the_document_of_the_command_with_a_point_for_no_move() -> None:
    snapshot = files.load(str(EXAMPLE)).snapshot
    found = curve(snapshot, Configuration(), search=lambda: Search(steps=200))
    said: dict[str, Any] = documents.of_curve(found)
    asked = SimpleNamespace(
        questions=SimpleNamespace(curve=lambda _: said), view=SimpleNamespace(at=AT)
    )
    answer = plan.curve(cast("Asked", asked))
    assert (answer.now.limit, answer.now.moves) == (0, 0)
    assert answer.now.imbalance == said["now"]["imbalance"]
    assert [each.moves for each in answer.points] == [each["moves"] for each in said["points"]]
    assert answer.points
    assert answer.decided_at == AT
