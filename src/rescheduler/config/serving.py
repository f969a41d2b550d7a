"""The section `serving`: where `rescheduler run` answers probes, Prometheus and whoever debugs."""

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.kinds import Count, IpAddress
from rescheduler.documents.settings import setting

_MOST: Final = 65535


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """Where `rescheduler run` listens: for probes, for Prometheus, and for whoever debugs it."""

    bind_address: str = setting("bindAddress", IpAddress(), default="")
    """The address to listen on, such as "127.0.0.1". Default empty: all, IPv4 and IPv6, as probes
    of a kubelet come to that of the pod. What is told there names no pod and no node.
    """

    port: int = setting("port", Count(highest=_MOST), default=8081)
    """Of `/healthz`, `/readyz` and `/metrics`, over plain HTTP. Default 8081; 0: nobody listens.
    When it is taken, `run` ends at once and says so: probes would hear of somebody else.
    """

    debug_port: int = setting("debugPort", Count(highest=_MOST), default=0)
    """Of `/debug/profile` and `/debug/heap`, on 127.0.0.1 only, whatever `bindAddress` is. Default
    0: off. A profile slows the process down while it is taken.
    """
