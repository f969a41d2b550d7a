"""What a migration does next. Each write is spelled out whole: doing it needs no thought."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.model.objects import Object


@dataclass(frozen=True, slots=True)
class CreateCopy:
    body: Object


@dataclass(frozen=True, slots=True)
class PatchPod:
    what: str
    pod: Object
    change: Mapping[str, Any]
    """To its metadata."""


@dataclass(frozen=True, slots=True)
class Evict:
    what: str
    pod: Object
    grace_seconds: int
    dry_run: bool = False
    """Only ask whether it would be allowed."""


@dataclass(frozen=True, slots=True)
class DeleteCopy:
    copy: Object


@dataclass(frozen=True, slots=True)
class Wait:
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """From here on everything is taken back."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class End:
    outcome: Outcome


Write = CreateCopy | PatchPod | Evict | DeleteCopy
Step = Write | Wait | GiveUp | End


def describe(step: Step) -> str:
    """For the log: the same words for the same step, whatever the pod."""
    match step:
        case CreateCopy():
            return "creates the copy"
        case PatchPod(what) | Evict(what):
            return what
        case DeleteCopy():
            return "deletes the copy"
        case Wait():
            return "waits"
        case GiveUp():
            return "gives up"
        case End():
            return "ended"
