"""Of which pods there can be two for a while, and which must end before their successor begins.
Planning asks it of a snapshot, migrating of live objects, and both must get the same answer.
"""

from collections.abc import Iterable
from typing import Final

from rescheduler.model.claims import is_shared
from rescheduler.model.objects import Object

SCRATCH: Final = frozenset({"emptyDir"})
LOCAL: Final = frozenset({"hostPath", "ephemeral"})
"""Another one on another node, without what is in it."""
_ANY_NUMBER_OF_PODS: Final = frozenset(
    {
        "azureFile",
        "cephfs",
        "configMap",
        "csi",  # in line, it is made for each pod: claims are what stands for a disk
        "downwardAPI",
        "glusterfs",
        "image",
        "nfs",
        "persistentVolumeClaim",  # by the claim itself, which says who may have it
        "projected",
        "quobyte",
        "secret",
    }
)
"""Named are the harmless kinds: one that we do not know may be a disk."""
_SHARED: Final = SCRATCH | LOCAL | _ANY_NUMBER_OF_PODS


def why_ports_are_exclusive(spec: Object) -> str:
    """In the network of its node it may listen on any port, whichever it declares."""
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    ports = (port for each in containers for port in each.get("ports") or ())
    is_using = bool(spec.get("hostNetwork")) or any(port.get("hostPort") for port in ports)
    return "it uses ports of its node" if is_using else ""


def why_volumes_are_exclusive(volumes: Iterable[Object]) -> str:
    """But for claims, which say it themselves."""
    names = [each["name"] for each in volumes if not each.keys() & _SHARED]
    return f"one pod at a time may have its volume {', '.join(names)}" if names else ""


def why_claim_is_exclusive(name: str, claim: Object | None) -> str:
    """One that is not known counts as a disk."""
    if claim is not None and is_shared(claim):
        return ""
    return f"one node at a time may have its PersistentVolumeClaim {name}"
