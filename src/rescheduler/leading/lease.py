"""The Lease on the server: three requests, and their failures in words that help."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rescheduler.config import LeaderElection
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.leading.deciding import Record, spec_of
from rescheduler.leading.errors import Refused
from rescheduler.wire import LEASES


class Lease:
    """By PUT and not by PATCH: the server serves only these before all else (`leader-election` of
    its priority levels), and a version that has changed since is refused.
    """

    def __init__(
        self,
        kube: KubeApi,
        settings: LeaderElection,
        see: Callable[[Object], None] = lambda _: None,
    ) -> None:
        """`see` is called with it whenever the server has shown it."""
        self._kube = kube
        self._see = see
        self._notes: Object = {}
        self._namespace = settings.resource_namespace
        self._name = settings.resource_name

    async def read(self) -> Object | None:
        with self._in_words("get"):
            try:
                return self._seen(await self._kube.get(LEASES, self._namespace, self._name))
            except errors.NotFound:
                return None

    async def write(self, before: Object | None, record: Record) -> Object | None:
        """The lease as it is now; None when it was not as we believed, and was left so."""
        return await (self._create(record) if before is None else self._replace(before, record))

    async def _create(self, record: Record) -> Object | None:
        body = {
            "apiVersion": LEASES.group_version,
            "kind": "Lease",
            "metadata": {
                "name": self._name,
                "namespace": self._namespace,
                # Who deletes a lease wants another leader, and not the end of a pause.
                **({"annotations": self._notes} if self._notes else {}),
            },
            "spec": spec_of(record),
        }
        with self._in_words("create"):
            try:
                return self._seen(await self._kube.create(LEASES, self._namespace, body))
            except (errors.AlreadyExists, errors.Conflict):
                return None

    async def _replace(self, before: Object, record: Record) -> Object | None:
        # What else there is in it, somebody has put there.
        body = {**before, "spec": {**(before.get("spec") or {}), **spec_of(record)}}
        with self._in_words("update"):
            try:
                replaced = await self._kube.replace(LEASES, self._namespace, self._name, body)
                return self._seen(replaced)
            except (errors.Conflict, errors.NotFound):
                return None

    def _seen(self, lease: Object) -> Object:
        self._notes = lease["metadata"].get("annotations") or {}
        self._see(lease)
        return lease

    @contextmanager
    def _in_words(self, verb: str) -> Iterator[None]:
        what = f"the lease {self._namespace}/{self._name}"
        try:
            yield
        except errors.Forbidden as problem:
            raise Refused(
                f"no right to {verb} {what} ({problem}); apply manifests/rescheduler/rbac.yaml, "
                "which grants it for the default of leaderElection.resourceName and "
                "resourceNamespace, or, if no other rescheduler runs in this cluster, set "
                "leaderElection.leaderElect to false"
            ) from problem
        except errors.NotFound as problem:
            raise Refused(
                f"cannot {verb} {what} ({problem}); name a namespace that is there in "
                "leaderElection.resourceNamespace"
            ) from problem
        except (errors.Unauthorized, errors.Untrusted, errors.Invalid) as problem:
            raise Refused(f"cannot {verb} {what}: {problem}") from problem
