"""What is seldom new of the cluster: its name and version, who leads, whether moves are paused."""

from datetime import datetime
from typing import Final

from rescheduler.clock import Clock
from rescheduler.controller.settings import Settings
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi
from rescheduler.model import windows
from rescheduler.model.pausing import annotations_of, pause_of
from rescheduler.serve.dashboard.view import About
from rescheduler.wire import LEASES, Resource


class _Version(Resource):
    """The one address of an API server that is of no group."""

    __slots__ = ()

    def path(self, namespace: str | None = None, name: str | None = None) -> str:
        del namespace, name
        return "/version"


_VERSION: Final = _Version("v1", "version")


class Abouts:
    def __init__(self, kube: KubeApi, clock: Clock, settings: Settings) -> None:
        self._kube = kube
        self._clock = clock
        self._settings = settings
        self._version = ""
        self._leader = ""
        self._pause = ""
        self._paused_by = ""
        self._paused_reason = ""
        self._paused_since: datetime | None = None

    async def look(self) -> None:
        if not self._version:
            self._version = await self._read_version()
        election = self._settings.configuration.leader_election
        if not election.leader_elect:
            return
        try:
            lease = await self._kube.get(
                LEASES, election.resource_namespace, election.resource_name
            )
        except ReschedulerError:
            self._leader = ""
            return
        self._leader = str((lease.get("spec") or {}).get("holderIdentity") or "")
        pause = pause_of(annotations_of(lease))
        self._pause = str(pause) if pause else ""
        self._paused_by = pause.by if pause else ""
        self._paused_reason = pause.reason if pause else ""
        self._paused_since = pause.since if pause else None

    async def _read_version(self) -> str:
        try:
            return str((await self._kube.get(_VERSION, None, "")).get("gitVersion") or "")
        except (ReschedulerError, LookupError, AttributeError):
            return ""  # an embedded one has none

    def about(self, cluster: str) -> About:
        now = self._clock.now()
        return About(
            cluster=cluster,
            kubernetes_version=self._version,
            leader=self._leader,
            pause=self._pause,
            paused_by=self._paused_by,
            paused_reason=self._paused_reason,
            paused_since=self._paused_since,
            window=windows.in_words(self._settings.configuration.windows, now),
        )
