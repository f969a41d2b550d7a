"""Volumes of a zone, as their labels say, are for pods of that zone."""

from typing import Final

from rescheduler import wire
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model.objects import labels

NAME: Final = "VolumeZone"
_ELSEWHERE: Final = Refusal(NAME, ("node(s) had no available volume zone",), is_final=True)
_TODAY: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
"""Label -> what it is called today."""


def _ask(pod: Pod, state: State) -> Answer:
    zones: list[tuple[str, list[str]]] = []
    for name in pod.claims:
        claim = state.store.find(wire.PERSISTENT_VOLUME_CLAIMS, pod.namespace, name)
        bound = claim["spec"].get("volumeName") if claim else None
        volume = state.store.find(wire.PERSISTENT_VOLUMES, None, bound) if bound else None
        if volume is not None:
            own = labels(volume)
            zones += [(key, own[key].split("__")) for key in _TODAY if key in own]
    if not zones:
        return None

    def question(node: Node) -> Refusal | None:
        own = node.labels
        if not any(key in own for key in _TODAY):
            return None
        fits = all(own.get(key, own.get(_TODAY[key])) in values for key, values in zones)
        return None if fits else _ELSEWHERE

    return question


RULE: Final = Rule(NAME, _ask, News.NODE | News.STORAGE)
