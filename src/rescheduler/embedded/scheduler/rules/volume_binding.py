"""Claims: bound ones must be reachable from the node, and those that wait for their first consumer
must find a volume there, or one that can be made.
"""

from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.embedded.store import Store
from rescheduler.embedded.volume_matching import (
    SELECTED_NODE,
    Place,
    bind,
    can_provision,
    class_of,
    free_volumes,
    is_bound,
    provision,
    reaches,
    smallest,
    waits_for_consumer,
)
from rescheduler.kube import Object
from rescheduler.model.objects import annotations, is_terminating

NAME: Final = "VolumeBinding"
_OUT_OF_REACH: Final = Refusal(
    NAME, ("node(s) didn't match PersistentVolume's node affinity",), is_final=True
)
_NO_VOLUME: Final = Refusal(
    NAME, ("node(s) didn't find available persistent volumes to bind",), is_final=True
)
_VOLUME_GONE: Final = Refusal(
    NAME,
    ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",),
    is_final=True,
)


def _ask(pod: Pod, state: State) -> Answer:
    if not pod.claims:
        return None
    claims = []
    for name in pod.claims:
        claim = state.store.find(wire.PERSISTENT_VOLUME_CLAIMS, pod.namespace, name)
        problem = _problem(pod, name, claim)
        if claim is None or problem:
            return Refusal(NAME, (problem,), is_final=True)
        claims.append(claim)
    unbound = [each for each in claims if not is_bound(each)]
    if not all(waits_for_consumer(each, state.store) for each in unbound):
        words = "pod has unbound immediate PersistentVolumeClaims"
        return Refusal(NAME, (words,), is_final=True)
    bound = [
        state.store.find(wire.PERSISTENT_VOLUMES, None, each["spec"]["volumeName"])
        for each in claims
        if is_bound(each)
    ]

    def question(node: Node) -> Refusal | None:
        place = Place(node.name, node.labels)
        if any(each is None for each in bound):
            return _VOLUME_GONE
        if not all(reaches(each, place) for each in bound if each is not None):
            return _OUT_OF_REACH
        return None if _way_to_bind(unbound, place, state.store) is not None else _NO_VOLUME

    return question


def _problem(pod: Pod, name: str, claim: Object | None) -> str:
    if claim is None:
        if any("ephemeral" in each for each in pod.spec.get("volumes") or ()):
            return (
                "waiting for ephemeral volume controller to create the "
                f'persistentvolumeclaim "{name}"'
            )
        return f'persistentvolumeclaim "{name}" not found'
    if is_terminating(claim):
        return f'persistentvolumeclaim "{name}" is being deleted'
    if (claim.get("status") or {}).get("phase") == "Lost":
        volume = claim["spec"].get("volumeName")
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{volume}"'
    return ""


_Way = list[tuple[Object, Object | None]]
"""Claims, each with its volume, or None where one is to be made."""


def _way_to_bind(unbound: list[Object], place: Place, store: Store) -> _Way | None:
    """None: there is no way to satisfy all of these claims on this node."""
    free = Indexes.of(store).by(wire.PERSISTENT_VOLUMES, free_volumes)
    way: _Way = []
    taken: set[str] = set()
    for claim in unbound:
        chosen = annotations(claim).get(SELECTED_NODE)
        if chosen and chosen != place.name:
            return None
        volumes = [
            each
            for each in free.of(claim["spec"].get("storageClassName") or "")
            if each["metadata"]["name"] not in taken
        ]
        volume = smallest(volumes, claim, place)
        kind = class_of(claim, store)
        if volume is not None:
            taken.add(volume["metadata"]["name"])
        elif kind is None or not can_provision(kind, place):
            return None
        way.append((claim, volume))
    return way


def bind_volumes(pod: Pod, node: Node, api: ApiServer) -> None:
    """What is left to do when the node is chosen, before the pod is bound."""
    place = Place(node.name, node.labels)
    found = [api.store.find(wire.PERSISTENT_VOLUME_CLAIMS, pod.namespace, n) for n in pod.claims]
    unbound = [each for each in found if each is not None and not is_bound(each)]
    for claim, volume in _way_to_bind(unbound, place, api.store) or ():
        kind = class_of(claim, api.store)
        if volume is not None:
            bind(api, claim, volume)
        elif kind is not None:
            provision(api, claim, kind, place)


RULE: Final = Rule(NAME, _ask, News.NODE | News.STORAGE)
