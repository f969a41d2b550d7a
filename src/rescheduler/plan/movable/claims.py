"""PersistentVolumeClaims: whether they are there, and whether two pods may have them at once."""

from collections.abc import Iterable
from typing import Final

from rescheduler.model.objects import Object, spec
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.gaps import why_unknown

SOURCE: Final = "persistentvolumeclaims"

_MANY_WRITERS: Final = "ReadWriteMany"
_MANY_READERS: Final = "ReadOnlyMany"


def why_held(snapshot: Snapshot, namespace: str, claims: Iterable[str]) -> Iterable[str]:
    if unknown := why_unknown(snapshot, SOURCE):
        yield f"its PersistentVolumeClaims are not known: {unknown}"
        return
    for name in claims:
        claim = snapshot.find(SOURCE, namespace, name)
        if claim is None:
            yield f"its PersistentVolumeClaim {name} was not found"
        elif (claim.get("status") or {}).get("phase") != "Bound":
            yield f"its PersistentVolumeClaim {name} is not bound"


def why_exclusive(snapshot: Snapshot, namespace: str, claims: Iterable[str]) -> str:
    """A claim that is not known counts as a disk."""
    for name in claims:
        claim = snapshot.find(SOURCE, namespace, name)
        if claim is None or not _is_shared(claim):
            return f"one node at a time may have its PersistentVolumeClaim {name}"
    return ""


def _is_shared(claim: Object) -> bool:
    # One that can be read by many and written by one may be written by this pod.
    modes = set(spec(claim).get("accessModes") or ())
    return _MANY_WRITERS in modes or modes == {_MANY_READERS}
