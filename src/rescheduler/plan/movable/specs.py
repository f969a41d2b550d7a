"""What the specification of a pod says about moving it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rescheduler.model.columns import Template
from rescheduler.model.objects import Object

DEFAULT_SCHEDULER: Final = "default-scheduler"

_SCRATCH: Final = "emptyDir"
_LOCAL: Final = frozenset({"hostPath", "ephemeral"})
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

_WORTH_READING: Final = tuple(
    f'"{key}":'.encode()
    for key in ("volumes", "hostPort", "hostNetwork", "resourceClaims", "schedulingGates")
)
_SCHEDULER: Final = b'"schedulerName":'
_ITS_SCHEDULER: Final = f'"schedulerName":"{DEFAULT_SCHEDULER}"'.encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecFacts:
    reasons: tuple[str, ...] = ()
    """Why it stays."""
    interrupts: str = ""
    """Why it has to end before its successor begins; empty: both can be there."""
    scratch: tuple[str, ...] = ()
    """Volumes that begin empty wherever it runs, by name."""
    local: tuple[str, ...] = ()
    """Volumes that are part of the node, by name."""


NOTHING_SPECIAL: Final = SpecFacts()


def is_plain(template: Template) -> bool:
    """Most specifications have nothing that matters here, and need not be decoded to see that."""
    text = template.spec_json
    if _SCHEDULER in text and _ITS_SCHEDULER not in text:
        return False
    return not any(key in text for key in _WORTH_READING)


def read(spec: Object, *, schedulers: Iterable[str]) -> SpecFacts:
    scratch, local, exclusive = _volumes(spec.get("volumes") or ())
    one_at_a_time = f"one pod at a time may have its volume {', '.join(exclusive)}"
    return SpecFacts(
        reasons=(*_by_others(spec, schedulers), *([one_at_a_time] if exclusive else ())),
        interrupts="it uses ports of its node" if _uses_ports_of_its_node(spec) else "",
        scratch=tuple(scratch),
        local=tuple(local),
    )


def _by_others(spec: Object, schedulers: Iterable[str]) -> Iterable[str]:
    scheduler = spec.get("schedulerName") or DEFAULT_SCHEDULER
    if scheduler not in (DEFAULT_SCHEDULER, *schedulers):
        yield f"another scheduler places it: {scheduler}"
    if spec.get("resourceClaims"):
        yield "it has resource claims, which only the scheduler can judge"
    if spec.get("schedulingGates"):
        yield "it has scheduling gates"


def _volumes(volumes: Iterable[Object]) -> tuple[list[str], list[str], list[str]]:
    """By name: those for scratch, those of the node, and those that only one pod can have."""
    scratch: list[str] = []
    local: list[str] = []
    exclusive: list[str] = []
    for volume in volumes:
        kinds = volume.keys() - {"name"}
        if _SCRATCH in kinds:
            scratch.append(volume["name"])
        elif kinds & _LOCAL:
            local.append(volume["name"])
        elif not kinds & _ANY_NUMBER_OF_PODS:
            exclusive.append(volume["name"])
    return scratch, local, exclusive


def _uses_ports_of_its_node(spec: Object) -> bool:
    containers = [*(spec.get("containers") or ()), *(spec.get("initContainers") or ())]
    ports = (port for each in containers for port in each.get("ports") or ())
    return bool(spec.get("hostNetwork")) or any(port.get("hostPort") for port in ports)
