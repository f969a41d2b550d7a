"""Pauses and resumes, as people ask for it: by a note on the Lease, whoever holds it, or nobody.

Guarded by the version of the lease, and safe to repeat: what a lost answer was about is looked up.
"""

from collections.abc import Callable
from typing import Final

from rescheduler.clock import Clock
from rescheduler.config import LeaderElection
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.model import pausing
from rescheduler.model.objects import Object
from rescheduler.model.pausing import Pause
from rescheduler.wire import LEASES

_TRIES: Final = 10
"""Its holder renews it every other second, and whoever comes second looks and tries again."""
_AGAIN_SECONDS: Final = 0.2


class CannotPause(ReschedulerError):
    """The message says why, and what to do about it."""


async def read(kube: KubeApi, settings: LeaderElection) -> Object | None:
    try:
        return await kube.get(LEASES, settings.resource_namespace, settings.resource_name)
    except errors.NotFound:
        return None
    except errors.Forbidden as problem:
        raise _not_allowed("get", settings, problem) from None


async def pause(
    kube: KubeApi, clock: Clock, settings: LeaderElection, wanted: Pause
) -> Pause | None:
    """The one that is in force already, and is left as it is; None: now this one is."""

    def change(lease: Object) -> Object | None:
        return None if _of(lease) else pausing.paused(lease, wanted)

    before = await _change(kube, clock, settings, change, make=True)
    found = _of(before)
    # As it would have been written: whose answer was lost, it is its own.
    return None if found is None or found == _as_written(wanted) else found


async def resume(kube: KubeApi, clock: Clock, settings: LeaderElection) -> Pause | None:
    """The one that was in force; None: none was."""
    ended: list[Pause] = []

    def change(lease: Object) -> Object | None:
        found = _of(lease)
        if found is None:
            return None
        ended.append(found)
        return pausing.resumed(lease)

    await _change(kube, clock, settings, change, make=False)
    return ended[-1] if ended else None


async def _change(
    kube: KubeApi,
    clock: Clock,
    settings: LeaderElection,
    change: Callable[[Object], Object | None],
    *,
    make: bool,
) -> Object | None:
    """The lease as it was found, when nothing was left to change; None: it was changed, or there
    is none and none is wanted.
    """
    problem: errors.KubeError | None = None
    for _ in range(_TRIES):
        lease = await read(kube, settings)
        if lease is None and not make:
            return None
        changed = change(lease or _empty(settings))
        if changed is None:
            return lease
        try:
            await _write(kube, settings, changed, is_new=lease is None)
        except (errors.Conflict, errors.AlreadyExists, errors.NotFound) as meanwhile:
            problem = meanwhile
        except (errors.Unavailable, errors.Throttled) as trouble:
            problem = trouble
        else:
            return None
        await clock.sleep(problem.retry_after_seconds or _AGAIN_SECONDS)
    raise CannotPause(f"{_name(settings)} could not be changed; try again ({problem})")


async def _write(kube: KubeApi, settings: LeaderElection, body: Object, *, is_new: bool) -> None:
    namespace, name = settings.resource_namespace, settings.resource_name
    try:
        if is_new:
            await kube.create(LEASES, namespace, dict(body))
        else:
            await kube.replace(LEASES, namespace, name, dict(body))
    except errors.Forbidden as problem:
        raise _not_allowed("create" if is_new else "update", settings, problem) from None


def _not_allowed(verb: str, settings: LeaderElection, problem: errors.Forbidden) -> CannotPause:
    return CannotPause(
        f"no right to {verb} {_name(settings)} ({problem}); ask whoever administers the cluster "
        f"for it, and check: kubectl auth can-i {verb} leases.coordination.k8s.io "
        f"-n {settings.resource_namespace}"
    )


def _empty(settings: LeaderElection) -> Object:
    """Of nobody: whoever stands by may take it at once."""
    metadata = {"name": settings.resource_name, "namespace": settings.resource_namespace}
    return {
        "apiVersion": LEASES.group_version,
        "kind": "Lease",
        "metadata": metadata,
        "spec": {},
    }


def _of(lease: Object | None) -> Pause | None:
    return pausing.pause_of(pausing.annotations_of(lease))


def _as_written(wanted: Pause) -> Pause | None:
    empty: Object = {"metadata": {}}
    return _of(pausing.paused(empty, wanted))


def _name(settings: LeaderElection) -> str:
    return f"the lease {settings.resource_namespace}/{settings.resource_name}"
