"""Claims of which only one pod may have the use, and disks that only one pod may write to."""

from typing import Final

from rescheduler import wire
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.kube import Object
from rescheduler.model.claims import is_of_one_pod

NAME: Final = "VolumeRestrictions"
_WORDS: Final = (
    "node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode "
    "already in-use by another pod"
)
_IN_USE: Final = Refusal(
    NAME,
    (_WORDS,),
)
_NO_DISK: Final = Refusal(NAME, ("node(s) had no available disk",))


def _ask(pod: Pod, state: State) -> Answer:
    for name in pod.claims:
        claim = state.store.find(wire.PERSISTENT_VOLUME_CLAIMS, pod.namespace, name)
        if claim is not None and is_of_one_pod(claim) and (pod.namespace, name) in state.claims:
            return lambda _: _IN_USE
    if not pod.disks:
        return None

    def question(node: Node) -> Refusal | None:
        theirs = (disk for other in node.pods.values() for disk in other.disks)
        is_taken = any(_is_same(one, other) for other in theirs for one in pod.disks)
        return _NO_DISK if is_taken else None

    return question


def _is_same(one: Object, other: Object) -> bool:
    return any(
        one.get(kind) and other.get(kind) and same(one[kind], other[kind])
        for kind, same in _SAME.items()
    )


def _only_read(one: Object, other: Object) -> bool:
    return bool(one.get("readOnly") and other.get("readOnly"))


def _is_same_image(one: Object, other: Object) -> bool:
    return (
        (one.get("pool"), one["image"]) == (other.get("pool"), other["image"])
        and bool(set(one["monitors"]) & set(other["monitors"]))
        and not _only_read(one, other)
    )


_SAME: Final = {
    "gcePersistentDisk": lambda one, other: (
        one["pdName"] == other["pdName"] and not _only_read(one, other)
    ),
    "awsElasticBlockStore": lambda one, other: one["volumeID"] == other["volumeID"],
    "iscsi": lambda one, other: one["iqn"] == other["iqn"] and not _only_read(one, other),
    "rbd": _is_same_image,
}

RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT | News.STORAGE)
