"""The record of a migration: the custom resource PodMigration, as a document. Pure.

Its specification says what is to move and why, and never changes. Its status says how far that has
come; `Standing` is the status in the words of the program.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from rescheduler.config import Migration
from rescheduler.config.places import Place, rendered
from rescheduler.config.settings import build as build_settings
from rescheduler.config.settings import document_of, section_of
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.migrate.deciding.outcomes import Outcome, Reason
from rescheduler.migrate.deciding.stages import Method, Phase, Stage
from rescheduler.model import names
from rescheduler.model.moves import Move, Way
from rescheduler.model.objects import Object, labels

__all__ = ["Method", "Phase", "Stage"]

API_VERSION: Final = "rescheduler.io/v1alpha1"
KIND: Final = "PodMigration"

_NAME_LIMIT: Final = 63  # Fits a label, too: what we make on the way is labelled with it.
_HASH_LENGTH: Final = 10
_ID_LENGTH: Final = 16
_TEXT_LIMIT: Final = 1024
_SETTINGS: Final = (
    "coordination",
    "fallback",
    "readyTimeout",
    "settle",
    "evictionGracePeriod",
    "budgetTimeout",
    "steerTimeout",
    "cleanUpTimeout",
    "temporaryBudget",
)
"""Those that a migration keeps as they were when it was asked for."""


_STARTED: Final = {
    False: (
        Stage.WAIT_GROUP,
        Stage.HAND_OVER,
        Stage.EVICT,
        Stage.WAIT_GONE,
        Stage.CLEAN_UP,
        Stage.TAKE_BACK,
    ),
    True: (Stage.CLEAN_UP, Stage.TAKE_BACK),
}
"""By whether the original goes first: the stages in which the new pod runs, or is given up."""


class InvalidRecord(ValueError):
    """Its specification makes no sense; the message names the field."""


# ---------------------------------------------------------------------- names


def name_of(pod: str, uid: str, attempt: int) -> str:
    """The same for every request to move this pod, so that a repeated one is one migration."""
    suffix = f"-{hashlib.sha256(uid.encode()).hexdigest()[:_HASH_LENGTH]}-{attempt}"
    return pod[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix


def migration_id(uid: str, attempt: int) -> str:
    """What the pods are labelled with. Another for each attempt: a copy of the last one may still
    be on its way out.
    """
    return hashlib.sha256(f"{uid}/{attempt}".encode()).hexdigest()[:_ID_LENGTH]


# ---------------------------------------------------------------------- specification


def build(
    move: Move,
    settings: Migration,
    *,
    attempt: int,
    may_interrupt: bool = False,
    group: str = "",
    group_size: int = 0,
) -> dict[str, Any]:
    # One that is not Ready may be by the time that its turn comes: then it is chosen anew.
    is_interrupted = move.way is Way.RESTART and move.is_ready
    spec: dict[str, Any] = {
        "pod": {"name": move.pod, "uid": move.uid},
        "source": move.source,
        "target": move.target,
        "strategy": move.strategy,
        "reason": _cut(move.reason),
        "asked": move.asked,
        **({"forced": True} if move.forced else {}),
        "attempt": attempt,
        "mayInterrupt": may_interrupt or is_interrupted,
        "settings": {k: v for k, v in document_of(settings).items() if k in _SETTINGS},
    }
    if is_interrupted:
        spec["method"] = Method.STEER.value
    marks = {names.POD_UID: move.uid}
    if group:
        spec["group"] = {"id": group, "size": group_size}
        marks[names.GROUP] = names.label_value(group)
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": name_of(move.pod, move.uid, attempt),
            "namespace": move.namespace,
            "labels": marks,
        },
        "spec": spec,
    }


def again(record: Object) -> dict[str, Any]:
    """The same request once more, as a further attempt of its own."""
    spec = {key: value for key, value in record["spec"].items() if key != "group"}
    spec["attempt"] = attempt_of(record) + 1
    pod, metadata = spec["pod"], record["metadata"]
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {
            "name": name_of(pod["name"], pod["uid"], spec["attempt"]),
            "namespace": metadata["namespace"],
            "labels": {names.POD_UID: pod["uid"]},
        },
        "spec": spec,
    }


def is_asked(record: Object) -> bool:
    """By a person, who may have written the record himself; else we chose the move."""
    return bool(record["spec"].get("asked", True))


def attempt_of(record: Object) -> int:
    attempt: int = record["spec"].get("attempt") or 1
    return attempt


def intent_of(record: Object, settings: Migration, owner: Owner | None = None) -> Intent:
    """What the record asks for. A person may have written it, and left out what has a default.

    Raises:
        InvalidRecord: it makes no sense.
    """
    metadata, spec = record["metadata"], record["spec"]
    pod, group = spec["pod"], spec.get("group") or {}
    attempt = attempt_of(record)
    if spec.get("source") == spec["target"]:
        raise InvalidRecord("spec.target: must be another node than spec.source")
    return Intent(
        record=metadata["name"],
        id=migration_id(pod["uid"], attempt),
        namespace=metadata["namespace"],
        pod=pod["name"],
        uid=pod["uid"],
        source=spec.get("source") or "",
        target=spec["target"],
        strategy=spec.get("strategy") or "Manual",
        reason=spec.get("reason") or "",
        requested_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        settings=_settings(spec.get("settings"), settings),
        owner=owner,
        asked=is_asked(record),
        forced=bool(spec.get("forced")),
        attempt=attempt,
        method=Method(spec["method"]) if spec.get("method") else None,
        may_interrupt=bool(spec.get("mayInterrupt")),
        group=group.get("id") or "",
        group_size=group.get("size") or 0,
    )


def _settings(given: Mapping[str, Any] | None, default: Migration) -> Migration:
    if not given:
        return default
    findings: list[tuple[tuple[str | int, ...], str]] = []
    read = section_of(Migration).read(Place(dict(given), ("spec", "settings"), findings))
    if findings or read is None:
        raise InvalidRecord("; ".join(f"{rendered(path)}: {said}" for path, said in findings))
    made = build_settings(Migration, read)
    # What is about many migrations, and not about this one, is as it is in force now.
    return replace(
        made,
        way=default.way,
        workers=default.workers,
        retry=default.retry,
        circuit_breaker=default.circuit_breaker,
        retention=default.retention,
    )


# ---------------------------------------------------------------------- status


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """How far a migration has come, as its record says."""

    phase: Phase = Phase.PENDING
    stage: Stage = Stage.CHECK
    method: Method | None = None
    reason: str = ""
    message: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    owner: Owner | None = None
    old_node: str = ""
    new_pod: str = ""
    new_uid: str = ""
    new_node: str = ""
    budget: str = ""
    """The name of the temporary PodDisruptionBudget."""
    siblings: tuple[str, ...] = ()
    unready: bool = False
    fallback: str = ""
    holder: str = ""
    fence: int = 0
    noted: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_ending(self) -> bool:
        """The copy serves in place of the original, which is told to end: that holds up nobody."""
        return self.stage is Stage.WAIT_GONE and self.method in (Method.SURGE, Method.COPY)

    @property
    def is_starting(self) -> bool:
        """The target has the start of a pod before it, or in it."""
        return self.stage not in _STARTED[self.method is Method.STEER]

    @property
    def giving_up(self) -> Outcome | None:
        if self.stage is not Stage.TAKE_BACK:
            return None
        return Outcome(moved=False, reason=reason_of(self.reason), message=self.message)


def standing_of(record: Object) -> Standing:
    status = record.get("status") or {}
    new, owner = status.get("newPod") or {}, status.get("owner")
    return Standing(
        phase=phase_of(record),
        stage=Stage(status.get("step") or Stage.CHECK),
        method=Method(status["method"]) if status.get("method") else None,
        reason=status.get("reason") or "",
        message=status.get("message") or "",
        started_at=_time(status.get("startTime")),
        ended_at=ended_at(record),
        owner=Owner(*(owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")))
        if owner
        else None,
        old_node=(status.get("oldPod") or {}).get("node") or "",
        new_pod=new.get("name") or "",
        new_uid=new.get("uid") or "",
        new_node=new.get("node") or "",
        budget=status.get("budget") or "",
        siblings=tuple(status.get("siblings") or ()),
        unready=bool(status.get("unready")),
        fallback=status.get("fallback") or "",
        holder=status.get("holder") or "",
        fence=status.get("fence") or 0,
    )


def status_of(record: Object, standing: Standing, now: datetime) -> dict[str, Any]:
    """The status that says so; None where the record may say more than that."""
    before = record.get("status") or {}
    pod = record["spec"]["pod"]
    is_new_stage = before.get("step") != standing.stage
    has_new_pod, owner = standing.new_pod or standing.new_uid, standing.owner
    return {
        "phase": standing.phase.value,
        "step": standing.stage.value,
        "method": standing.method.value if standing.method else None,
        "reason": standing.reason or None,
        "message": _cut(standing.message) or None,
        "startTime": _text(standing.started_at),
        "stepTime": _text(now) if is_new_stage else before.get("stepTime"),
        "completionTime": _text(standing.ended_at),
        "oldPod": {"name": pod["name"], "uid": pod["uid"], "node": standing.old_node or None},
        "newPod": {
            "name": standing.new_pod or None,
            "uid": standing.new_uid or None,
            "node": standing.new_node or None,
        }
        if has_new_pod
        else None,
        "owner": {
            "apiVersion": owner.api_version,
            "kind": owner.kind,
            "name": owner.name,
            "uid": owner.uid,
        }
        if owner
        else None,
        "budget": standing.budget or None,
        "siblings": list(standing.siblings) or None,
        "unready": standing.unready or None,
        "fallback": standing.fallback or None,
        "holder": standing.holder or None,
        "fence": standing.fence,
        "observedGeneration": record["metadata"].get("generation", 1),
        "conditions": [_condition(record, standing, now)],
    }


def _condition(record: Object, standing: Standing, now: datetime) -> dict[str, Any]:
    status = {Phase.COMPLETED: "True", Phase.FAILED: "False"}.get(standing.phase, "Unknown")
    reason = standing.reason if standing.phase.is_over else standing.stage.value
    before = next(
        (
            each
            for each in (record.get("status") or {}).get("conditions") or ()
            if each["type"] == "Completed" and each["status"] == status
        ),
        None,
    )
    return {
        "type": "Completed",
        "status": status,
        "reason": reason or standing.phase.value,
        "message": _cut(standing.message),
        "lastTransitionTime": before["lastTransitionTime"] if before else _text(now),
        "observedGeneration": record["metadata"].get("generation", 1),
    }


def phase_of(record: Object) -> Phase:
    text = (record.get("status") or {}).get("phase") or Phase.PENDING
    # Of another version: it is under way, and whoever can read the rest of it goes on.
    return _PHASES.get(text, Phase.IN_PROGRESS)


def ended_at(record: Object) -> datetime | None:
    return _time((record.get("status") or {}).get("completionTime"))


_PHASES: Final = {each.value: each for each in Phase}


def reason_of(text: str) -> Reason:
    """Of another version, or written by hand: then it is a refusal, whatever it was."""
    return Reason(text) if text in list(Reason) else Reason.REFUSED


def is_unfinished(record: Object) -> bool:
    return not phase_of(record).is_over and "deletionTimestamp" not in record["metadata"]


def is_steering(record: Object) -> bool:
    return names.STEERING in labels(record)


def _time(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def _text(time: datetime | None) -> str | None:
    """As Kubernetes writes times: whole seconds, UTC."""
    if time is None:
        return None
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
