"""PersistentVolumeClaims: what their access modes mean for a pod that is in two places."""

from typing import Final

from rescheduler.model.objects import Object, spec

_MANY_WRITERS: Final = "ReadWriteMany"
_MANY_READERS: Final = "ReadOnlyMany"
_ONE_POD: Final = "ReadWriteOncePod"


def is_shared(claim: Object) -> bool:
    """Pods on several nodes may have it at once."""
    # One that can be read by many and written by one may be written by this pod.
    modes = set(spec(claim).get("accessModes") or ())
    return _MANY_WRITERS in modes or modes == {_MANY_READERS}


def is_of_one_pod(claim: Object) -> bool:
    return _ONE_POD in (spec(claim).get("accessModes") or ())
