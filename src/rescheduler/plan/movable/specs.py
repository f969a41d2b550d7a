"""What the specification of a pod says about moving it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rescheduler.model import copying
from rescheduler.model.columns import Template
from rescheduler.model.objects import Object

DEFAULT_SCHEDULER: Final = "default-scheduler"

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
    why_recreated: str = ""
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
    volumes = spec.get("volumes") or ()
    exclusive = copying.why_volumes_are_exclusive(volumes)
    return SpecFacts(
        reasons=(*_by_others(spec, schedulers), *([exclusive] if exclusive else ())),
        why_recreated=copying.why_ports_are_exclusive(spec),
        scratch=_named(volumes, copying.SCRATCH),
        local=_named(volumes, copying.LOCAL),
    )


def _by_others(spec: Object, schedulers: Iterable[str]) -> Iterable[str]:
    scheduler = spec.get("schedulerName") or DEFAULT_SCHEDULER
    if scheduler not in (DEFAULT_SCHEDULER, *schedulers):
        yield f"another scheduler places it: {scheduler}"
    if spec.get("resourceClaims"):
        yield "it has resource claims, which only the scheduler can judge"
    if spec.get("schedulingGates"):
        yield "it has scheduling gates"


def _named(volumes: Iterable[Object], kinds: frozenset[str]) -> tuple[str, ...]:
    return tuple(each["name"] for each in volumes if each.keys() & kinds)
