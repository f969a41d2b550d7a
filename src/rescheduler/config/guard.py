"""The section `guard`: that pods are moved first, whoever evicts them."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.config.tls import Tls
from rescheduler.documents.durations import SECOND
from rescheduler.documents.kinds import Count, Duration, Flag, HttpAddress, IpAddress
from rescheduler.documents.settings import setting, subsection

_LAST_PORT: Final = 65535
_SECRET: Final = "rescheduler-guard-tls"  # noqa: S105 - its name
SERVICE: Final = "rescheduler-guard"
"""Of the manifests, in the namespace of the Lease."""
WEBHOOK: Final = SERVICE
"""Their ValidatingWebhookConfiguration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """Whether evictions by others wait until the pod serves elsewhere. The API server asks us about
    each: see docs/guard.md.
    """

    enabled: bool = setting("enabled", Flag(), default=False)
    """Whether we answer. Default false: nobody listens. The manifests of components/guard, which
    tell the API server to ask, set it.
    """

    bind_address: str = setting("bindAddress", IpAddress(), default="")
    """The address to listen on. Default empty: all."""

    port: int = setting("port", Count(lowest=1, highest=_LAST_PORT), default=8443)
    """Default 8443. When it is taken, `run` ends at once and says so."""

    patience_seconds: float = setting("patience", Duration(lowest=SECOND), default=300.0)
    """How long the eviction of one pod may be held until it passes, whatever became of the move.
    Default 5 min. The annotation rescheduler.io/guard-patience of the pod, then that of its
    namespace, counts before it.
    """

    url: str = setting("url", HttpAddress(), default="")
    """Where the API server reaches us, such as "https://10.0.0.7:8443/guard". Default empty: the
    Service of the manifests. For a controller that runs outside of the cluster.
    """

    tls: Tls = subsection("tls", default=Tls())
    """Without files it is the Secret rescheduler-guard-tls, unless `secret` names another one: an
    API server asks over TLS only.
    """

    @property
    def host(self) -> str:
        """Of `url`, without its port; empty: there is none."""
        authority = self.url.partition("://")[2].partition("/")[0]
        if authority.startswith("["):
            return authority[1:].partition("]")[0]
        return authority.partition(":")[0]

    @property
    def secret(self) -> str:
        """In which we keep a certificate of our own; empty: it is in files."""
        return "" if self.tls.cert_file else self.tls.secret or _SECRET
