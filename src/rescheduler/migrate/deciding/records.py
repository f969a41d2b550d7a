"""The record of a migration: the custom resource PodMigration, as a document. Pure.

Its specification says what is to move and why, and never changes. Its status says how far that has
come; `MigrationStatus` is the status in the words of the program.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from rescheduler.config import Migration
from rescheduler.documents.places import Place, rendered
from rescheduler.documents.settings import build as build_settings
from rescheduler.documents.settings import document_of, section_of
from rescheduler.migrate.deciding import naming
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.facts import Intent, Owner
from rescheduler.model import conditions, names, podmigration
from rescheduler.model.moves import Move, Way
from rescheduler.model.objects import Object, labels
from rescheduler.model.podmigration import Phase, Step, reasons

_TEXT_LIMIT: Final = 1024
KEPT_SETTINGS: Final = (
    "coordination",
    "fallback",
    "readyTimeout",
    "settle",
    "linger",
    "evictionGracePeriod",
    "budgetTimeout",
    "steerTimeout",
    "cleanUpTimeout",
    "temporaryBudget",
)
"""Those that a migration keeps as they were when it was asked for."""


class InvalidRecord(ValueError):
    """Its specification makes no sense; the message names the field."""


# ---------------------------------------------------------------------- specification


def build(
    move: Move,
    settings: Migration,
    *,
    attempt: int,
    may_recreate: bool = False,
    group: str = "",
    group_size: int = 0,
) -> dict[str, Any]:
    # One that is not Ready may be by the time that its turn comes: then it is chosen anew.
    is_recreated = move.way is Way.RECREATE and move.is_ready
    spec: dict[str, Any] = {
        "pod": {"name": move.pod, "uid": move.uid},
        "source": move.source,
        **({"target": move.target} if move.target else {}),
        "strategy": move.strategy,
        "reason": _cut(move.reason),
        "asked": move.asked,
        **({"forced": True} if move.forced else {}),
        "attempt": attempt,
        "mayRecreate": may_recreate or is_recreated,
        "settings": {k: v for k, v in document_of(settings).items() if k in KEPT_SETTINGS},
    }
    if is_recreated:
        spec["way"] = podmigration.Way.RECREATE.value
    marks = {names.POD_UID: move.uid}
    if move.plan:
        marks[names.PLAN] = move.plan
    if group:
        spec["group"] = {"id": group, "size": group_size}
        marks[names.GROUP] = names.label_value(group)
    return {
        "apiVersion": podmigration.API_VERSION,
        "kind": podmigration.KIND,
        "metadata": {
            "name": naming.record_name(move.pod, move.uid, attempt),
            "namespace": move.namespace,
            "labels": marks,
            **({"annotations": {names.PLANNED_IN: move.planned_at}} if move.planned_at else {}),
        },
        "spec": spec,
    }


def again(record: Object) -> dict[str, Any]:
    """The same request once more, as a further attempt of its own."""
    spec, uid = podmigration.asked_again(record), podmigration.pod_uid(record)
    return {
        "apiVersion": podmigration.API_VERSION,
        "kind": podmigration.KIND,
        "metadata": {
            "name": naming.record_name(podmigration.pod_name(record), uid, spec["attempt"]),
            "namespace": record["metadata"]["namespace"],
            "labels": {names.POD_UID: uid},
        },
        "spec": spec,
    }


def intent_of(record: Object, settings: Migration, owner: Owner | None = None) -> Intent:
    """What the record asks for. A person may have written it, and left out what has a default.

    Raises:
        InvalidRecord: it makes no sense.
        ValueError: something is missing, or another version wrote it.
    """
    podmigration.insist_on_request(record)
    metadata, attempt = record["metadata"], podmigration.attempt_of(record)
    pod, uid = podmigration.pod_name(record), podmigration.pod_uid(record)
    source, target = podmigration.source_of(record), podmigration.target_of(record)
    if not target:
        raise InvalidRecord("spec.target: is needed by now")
    if source == target:
        raise InvalidRecord("spec.target: must be another node than spec.source")
    return Intent(
        record=metadata["name"],
        id=naming.migration_id(uid, attempt),
        namespace=metadata["namespace"],
        pod=pod,
        uid=uid,
        source=source,
        target=target,
        strategy=podmigration.strategy_of(record) or podmigration.MANUAL,
        reason=podmigration.why_of(record),
        requested_at=datetime.fromisoformat(metadata["creationTimestamp"]),
        settings=_settings(podmigration.settings_of(record), settings),
        owner=owner,
        asked=podmigration.is_asked(record),
        forced=podmigration.is_forced(record),
        attempt=attempt,
        way=podmigration.wanted_way(record),
        may_recreate=podmigration.may_recreate(record),
        group=podmigration.group_id(record),
        group_size=podmigration.group_size(record),
    )


def _settings(given: Object, default: Migration) -> Migration:
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
class MigrationStatus:
    """How far a migration has come, as its record says."""

    phase: Phase = Phase.PENDING
    step: Step = Step.CHECK
    way: podmigration.Way | None = None
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

    @property
    def is_ending(self) -> bool:
        """The copy serves in place of the original, which finishes what it has, or is told to end:
        that holds up nobody.
        """
        makes_a_copy = self.way is not None and self.way.makes_a_copy
        return makes_a_copy and self.step.is_last_of_a_copy

    @property
    def is_starting(self) -> bool:
        """The target has the start of a pod before it, or in it."""
        return self.step.is_starting(self.way)

    @property
    def giving_up(self) -> Outcome | None:
        if self.step is not Step.TAKE_BACK:
            return None
        return Outcome(moved=False, reason=reasons.known(self.reason), message=self.message)


def read_status(record: Object) -> MigrationStatus:
    """What a record says of how far it is.

    Raises:
        ValueError: another version wrote it, or a person did. Also TypeError and AttributeError.
    """
    new, owner = podmigration.new_pod_of(record), podmigration.owner_of(record)
    return MigrationStatus(
        phase=podmigration.phase_of(record),
        step=podmigration.known_step(record),
        way=podmigration.known_way(record),
        reason=podmigration.reason_of(record),
        message=podmigration.message_of(record),
        started_at=podmigration.started_at(record),
        ended_at=podmigration.ended_at(record),
        owner=Owner(*(owner.get(key) or "" for key in ("apiVersion", "kind", "name", "uid")))
        if owner
        else None,
        old_node=podmigration.old_node_of(record),
        new_pod=new.get("name") or "",
        new_uid=new.get("uid") or "",
        new_node=new.get("node") or "",
        budget=podmigration.budget_of(record),
        siblings=tuple(podmigration.siblings_of(record)),
        unready=podmigration.was_unready(record),
        fallback=podmigration.fallback_of(record),
        holder=podmigration.holder_of(record),
        fence=podmigration.fence_of(record),
    )


def status_document(record: Object, status: MigrationStatus, now: datetime) -> dict[str, Any]:
    """The status that says so; None where the record may say more than that."""
    is_new_step = podmigration.step_name(record) != status.step
    step_began_at = now if is_new_step else podmigration.step_began_at(record)
    has_new_pod, owner = status.new_pod or status.new_uid, status.owner
    return {
        "phase": status.phase.value,
        "step": status.step.value,
        "way": status.way.value if status.way else None,
        "reason": status.reason or None,
        "message": _cut(status.message) or None,
        "startTime": _text(status.started_at),
        "stepTime": _text(step_began_at),
        "completionTime": _text(status.ended_at),
        "oldPod": {
            "name": podmigration.pod_name(record),
            "uid": podmigration.pod_uid(record),
            "node": status.old_node or None,
        },
        "newPod": {
            "name": status.new_pod or None,
            "uid": status.new_uid or None,
            "node": status.new_node or None,
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
        "budget": status.budget or None,
        "siblings": list(status.siblings) or None,
        "unready": status.unready or None,
        "fallback": status.fallback or None,
        "holder": status.holder or None,
        "fence": status.fence,
        "observedGeneration": record["metadata"].get("generation", 1),
        "conditions": [_condition(record, status, now)],
    }


def _condition(record: Object, status: MigrationStatus, now: datetime) -> dict[str, Any]:
    verdict = {Phase.COMPLETED: "True", Phase.FAILED: "False"}.get(status.phase, "Unknown")
    reason = status.reason if status.phase.is_over else status.step.value
    before = conditions.find(record, "Completed")
    is_same = before is not None and before["status"] == verdict
    return {
        "type": "Completed",
        "status": verdict,
        "reason": reason or status.phase.value,
        "message": _cut(status.message),
        "lastTransitionTime": before["lastTransitionTime"] if before and is_same else _text(now),
        "observedGeneration": record["metadata"].get("generation", 1),
    }


def is_steering(record: Object) -> bool:
    return names.STEERING in labels(record)


def _text(time: datetime | None) -> str | None:
    """As Kubernetes writes times: whole seconds, UTC."""
    if time is None:
        return None
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT_LIMIT else text[: _TEXT_LIMIT - 1] + "…"
