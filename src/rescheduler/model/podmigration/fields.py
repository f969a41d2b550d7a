"""What a record says, field by field. What is not there has its default, here and nowhere else."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from rescheduler.model.names import EVICTED_BY, PLAN, PLANNED_IN
from rescheduler.model.objects import Object, is_terminating, spec
from rescheduler.model.podmigration.steps import Phase, Step
from rescheduler.model.podmigration.ways import Way

API_VERSION: Final = "rescheduler.io/v1alpha1"
KIND: Final = "PodMigration"
PLURAL: Final = "podmigrations"
MANUAL: Final = "Manual"
"""Stands for a strategy where a person wanted it."""

_PHASES: Final = {each.value: each for each in Phase}
_STEPS: Final = {each.value: each for each in Step}
_WAYS: Final = {each.value: each for each in Way}


# ---------------------------------------------------------------------- specification


def pod_uid(record: Object) -> str:
    return str((spec(record).get("pod") or {}).get("uid") or "")


def pod_name(record: Object) -> str:
    return str((spec(record).get("pod") or {}).get("name") or "")


def source_of(record: Object) -> str:
    return str(spec(record).get("source") or "")


def target_of(record: Object) -> str:
    """Empty: nobody has chosen it yet."""
    return str(spec(record).get("target") or "")


def strategy_of(record: Object) -> str:
    """Empty: none wanted it."""
    return str(spec(record).get("strategy") or "")


def why_of(record: Object) -> str:
    """Why it is to move, for people."""
    return str(spec(record).get("reason") or "")


def is_asked(record: Object) -> bool:
    """By a person, who may have written the record himself; else we chose the move."""
    return bool(spec(record).get("asked", True))


def pass_of(record: Object) -> str:
    """When the pass began that decided it, for all of its records alike; empty: none did."""
    return str((record["metadata"].get("annotations") or {}).get(PLANNED_IN) or "")


def plan_of(record: Object) -> str:
    """The name of the ReschedulePlan that it is of; empty: of none."""
    return str((record["metadata"].get("labels") or {}).get(PLAN) or "")


def evicted_by(record: Object) -> str:
    """Who wanted the pod evicted, which is why it moves; empty: nobody."""
    return str((record["metadata"].get("annotations") or {}).get(EVICTED_BY) or "")


def is_forced(record: Object) -> bool:
    """By a command, which lifts what the configuration keeps."""
    return bool(spec(record).get("forced"))


def attempt_of(record: Object) -> int:
    told = spec(record).get("attempt")
    return told if isinstance(told, int) and told > 0 else 1


def wanted_way(record: Object) -> Way | None:
    """None: whichever is right.

    Raises:
        ValueError: of another version.
    """
    told = spec(record).get("way")
    return Way(told) if told else None


def may_recreate(record: Object) -> bool:
    return bool(spec(record).get("mayRecreate"))


def settings_of(record: Object) -> Object:
    """Those of the configuration that it keeps; empty: as they are in force."""
    return spec(record).get("settings") or {}


def group_id(record: Object) -> str:
    """Within its namespace; empty: it moves alone."""
    return str((spec(record).get("group") or {}).get("id") or "")


def group_of(record: Object) -> str:
    """With its namespace; empty: it moves alone."""
    group = group_id(record)
    return f"{record['metadata']['namespace']}/{group}" if group else ""


def group_size(record: Object) -> int:
    size: int = (spec(record).get("group") or {}).get("size") or 0
    return size


def insist_on_request(record: Object) -> None:
    """On what nobody can fill in.

    Raises:
        ValueError: it is missing.
    """
    told = {
        "pod.name": pod_name(record),
        "pod.uid": pod_uid(record),
    }
    if missing := [path for path, value in told.items() if not value]:
        raise ValueError(f"spec.{missing[0]}: is needed")


def asked_again(record: Object) -> dict[str, Any]:
    """The same specification for a further attempt, which moves alone."""
    kept = {key: value for key, value in spec(record).items() if key != "group"}
    return {**kept, "attempt": attempt_of(record) + 1}


# ---------------------------------------------------------------------- status


def status_of(record: Object) -> Object:
    return record.get("status") or {}


def phase_of(record: Object) -> Phase:
    text = status_of(record).get("phase") or Phase.PENDING
    # Of another version: it is under way, and whoever can read the rest of it goes on.
    return _PHASES.get(text, Phase.IN_PROGRESS)


def step_name(record: Object) -> str:
    """As it is written; empty: none yet."""
    return str(status_of(record).get("step") or "")


def step_of(record: Object) -> Step | None:
    """None: of another version, which knows more of them."""
    return _STEPS.get(step_name(record) or Step.CHECK)


def known_step(record: Object) -> Step:
    """The same for whoever goes on with it.

    Raises:
        ValueError: of another version.
    """
    return Step(step_name(record) or Step.CHECK)


def is_over(record: Object) -> bool:
    return phase_of(record).is_over


def has_failed(record: Object) -> bool:
    return phase_of(record) is Phase.FAILED


def is_in_progress(record: Object) -> bool:
    """And nobody has deleted it."""
    return is_unfinished(record) and phase_of(record) is Phase.IN_PROGRESS


def is_unfinished(record: Object) -> bool:
    """And nobody has deleted it."""
    return not is_over(record) and not is_terminating(record)


def waits_for_target(record: Object) -> bool:
    """Whoever asked left it to the planner, which has not chosen one yet."""
    is_pending = phase_of(record) is Phase.PENDING and not is_terminating(record)
    return is_pending and not target_of(record)


def has_begun(record: Object) -> bool:
    """Something may have been done for it: each step is in the record before it is taken, and the
    first one only looks.
    """
    step = step_name(record) or Step.CHECK
    return phase_of(record) is not Phase.PENDING and step != Step.CHECK


def has_done_something(record: Object) -> bool:
    """A pod was made or evicted for it, whatever came of that."""
    is_moved = phase_of(record) is Phase.COMPLETED
    return is_moved or bool(new_pod_of(record).get("uid") or siblings_of(record))


def reason_of(record: Object) -> str:
    """A `Reason`, unless another version wrote it, or a person did; empty: none yet."""
    return str(status_of(record).get("reason") or "")


def message_of(record: Object) -> str:
    return str(status_of(record).get("message") or "")


def way_of(record: Object) -> Way | None:
    """As chosen; None: not yet, or of another version."""
    return _WAYS.get(status_of(record).get("way") or "")


def known_way(record: Object) -> Way | None:
    """The same for whoever goes on with it.

    Raises:
        ValueError: of another version.
    """
    told = status_of(record).get("way")
    return Way(told) if told else None


def is_recreated(record: Object) -> bool:
    """As is wanted, or as was chosen."""
    wanted = _WAYS.get(spec(record).get("way") or "")
    return any(each and not each.makes_a_copy for each in (wanted, way_of(record)))


def is_taken_over(record: Object) -> bool:
    """The copy serves in place of the original, which is told to end: there is no way back, and
    that holds up nobody.
    """
    way = way_of(record)
    makes_a_copy = way is not None and way.makes_a_copy
    return makes_a_copy and step_of(record) is Step.WAIT_GONE


def owner_of(record: Object) -> Object:
    """The controller of the pod, as a reference; empty: nobody, or not known yet."""
    return status_of(record).get("owner") or {}


def old_node_of(record: Object) -> str:
    """Where the original was found; empty: nobody has looked yet."""
    return str((status_of(record).get("oldPod") or {}).get("node") or "")


def new_pod_of(record: Object) -> Object:
    return status_of(record).get("newPod") or {}


def budget_of(record: Object) -> str:
    """The name of the temporary PodDisruptionBudget, while there is one."""
    return str(status_of(record).get("budget") or "")


def siblings_of(record: Object) -> Sequence[str]:
    """UIDs of the pods of its owner when it began."""
    return tuple(status_of(record).get("siblings") or ())


def was_unready(record: Object) -> bool:
    """When it was evicted: its successor need not be Ready, either."""
    return bool(status_of(record).get("unready"))


def fallback_of(record: Object) -> str:
    """Why it was moved by plain eviction; empty: it was not."""
    return str(status_of(record).get("fallback") or "")


def holder_of(record: Object) -> str:
    """Which process carries it out, or has."""
    return str(status_of(record).get("holder") or "")


def fence_of(record: Object) -> int:
    """The number of the term in which that led."""
    return int(status_of(record).get("fence") or 0)


def started_at(record: Object) -> datetime | None:
    return time_of(status_of(record).get("startTime"))


def step_began_at(record: Object) -> datetime | None:
    return time_of(status_of(record).get("stepTime"))


def ended_at(record: Object) -> datetime | None:
    return time_of(status_of(record).get("completionTime"))


def created_at(record: Object) -> datetime | None:
    return time_of(record["metadata"].get("creationTimestamp"))


def time_of(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
