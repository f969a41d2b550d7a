"""What a migration does next. Each write is spelled out whole: doing it needs no thought.

The step that an action belongs to, and what it notes, are written into the record before it is
done.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self

from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Reason, Step

GO_ON: Final = (
    "it took too long, or the API server refused too often: the next run goes on from here"
)
Note = Mapping[str, Any]
"""Fields of `records.MigrationStatus` that are to be remembered: way, siblings, budget, ..."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a migration ended."""

    moved: bool
    """False: the original is where it was, or was deleted by someone else; nothing of ours is left,
    unless the reason is NotFinished."""
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class CreateCopy:
    body: Object
    step: Step = Step.CREATE
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PatchPod:
    what: str
    pod: Object
    change: Mapping[str, Any]
    """To its metadata."""
    step: Step = Step.HAND_OVER
    note: Note = field(default_factory=dict)
    is_final: bool = False
    """It cannot be taken back, so it is decided on live reads only."""


@dataclass(frozen=True, slots=True)
class SetReady:
    """Takes an original out of its Services, or gives it back to them."""

    what: str
    pod: Object
    conditions: Sequence[Object]
    """All of its status, as they are to be."""
    is_ready: bool = False
    step: Step = Step.LEAVE
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Evict:
    what: str
    pod: Object
    grace_seconds: int
    dry_run: bool = False
    """Only ask whether it would be allowed."""
    step: Step = Step.EVICT
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeleteCopy:
    copy: Object
    step: Step = Step.TAKE_BACK
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CreateBudget:
    """A temporary PodDisruptionBudget."""

    body: Object
    step: Step = Step.PROTECT
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeleteBudget:
    budget: Object
    step: Step = Step.CLEAN_UP
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """Begins or ends the steering: a label of the record, None to take it off."""

    labels: Mapping[str, str | None]
    step: Step = Step.STEER
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks, by a dry run, what the API server makes of a pod of this owner."""

    body: Object
    is_steered: Callable[[Object], bool]
    """Whether this answer has our preference."""
    step: Step = Step.STEER
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rehearse:
    """Asks, by dry runs, what admission makes of a pod of this template, and of a copy of it."""

    template: str
    as_owner: Object
    copy_of: Callable[[Object | None], Object]
    """The copy made of this answer; of None: of the template."""
    siblings: tuple[str, ...] = ()
    """Pods of the same template by which a copy is judged where dry runs do not tell."""
    resized: Object | None = None
    """The original, if somebody may have resized it."""
    step: Step = Step.CHECK
    note: Note = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wait:
    reason: str
    step: Step = Step.WAIT_READY
    note: Note = field(default_factory=dict)
    seconds: float | None = None
    """For so long, if nothing changes; None: until something does."""


@dataclass(frozen=True, slots=True)
class GiveUp:
    """From here on everything is taken back."""

    outcome: Outcome
    step: Step = Step.TAKE_BACK
    note: Note = field(default_factory=dict)

    @classmethod
    def because(cls, reason: Reason, message: str) -> Self:
        return cls(Outcome(moved=False, reason=reason, message=message))


@dataclass(frozen=True, slots=True)
class End:
    outcome: Outcome
    step: Step = Step.DONE
    note: Note = field(default_factory=dict)

    @classmethod
    def because(cls, reason: Reason, message: str) -> Self:
        return cls(Outcome(moved=False, reason=reason, message=message))

    @classmethod
    def not_now(cls, message: str) -> Self:
        return cls.because(Reason.NOT_NOW, message)

    @classmethod
    def never(cls, message: str) -> Self:
        return cls.because(Reason.NOT_MOVABLE, message)

    @classmethod
    def not_finished(cls) -> Self:
        return cls.because(Reason.NOT_FINISHED, GO_ON)


Write = (
    CreateCopy
    | PatchPod
    | SetReady
    | Evict
    | DeleteCopy
    | CreateBudget
    | DeleteBudget
    | LabelRecord
)
Action = Write | Probe | Rehearse | Wait | GiveUp | End


def is_final(action: Action) -> bool:
    """Whether it may only be done on what was read just now: what watches tell may be behind."""
    match action:
        case PatchPod(is_final=final):
            return final
        case Evict(dry_run=dry_run):
            return not dry_run
    return isinstance(action, DeleteCopy | CreateBudget | DeleteBudget | GiveUp | End)


def lets_go(action: Action) -> bool:
    """Whether it brings an original that has a copy nearer to its end."""
    match action:
        case PatchPod(step=step):
            return step is Step.HAND_OVER
        case SetReady(is_ready=is_ready):
            return not is_ready
        case Evict(dry_run=dry_run, step=step):
            return not dry_run and step.ends_the_original
    return False


def describe(action: Action) -> str:  # noqa: C901, PLR0911 - one case per kind
    """For the log: the same words for the same action, whatever the pod."""
    match action:
        case CreateCopy():
            return "creates the copy"
        case PatchPod(what) | SetReady(what) | Evict(what):
            return what
        case DeleteCopy():
            return "deletes the copy"
        case CreateBudget():
            return "guards the workload with a temporary budget"
        case DeleteBudget():
            return "deletes the temporary budget"
        case LabelRecord(labels):
            begins = any(labels.values())
            return "asks the API server to steer" if begins else "stops steering"
        case Probe():
            return "asks whether the API server steers"
        case Rehearse():
            return "asks what admission makes of a copy"
        case Wait():
            return "waits"
        case GiveUp():
            return "gives up"
        case End():
            return "ended"
