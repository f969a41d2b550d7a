"""What was, and the settings in force. Pure."""

from datetime import datetime
from typing import Any

from rescheduler.serve.dashboard.documents import Document


class HistoryPoint(Document):
    at: datetime
    imbalance: dict[str, float | None]
    """By resource, in points."""
    overloaded: int
    nodes: int
    pods: int
    moved: int
    """Since the process began; the same for the next."""
    failed: int


class PlanOutcome(Document):
    name: str
    ended_at: datetime | None
    phase: str
    reason: str
    total: int
    moved: int
    failed: int
    skipped: int
    predicted: dict[str, dict[str, float | None]]
    """By resource: `before` and `after`."""
    observed: dict[str, Any] | None


class History(Document):
    points: list[HistoryPoint]
    """The oldest first: one a pass, at most some thousand; older ones are thinned out."""
    plans: list[PlanOutcome]
    """That have ended, the youngest first."""
    moved: int
    """By the records that are kept; the same for the next two."""
    failed: int
    gave_way: int
    """Somebody had other plans with the pod."""
    bounces: int | None
    """Pods of these plans that moved again within an hour; null: of none that is known yet."""
    success_percent: float | None


class Setting(Document):
    path: str
    """As in the file, such as migration.readyTimeout."""
    value: Any
    source: str
    """flag, environment, file or default; of a demo also simulation."""
    needs_restart: bool
    """The file says something else, which a restart would take up."""


class Settings(Document):
    items: list[Setting]
    file_error: str
    """Why the file was refused; empty: it was not."""
    command: str
