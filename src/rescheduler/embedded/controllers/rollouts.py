"""One look at one Deployment: what becomes of its ReplicaSets (sync.go, rolling.go, recreate.go).

Every look does one step at most, and the change that it makes calls for the next look.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import owning, pods, rolling, rollout_status, templates
from rescheduler.embedded.controllers.rolling import size
from rescheduler.embedded.controllers.rollout_status import Status
from rescheduler.embedded.indexes import Indexes
from rescheduler.kube import Object, errors
from rescheduler.model import names
from rescheduler.model.objects import annotations, is_terminating

HISTORY: Final = "deployment.kubernetes.io/revision-history"
_NOT_COPIED: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        names.REVISION,
        HISTORY,
        rolling.DESIRED,
        rolling.MAXIMUM,
        "deprecated.deployment.rollback.to",
    }
)
_LONGEST_HISTORY: Final = 2000
_LONGEST_NAME: Final = 253
_UNLIMITED: Final = 2**31 - 1
_DEFAULT_HISTORY: Final = 10


class Rollout:
    def __init__(
        self,
        api: ApiServer,
        deployment: Object,
        replica_sets: Iterable[Object],
        canonical: Callable[[Object], str],
    ) -> None:
        self._api = api
        self._deployment = deployment
        self._mine = {each["metadata"]["name"]: each for each in replica_sets}
        self._canonical = canonical
        """Of the template of a Deployment or ReplicaSet."""

    def advance(self) -> float | None:
        """One step. In how many seconds to look again even if nothing happens until then."""
        if is_terminating(self._deployment):
            self._sync_revision()
            self._write(self._counted())
            return None
        self._note_pause()
        if self._deployment["spec"].get("paused"):
            self._sync_revision()
            self._scale_all()
            self._clean_up()
            self._write(self._counted())
            return None
        self._sync_revision()
        if self._is_scaled():
            self._scale_all()
            self._write(self._counted())
            return None
        if rolling.is_rolling(self._deployment):
            self._roll()
        else:
            self._recreate()
        status = self._with_progress()
        self._write(status)
        return rollout_status.seconds_until_late(self._deployment, status, self._api.now())

    # ------------------------------------------------------------------ which is which

    def _every(self) -> list[Object]:
        """Oldest first."""
        return sorted(self._mine.values(), key=_age)

    def _new(self) -> Object | None:
        """The oldest one of the same template."""
        wanted = self._canonical(self._deployment)
        return next((each for each in self._every() if self._canonical(each) == wanted), None)

    def _old(self) -> list[Object]:
        new = self._new()
        return [each for each in self._every() if each is not new]

    # ------------------------------------------------------------------ telling

    def _counted(self) -> Status:
        return rollout_status.counted(self._deployment, self._new(), self._old(), self._api.now())

    def _with_progress(self) -> Status:
        new, old, now = self._new(), self._old(), self._api.now()
        return rollout_status.with_progress(self._deployment, new, old, now)

    def _write(self, status: Status) -> None:
        self._api.set_status(wire.DEPLOYMENTS, self._deployment, status)

    def _note(self, status: str, reason: str, message: str) -> None:
        """How it goes, in what is written when the look is over."""
        if rollout_status.deadline(self._deployment) is None:
            return
        changed: Status = {**(self._deployment.get("status") or {})}
        words = status, reason, message
        kind = rollout_status.PROGRESSING
        rollout_status.put(changed, rollout_status.condition(kind, *words, self._api.now()))
        self._deployment = {**self._deployment, "status": changed}

    def _known(self) -> str | None:
        """The reason that it gives for how it goes; None: it does not say."""
        status = self._deployment.get("status") or {}
        found = rollout_status.find(status, rollout_status.PROGRESSING)
        return None if found is None else found.get("reason", "")

    def _note_pause(self) -> None:
        """So that nobody takes a rollout that was paused for one that is stuck."""
        reason = self._known()
        if reason == rollout_status.TIMED_OUT:
            return
        if self._deployment["spec"].get("paused"):
            if reason != rollout_status.PAUSED:
                self._note("Unknown", rollout_status.PAUSED, "Deployment is paused")
        elif reason == rollout_status.PAUSED:
            self._note("Unknown", rollout_status.RESUMED, "Deployment is resumed")

    # ------------------------------------------------------------------ revisions

    def _sync_revision(self) -> None:
        """The new ReplicaSet has the highest one, and the Deployment has its."""
        new = self._new()
        if new is None:
            return
        wanted = self._new_annotations(new, max(map(_revision, self._old()), default=0) + 1)
        seconds = self._deployment["spec"].get("minReadySeconds", 0)
        change: dict[str, Any] = {}
        if wanted:
            change["metadata"] = {"annotations": wanted}
        if new["spec"].get("minReadySeconds", 0) != seconds:
            change["spec"] = {"minReadySeconds": seconds or None}
        if change:
            new = self._patch(new, change)
        self._take_revision(annotations(new).get(names.REVISION, ""))
        if self._known() is None:
            found = f'Found new replica set "{new["metadata"]["name"]}"'
            self._note("True", "FoundNewReplicaSet", found)

    def _new_annotations(self, replica_set: Object, revision: int) -> dict[str, str]:
        """Those that are to be changed."""
        known = annotations(replica_set)
        wanted = {
            key: value
            for key, value in annotations(self._deployment).items()
            if key not in _NOT_COPIED and known.get(key) != value
        }
        before = known.get(names.REVISION, "")
        if before and not _is_number(before):
            return {}
        if int(before or 0) < revision:
            wanted[names.REVISION] = str(revision)
            if before:
                # It is one to which the Deployment was rolled back.
                wanted[HISTORY] = _history(known.get(HISTORY, ""), before)
        return wanted

    def _take_revision(self, revision: str) -> None:
        if annotations(self._deployment).get(names.REVISION) == revision:
            return
        status = self._deployment.get("status")
        metadata = self._deployment["metadata"]
        change = {"uid": metadata["uid"], "annotations": {names.REVISION: revision}}
        place = metadata["namespace"], metadata["name"]
        # With the status: it is no other generation for that.
        written = self._api.patch(
            wire.DEPLOYMENTS, *place, {"metadata": change}, subresource="status"
        )
        # With what was noted and is not written yet.
        self._deployment = {**written, "status": status} if status else written

    # ------------------------------------------------------------------ a new ReplicaSet

    def _create(self) -> None:
        """For the template as it is now, unless there is one."""
        if self._new() is not None:
            return
        body = self._body()
        name = body["metadata"]["name"]
        try:
            made = self._api.create(
                wire.REPLICA_SETS, self._deployment["metadata"]["namespace"], body
            )
        except errors.AlreadyExists:
            self._count_collision()
            raise
        except errors.KubeError as problem:
            words = f'Failed to create new replica set "{name}": {problem}'
            self._note("False", "ReplicaSetCreateError", words)
            self._write(self._deployment.get("status") or {})
            raise
        self._mine[name] = made
        self._note("True", "NewReplicaSetCreated", f'Created new replica set "{name}"')
        self._take_revision(annotations(made)[names.REVISION])

    def _body(self) -> Object:
        metadata, spec = self._deployment["metadata"], self._deployment["spec"]
        collisions = (self._deployment.get("status") or {}).get("collisionCount", 0)
        label = templates.hashed(spec["template"], collisions)
        template = templates.marked(spec["template"], label)
        selected = {**(spec["selector"].get("matchLabels") or {}), templates.HASH_LABEL: label}
        made: Object = {
            "metadata": {
                "name": f"{metadata['name'][: _LONGEST_NAME - 1 - len(label)]}-{label}",
                "labels": template["metadata"]["labels"],
                "ownerReferences": [owning.reference(self._deployment)],
            },
            "spec": {
                "replicas": rolling.grown(self._deployment, 0, rolling.sizes(self._every())),
                "minReadySeconds": spec.get("minReadySeconds") or None,
                "selector": {**spec["selector"], "matchLabels": selected},
                "template": template,
            },
        }
        revision = max(map(_revision, self._old()), default=0) + 1
        made["metadata"]["annotations"] = {
            **self._new_annotations(made, revision),
            **rolling.notes(self._deployment),
        }
        return made

    def _count_collision(self) -> None:
        """Somebody else has one of that name: the next look tries another."""
        status = self._deployment.get("status") or {}
        self._write({**status, "collisionCount": status.get("collisionCount", 0) + 1})

    # ------------------------------------------------------------------ scaling

    def _patch(self, replica_set: Object, change: dict[str, Any]) -> Object:
        metadata = replica_set["metadata"]
        guarded = {**change, "metadata": {**change.get("metadata", {}), "uid": metadata["uid"]}}
        written = self._api.patch(
            wire.REPLICA_SETS, metadata["namespace"], metadata["name"], guarded
        )
        self._mine[metadata["name"]] = written
        return written

    def _scale(self, replica_set: Object, replicas: int, *, always_note: bool = False) -> bool:
        """Whether it has another size now."""
        is_other = size(replica_set) != replicas
        notes = rolling.notes(self._deployment)
        if is_other or (always_note and not notes.items() <= annotations(replica_set).items()):
            change = {"metadata": {"annotations": notes}, "spec": {"replicas": replicas}}
            self._patch(replica_set, change)
        return is_other

    def _is_scaled(self) -> bool:
        """Its user wants another number of pods than the ReplicaSets were last told."""
        return any(
            noted not in (None, size(self._deployment))
            for each in _active(self._every())
            for noted in [rolling.noted(each, rolling.DESIRED)]
        )

    def _scale_all(self) -> None:
        new, old = self._new(), self._old()
        only = _only_active(new, old)
        if only is not None:
            self._scale(only, size(self._deployment))
        elif self._is_saturated(new):
            for each in _active(old):
                self._scale(each, 0)
        elif rolling.is_rolling(self._deployment):
            self._scale_proportionally()

    def _is_saturated(self, new: Object | None) -> bool:
        wanted = size(self._deployment)
        return (
            new is not None
            and size(new) == wanted
            and rolling.noted(new, rolling.DESIRED) == wanted
            and rollout_status.total([new], "availableReplicas") == wanted
        )

    def _scale_proportionally(self) -> None:
        every = _active(self._every())
        allowed = size(self._deployment) + rolling.max_surge(self._deployment)
        if size(self._deployment) and allowed > rolling.sizes(every):
            # Those of equal size: the newest first when some are added, else the oldest.
            every.reverse()
        every.sort(key=size, reverse=True)
        status = self._deployment.get("status") or {}
        made = rolling.proportional(self._deployment, every, status.get("replicas", 0))
        for each, replicas in zip(every, made, strict=True):
            self._scale(each, replicas, always_note=True)

    # ------------------------------------------------------------------ rolling out

    def _roll(self) -> None:
        self._create()
        if self._grow() or self._shrink():
            return
        if rollout_status.is_complete(self._deployment, self._deployment.get("status") or {}):
            self._clean_up()

    def _grow(self) -> bool:
        new, wanted = self._new(), size(self._deployment)
        if new is None or size(new) == wanted:
            return False
        if size(new) > wanted:
            return self._scale(new, wanted)
        every = rolling.sizes(self._every())
        return self._scale(new, rolling.grown(self._deployment, size(new), every))

    def _shrink(self) -> bool:
        """The old ones: what is not available first, then as many as may be missing."""
        new, old = self._new(), _active(self._old())
        if new is None or not old:
            return False
        least = size(self._deployment) - rolling.max_unavailable(self._deployment)
        # Pods of the new one that are not available yet must not cost old ones that are.
        not_yet = size(new) - rollout_status.total([new], "availableReplicas")
        most = rolling.sizes(self._every()) - least - not_yet
        if most <= 0:
            return False
        kept, may_more = rolling.without_unhealthy(
            [(size(each), rollout_status.total([each], "availableReplicas")) for each in old], most
        )
        scaled = [self._scale(each, left) for each, left in zip(old, kept, strict=False)]
        if not may_more:
            return False
        available = rollout_status.total([*old, new], "availableReplicas")
        old = [self._mine[each["metadata"]["name"]] for each in old]
        made = rolling.shrunk(map(size, old), available - least)
        scaled += [self._scale(each, left) for each, left in zip(old, made, strict=True)]
        return any(scaled)

    def _recreate(self) -> None:
        scaled = [self._scale(each, 0) for each in _active(self._old())]
        if any(scaled) or self._old_are_running():
            return
        self._create()
        new = self._new()
        if new is not None:
            self._scale(new, size(self._deployment))
        if rollout_status.is_complete(self._deployment, self._deployment.get("status") or {}):
            self._clean_up()

    def _old_are_running(self) -> bool:
        """Pods that are told to end run as well."""
        old, by_owner = self._old(), Indexes.of(self._api.store).pods_by_owner
        return rollout_status.total(old, "replicas") > 0 or any(
            not pods.has_ended(pod) for each in old for pod in by_owner.of(each["metadata"]["uid"])
        )

    def _clean_up(self) -> None:
        """Old ones without pods, until there are no more than its user wants to keep."""
        limit = self._deployment["spec"].get("revisionHistoryLimit", _DEFAULT_HISTORY)
        old = [each for each in self._old() if not is_terminating(each)]
        if limit == _UNLIMITED or len(old) <= limit:
            return
        old.sort(key=_revision)
        for each in old[: len(old) - limit]:
            metadata, status = each["metadata"], each.get("status") or {}
            is_seen = metadata["generation"] <= status.get("observedGeneration", 0)
            if size(each) == 0 and status.get("replicas", 0) == 0 and is_seen:
                self._api.delete(wire.REPLICA_SETS, metadata["namespace"], metadata["name"])
                del self._mine[metadata["name"]]


def _age(replica_set: Object) -> tuple[str, str]:
    return replica_set["metadata"]["creationTimestamp"], replica_set["metadata"]["name"]


def _active(replica_sets: Iterable[Object]) -> list[Object]:
    return [each for each in replica_sets if size(each) > 0]


def _only_active(new: Object | None, old: Sequence[Object]) -> Object | None:
    """The only one that shall have pods; or, if none shall, the new or else the newest one."""
    active = _active([*old, new] if new is not None else old)
    if active:
        return active[0] if len(active) == 1 else None
    return new if new is not None or not old else old[-1]


def _revision(replica_set: Object) -> int:
    text = annotations(replica_set).get(names.REVISION, "")
    return int(text) if _is_number(text) else 0


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _history(known: str, revision: str) -> str:
    """With one more, without the oldest ones where it would get too long."""
    revisions = [*filter(None, known.split(",")), revision]
    while len(",".join(revisions)) > _LONGEST_HISTORY:
        del revisions[0]
    return ",".join(revisions)
