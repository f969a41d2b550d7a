"""What a way of moving is: which pods it is for, what it does next, and what it needs. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.migrate.deciding.actions import Action, End, Outcome
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Way


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a pod does not move in this way; another one may be right."""

    words: str
    outcome: Outcome | None = None
    """How the migration ends if no other way is; None: in the words of whoever says so."""


NOT_FOR_IT: Final = Hindrance("")
"""A way for pods of another kind, or somebody asked for another one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A pod that is to move, and how that was asked for."""

    intent: Intent
    view: View
    original: Object
    progress: Progress
    wanted: Way | None
    """By its record, the pod or the configuration; None: whichever is right."""
    hindrance: Hindrance = NOT_FOR_IT
    """What stood in the way of those that were asked before."""


def _nothing(_intent: Intent, _view: View) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Decider:
    way: Way
    """Its name in records, and what others have to know of it."""
    why_not: Callable[[Case], Hindrance | End | None]
    """None: the pod moves in this way. An end: it does not move at all."""
    next_action: Callable[[Intent, View, Progress], Action]
    new_pod: Callable[[Intent, View, Progress], Object | None]
    """The one in place of the original, as soon as it is there."""
    first_note: Callable[[Intent, View], Mapping[str, Any]] = _nothing
    """What is recorded with the choice of this way, and known from then on: fields of both
    `MigrationStatus` and `Progress`.
    """
    reads_its_end: bool = False
    """That it is done is seen by live reads, not by watches: what it made for the move may be
    there, and a watch not have told it yet.
    """


def copy_of(_intent: Intent, view: View, _progress: Progress) -> Object | None:
    """The new pod of every way that makes a copy."""
    return view.copy
