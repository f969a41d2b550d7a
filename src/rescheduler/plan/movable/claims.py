"""PersistentVolumeClaims: whether they are there, and whether two pods may have them at once."""

from collections.abc import Iterable
from typing import Final

from rescheduler.model import copying
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.gaps import why_unknown

SOURCE: Final = "persistentvolumeclaims"


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
    for name in claims:
        claim = snapshot.find(SOURCE, namespace, name)
        if exclusive := copying.why_claim_is_exclusive(name, claim):
            return exclusive
    return ""
