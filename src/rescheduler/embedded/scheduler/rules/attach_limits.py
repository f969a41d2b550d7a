"""How many volumes of a driver can be attached to a node."""

from collections.abc import Iterable
from typing import Final

from rescheduler import wire
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.kube import Object

NAME: Final = "NodeVolumeLimits"
_TOO_MANY: Final = Refusal(NAME, ("node(s) exceed max volume count",))
_Volume = tuple[str, str]
"""Driver and handle."""


def _ask(pod: Pod, state: State) -> Answer:
    wanted = set(_attached(pod, state))
    if not wanted:
        return None

    def question(node: Node) -> Refusal | None:
        limits = _limits(node, state)
        if not limits:
            return None
        used = {
            each for other in node.pods.values() if other.claims for each in _attached(other, state)
        }
        new = wanted - used
        used |= set(_attachments(node, state))
        for driver in sorted({driver for driver, _ in new}):
            count = sum(each == driver for each, _ in used) + sum(each == driver for each, _ in new)
            if driver in limits and count > limits[driver]:
                return _TOO_MANY
        return None

    return question


def _limits(node: Node, state: State) -> dict[str, int]:
    found = state.store.find(wire.CSI_NODES, None, node.name)
    drivers = ((found or {}).get("spec") or {}).get("drivers") or ()
    counts = {each["name"]: (each.get("allocatable") or {}).get("count") for each in drivers}
    return {name: count for name, count in counts.items() if count is not None}


def _attachments(node: Node, state: State) -> Iterable[_Volume]:
    for attachment in state.attachments.of(node.name):
        name = attachment["spec"]["source"].get("persistentVolumeName") or ""
        yield from _of(state.store.find(wire.PERSISTENT_VOLUMES, None, name))


def _attached(pod: Pod, state: State) -> Iterable[_Volume]:
    for name in pod.claims:
        claim = state.store.find(wire.PERSISTENT_VOLUME_CLAIMS, pod.namespace, name)
        if claim is None:
            continue
        volume = claim["spec"].get("volumeName")
        if volume:
            yield from _of(state.store.find(wire.PERSISTENT_VOLUMES, None, volume))
            continue
        # Still to be made: it counts as one of its class's driver.
        wanted = claim["spec"].get("storageClassName") or ""
        kind = state.store.find(wire.STORAGE_CLASSES, None, wanted)
        if kind is not None:
            yield kind.get("provisioner") or "", f"{pod.namespace}/{name}"


def _of(volume: Object | None) -> Iterable[_Volume]:
    csi = volume["spec"].get("csi") if volume else None
    if csi:
        yield csi["driver"], csi["volumeHandle"]


RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT | News.STORAGE)
