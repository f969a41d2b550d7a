"""The section `dashboard`: a page, and a JSON API, for people who look."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.config.tls import Tls
from rescheduler.documents.kinds import Count, Flag, IpAddress, Text
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.settings import setting, subsection

_LAST_PORT: Final = 65535
_LOOPBACK: Final = ("127.0.0.1", "::1")

SERVICE: Final = "rescheduler-dashboard"
"""Of the manifests, in the namespace of the Lease."""
BY_ADDRESS: Final = "ByAddress"
TOKEN: Final = "Token"  # noqa: S105 - the name of a choice
NOBODY: Final = "None"
AUTHENTICATION: Final = (BY_ADDRESS, TOKEN, NOBODY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """Whether `rescheduler run` shows the cluster, its plans and its moves in a browser: see
    docs/dashboard.md.
    """

    enabled: bool = setting("enabled", Flag(), default=False)
    """Whether it is shown. Default false: nobody listens. The manifests of components/dashboard set
    it.
    """

    bind_address: str = setting("bindAddress", IpAddress(), default="127.0.0.1")
    """The address to listen on. Default 127.0.0.1: `kubectl port-forward` reaches it there, and
    nobody beyond that. Empty: all.
    """

    port: int = setting("port", Count(lowest=1, highest=_LAST_PORT), default=8080)
    """Default 8080. When it is taken, `run` ends at once and says so."""

    authentication: str = setting("authentication", Choice(AUTHENTICATION), default=BY_ADDRESS)
    """Token: each request has to bring a token of a user of the cluster, and shows what that user
    may list. None: whoever reaches the port sees everything; on this machine only. Default
    ByAddress: None on 127.0.0.1 or ::1, else Token.
    """

    actions: bool = setting("actions", Flag(), default=False)
    """Whether plans can be approved, rejected and undone there, with the token of whoever does it
    and never with ours. Default false: it only shows.
    """

    cluster_name: str = setting("clusterName", Text(), default="")
    """What the page calls the cluster, such as "production". Default empty: the UID of its
    namespace kube-system, as clusters have no name of their own.
    """

    base_path: str = setting("basePath", Text(), default="")
    """Below which a proxy passes it on, such as "/rescheduler". Default empty: the root."""

    tls: Tls = subsection("tls", default=Tls())
    """Default: plain HTTP, for `kubectl port-forward` and for a proxy on the same machine."""

    @property
    def is_local(self) -> bool:
        """Nobody beyond this machine can ask."""
        return self.bind_address in _LOOPBACK

    @property
    def needs_token(self) -> bool:
        if self.authentication == BY_ADDRESS:
            return not self.is_local
        return self.authentication == TOKEN
