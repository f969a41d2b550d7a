"""The history of the templates that a StatefulSet or a DaemonSet has had: ControllerRevisions.

As pkg/controller/history keeps it: a revision holds a template and is named by a hash of it, and
whoever goes back to an earlier template makes that revision the newest one again.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from rescheduler.embedded import kinds
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import owning, templates
from rescheduler.embedded.indexes import selector_of
from rescheduler.kube import Object, errors
from rescheduler.model.objects import labels

REVISION_OF_POD: Final = "controller-revision-hash"
"""The label of pods. A StatefulSet writes the name of the revision there, a DaemonSet its hash."""

_LONGEST_PREFIX: Final = 223


class Settled(NamedTuple):
    newest: Object
    """The revision of the template as it is now."""
    all: list[Object]
    """The oldest one first."""
    collisions: int


class Revisions:
    def __init__(self, api: ApiServer, hash_label: str) -> None:
        """`hash_label`: where a revision itself carries its hash."""
        self._api = api
        self._hash_label = hash_label

    def settle(self, workload: Object) -> Settled:
        """Sees to it that the newest revision is that of the template as it is now."""
        known = self._all(workload)
        collisions = (workload.get("status") or {}).get("collisionCount") or 0
        wanted = workload["spec"]["template"]
        equal = [each for each in known if _is_of(each, wanted)]
        if not equal:
            made, collisions = self._create(workload, _next(known), collisions)
            return Settled(made, [*known, made], collisions)
        newest = equal[-1]
        if newest is not known[-1]:
            newest = self._api.replace(
                kinds.CONTROLLER_REVISIONS, {**newest, "revision": _next(known)}
            )
            known = [each for each in known if _name(each) != _name(newest)] + [newest]
        return Settled(newest, known, collisions)

    def drop_oldest(
        self, revisions: Iterable[Object], surplus: int, is_alive: Callable[[Object], bool]
    ) -> None:
        """So many of them, the oldest first, but none that is still of use."""
        for revision in revisions:
            if surplus <= 0:
                return
            if not is_alive(revision):
                metadata = revision["metadata"]
                self._api.delete(
                    kinds.CONTROLLER_REVISIONS, metadata["namespace"], metadata["name"]
                )
                surplus -= 1

    def _all(self, workload: Object) -> list[Object]:
        """Those of this workload, and orphans that match its selector, which it adopts."""
        resource = kinds.CONTROLLER_REVISIONS
        selector = selector_of(workload)
        found = owning.claim_of(
            self._api, resource, workload, lambda each: selector.matches(labels(each))
        )
        return sorted(found, key=_age)

    def _create(self, workload: Object, number: int, collisions: int) -> tuple[Object, int]:
        metadata, template = workload["metadata"], workload["spec"]["template"]
        while True:
            code = hash_of(template, collisions)
            body: Object = {
                "apiVersion": kinds.CONTROLLER_REVISIONS.group_version,
                "kind": "ControllerRevision",
                "metadata": {
                    "name": f"{metadata['name'][:_LONGEST_PREFIX]}-{code}",
                    "namespace": metadata["namespace"],
                    "labels": {
                        **((template.get("metadata") or {}).get("labels") or {}),
                        self._hash_label: code,
                    },
                    "annotations": dict(metadata.get("annotations") or {}),
                    "ownerReferences": [owning.reference(workload)],
                },
                "data": {"spec": {"template": {**template, "$patch": "replace"}}},
                "revision": number,
            }
            try:
                made = self._api.create(kinds.CONTROLLER_REVISIONS, metadata["namespace"], body)
            except errors.AlreadyExists:
                # Of a set of this name that is gone, and whose revisions are not yet.
                there = self._api.get(
                    kinds.CONTROLLER_REVISIONS, metadata["namespace"], body["metadata"]["name"]
                )
                if _is_of(there, template):
                    return there, collisions
                collisions += 1
                continue
            return made, collisions


def template_of(revision: Object) -> Object:
    template: Object = revision["data"]["spec"]["template"]
    return {key: value for key, value in template.items() if key != "$patch"}


def hash_of(template: Object, collisions: int = 0) -> str:
    """By which the revision of a template is named."""
    return templates.hashed(template, collisions)


def _is_of(revision: Object, template: Object) -> bool:
    known = template_of(revision)
    # Written in another way, it may still mean the same.
    return known == template or templates.canonical(known) == templates.canonical(template)


def _next(revisions: Sequence[Object]) -> int:
    return int(revisions[-1]["revision"]) + 1 if revisions else 1


def _name(revision: Object) -> str:
    return str(revision["metadata"]["name"])


def _age(revision: Object) -> tuple[Any, ...]:
    metadata = revision["metadata"]
    return revision["revision"], metadata.get("creationTimestamp") or "", metadata["name"]
