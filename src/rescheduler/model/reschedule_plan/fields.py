"""What a plan says, field by field. What is not there has its default, here and nowhere else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from rescheduler.model import names
from rescheduler.model.moves import Move, Way
from rescheduler.model.objects import Object, annotations, is_terminating, spec
from rescheduler.model.reschedule_plan.phases import Decision, Origin, Phase, State

API_VERSION: Final = "rescheduler.io/v1alpha1"
KIND: Final = "ReschedulePlan"
PLURAL: Final = "rescheduleplans"
MOST_MOVES: Final = 500
"""As the resource definition says: what an object may weigh is bounded."""

_DRY_RUN: Final = "DryRun"

_PHASES: Final = {each.value: each for each in Phase}
_STATES: Final = {each.value: each for each in State}
_DECISIONS: Final = {each.value: each for each in Decision}
_ORIGINS: Final = {each.value: each for each in Origin}


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has become of one move."""

    uid: str
    state: State
    migration: str = ""
    reason: str = ""
    message: str = ""
    successor: Mapping[str, str] | None = None
    """The pod that took its place: name, uid, node."""


# ---------------------------------------------------------------------- specification


def name_of(plan: Object) -> str:
    return str(plan["metadata"]["name"])


def uid_of(plan: Object) -> str:
    return str(plan["metadata"].get("uid") or "")


def created_at(plan: Object) -> datetime | None:
    return time_of(plan["metadata"].get("creationTimestamp"))


def order_of(plan: Object) -> tuple[str, str]:
    """The younger, the later; of one second, as their names say."""
    return plan["metadata"].get("creationTimestamp") or "", name_of(plan)


def origin_of(plan: Object) -> Origin:
    return _ORIGINS.get(spec(plan).get("origin") or "", Origin.APPLY)


def mode_of(plan: Object) -> str:
    return str(spec(plan).get("mode") or "")


def is_dry(plan: Object) -> bool:
    """Of one who moves nothing: perhaps a process beside the leader, with other settings."""
    return mode_of(plan) == _DRY_RUN


def summary_of(plan: Object) -> str:
    return str(spec(plan).get("summary") or "")


def undoes(plan: Object) -> str:
    """The name of another plan; empty: none."""
    return str(spec(plan).get("undoes") or "")


def is_all_or_nothing(plan: Object) -> bool:
    return bool(spec(plan).get("allOrNothing"))


def moves_of(plan: Object) -> list[Move]:
    """As they are carried out: each knows which plan it is of.

    Raises:
        KeyError, TypeError, ValueError: of another version, or written where nobody checks.
    """
    return [_move(each, plan) for each in spec(plan).get("moves") or ()]


def _move(said: Mapping[str, Any], plan: Object) -> Move:
    is_asked = bool(said.get("asked")) or origin_of(plan) is not Origin.PASS
    return Move(
        namespace=said["namespace"],
        pod=said["pod"],
        uid=said["uid"],
        source=said["from"],
        target=said["to"],
        strategy=said.get("strategy") or "",
        reason=said.get("reason") or "",
        way=Way(said.get("way") or Way.SURGE),
        asked=is_asked,
        group=said.get("group") or "",
        wave=int(said.get("wave") or 0),
        planned_at=str(spec(plan).get("decidedAt") or ""),
        plan=name_of(plan),
    )


def uids_of(plan: Object) -> frozenset[str]:
    """Of its pods."""
    return frozenset(str(each.get("uid") or "") for each in spec(plan).get("moves") or ())


def likeness(plan: Object) -> frozenset[tuple[str, str, str]]:
    """What makes two plans the same to their reader: which pods go from where to where."""
    said = spec(plan).get("moves") or ()
    return frozenset((each["uid"], each["from"], each["to"]) for each in said)


def strategies_of(plan: Object) -> tuple[str, ...]:
    """Whose moves it has, each once, in their order."""
    said = spec(plan).get("moves") or ()
    return tuple(dict.fromkeys(each.get("strategy") or "" for each in said))


def size_of(plan: Object) -> int:
    return len(spec(plan).get("moves") or ())


# ---------------------------------------------------------------------- what people say to it


def decision_of(plan: Object) -> Decision | None:
    """None: nobody has said anything that is understood."""
    said = annotations(plan).get(names.APPROVAL, "").strip().lower()
    return _DECISIONS.get(said)


def misunderstood(plan: Object) -> str:
    """What stands there instead; empty: nothing, or it is understood."""
    said = annotations(plan).get(names.APPROVAL, "").strip()
    return said if said and decision_of(plan) is None else ""


def decided_by(plan: Object) -> str:
    """Empty: by hand, and nobody wrote down who."""
    return annotations(plan).get(names.APPROVAL_BY, "").strip()[:317]


# ---------------------------------------------------------------------- status


def status_of_plan(plan: Object) -> Mapping[str, Any]:
    found: Mapping[str, Any] = plan.get("status") or {}
    return found


def phase_of(plan: Object) -> Phase:
    text = status_of_plan(plan).get("phase") or Phase.WAITING
    # Of another version: whoever can read it goes on with it.
    return _PHASES.get(text, Phase.RUNNING)


def is_over(plan: Object) -> bool:
    return phase_of(plan).is_over or is_terminating(plan)


def reason_of(plan: Object) -> str:
    return str(status_of_plan(plan).get("reason") or "")


def message_of(plan: Object) -> str:
    return str(status_of_plan(plan).get("message") or "")


def was_approved(plan: Object) -> bool:
    """As its status keeps it, whatever its annotations say by now."""
    approval = status_of_plan(plan).get("approval") or {}
    return approval.get("decision") == Decision.APPROVED


def approved_by(plan: Object) -> str:
    return str((status_of_plan(plan).get("approval") or {}).get("by") or "")


def superseded_by(plan: Object) -> str:
    return str(status_of_plan(plan).get("supersededBy") or "")


def started_at(plan: Object) -> datetime | None:
    return time_of(status_of_plan(plan).get("startTime"))


def ended_at(plan: Object) -> datetime | None:
    return time_of(status_of_plan(plan).get("completionTime"))


def expiry_told(plan: Object) -> datetime | None:
    """As its status says; None: nobody has looked at it yet, or it does not wait any more."""
    return time_of(status_of_plan(plan).get("expiresAt"))


def counts_of(plan: Object) -> tuple[int, int, int]:
    """Moved, failed, skipped."""
    status = status_of_plan(plan)
    moved, failed, skipped = (int(status.get(key) or 0) for key in ("moved", "failed", "skipped"))
    return moved, failed, skipped


def observed_of(plan: Object) -> Mapping[str, Any]:
    """Empty: nothing yet."""
    found: Mapping[str, Any] = status_of_plan(plan).get("observed") or {}
    return found


def verdict_of(plan: Object) -> str:
    """Empty: there is none yet."""
    return str(observed_of(plan).get("verdict") or "")


def bounces_of(plan: Object) -> int | None:
    """None: nobody has looked yet."""
    found = observed_of(plan)
    return int(found.get("bounces") or 0) if found else None


def progress_of(plan: Object) -> dict[str, Progress]:
    """By the UID of the pod; of those that are missing nothing has begun."""
    found: Sequence[Mapping[str, Any]] = status_of_plan(plan).get("moves") or ()
    return {
        each["uid"]: Progress(
            uid=each["uid"],
            state=_STATES.get(each.get("state") or "", State.RUNNING),
            migration=each.get("migration") or "",
            reason=each.get("reason") or "",
            message=each.get("message") or "",
            successor=each.get("successor") or None,
        )
        for each in found
    }


def time_of(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text) if text else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else None
