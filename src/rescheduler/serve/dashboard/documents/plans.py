"""The latest plan, its curve, and the ReschedulePlans. Pure."""

from datetime import datetime
from typing import Any

from msgspec import field

from rescheduler.serve.dashboard.documents import Document


class PodName(Document):
    namespace: str
    name: str
    uid: str


class PlannedMove(Document):
    """As in `rescheduler plan -o json`."""

    pod: PodName
    from_: str = field(name="from")
    to: str
    strategy: str
    reason: str
    way: str
    wave: int
    asked: bool
    group: str


class StrategyReport(Document):
    name: str
    acted: bool
    summary: str
    figures: dict[str, float | None]


class ImbalanceNote(Document):
    before: float | None
    after: float | None
    most: str
    least: str


class NodeBeforeAfter(Document):
    name: str
    eligible: bool
    before: dict[str, float | None]
    """Per cent by resource, and `pods`."""
    after: dict[str, float | None]


class RefusalGroup(Document):
    reason: str
    kind: str
    """Of what sort: Budget, NoNode, Cooldown, ..."""
    count: int
    pods: list[str]
    """namespace/name, at most 100 of them."""


class Plan(Document):
    """What the last pass decided; null fields: there was none yet."""

    decided_at: datetime | None
    loads: str
    moves: list[PlannedMove]
    strategies: list[StrategyReport]
    imbalance: dict[str, ImbalanceNote]
    nodes: list[NodeBeforeAfter]
    refusals: list[RefusalGroup]
    """Those of the most pods first."""
    notes: list[str]
    steps: int
    seed: int
    name: str
    """Of its ReschedulePlan; empty: none was written."""
    phase: str
    command: str
    """Which shows or carries out the same in a terminal."""
    hidden_moves: int
    """Of pods that the viewer may not see."""


class CurvePoint(Document):
    limit: int
    """As maxReschedulePods; 0: none is moved."""
    moves: int
    asked: int
    strategies: dict[str, int]
    imbalance: dict[str, float | None]
    overloaded: int


class Curve(Document):
    """As in `rescheduler plan --curve -o json`."""

    loads: str
    max_reschedule_pods: int
    """In force; 0: no limit."""
    in_flight: int
    now: CurvePoint
    points: list[CurvePoint]
    is_whole: bool
    """More than the last limit would move nothing more."""
    decided_at: datetime | None
    command: str


class PlanRow(Document):
    name: str
    uid: str
    origin: str
    mode: str
    phase: str
    reason: str
    message: str
    summary: str
    total: int
    moved: int
    failed: int
    skipped: int
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    expires_at: datetime | None
    decision: str
    """`approved`, `rejected` or empty."""
    decided_by: str
    undoes: str
    superseded_by: str
    may: list[str]
    """What it would make sense to ask for now: `approve`, `reject`, `undo`."""


class Successor(Document):
    name: str
    uid: str
    node: str


class PlanMove(Document):
    move: PlannedMove
    state: str
    """Running, Moved, Failed, Skipped, or empty: nothing has become of it yet."""
    migration: str
    reason: str
    message: str
    successor: Successor | None


class Predicted(Document):
    before: float | None
    after: float | None


class PlanDocument(Document):
    plan: PlanRow
    loads: str
    imbalance: dict[str, Predicted]
    overloaded: Predicted | None
    nodes: list[NodeBeforeAfter]
    moves: list[PlanMove]
    hidden_moves: int
    observed: dict[str, Any] | None
    """What was measured afterwards, as in status.observed of the ReschedulePlan; null: nothing yet.
    """
    commands: dict[str, str]
    """By `approve`, `reject`, `undo`, `show`: the same in a terminal."""


class PlanList(Document):
    items: list[PlanRow]
    continue_: str = field(name="continue")
    total: int


class Acted(Document):
    plan: str
    """Its name; of an undo, that of the new plan."""
    message: str
    changed: bool
    """False: it was so before."""


class ActionRequest(Document):
    uid: str = ""
    """Of the plan that was looked at: a namesake is left alone. Empty: whichever has the name."""
