"""Moves that are carried out, or were: PodMigrations with their timelines. Pure."""

from datetime import datetime

from msgspec import field

from rescheduler.serve.dashboard.documents import Document
from rescheduler.serve.dashboard.documents.plans import PodName


class Migration(Document):
    namespace: str
    name: str
    uid: str
    pod: PodName
    from_: str = field(name="from")
    to: str
    """Empty: none is chosen yet."""
    way: str
    strategy: str
    phase: str
    """Pending, InProgress, Completed or Failed."""
    step: str
    reason: str
    message: str
    why: str
    """Why it is to move."""
    plan: str
    """The ReschedulePlan that it is of; empty: of none."""
    new_pod: str
    attempt: int
    created_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    step_at: datetime | None
    """When the step began."""


class TimelineStep(Document):
    step: str
    began_at: datetime
    ended_at: datetime | None
    """null: it goes on, or nobody saw its end."""
    words: str
    """What is done in it."""


class MigrationDocument(Document):
    migration: Migration
    steps: list[TimelineStep]
    """As far as they were seen: a replica that has just begun knows the last one."""
    owner: str
    """kind/name of the controller of the pod; empty: nobody, or not known yet."""
    settings: dict[str, str]
    holder: str
    """Which process carries it out, or has."""
    commands: dict[str, str]


class MigrationList(Document):
    items: list[Migration]
    """The youngest first."""
    continue_: str = field(name="continue")
    total: int
    phases: dict[str, int]
    """How many there are of each phase."""
