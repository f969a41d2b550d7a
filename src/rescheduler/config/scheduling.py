"""The sections `filter`, `score` and `extender`: what a scheduler is answered, and where."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.config.tls import Tls
from rescheduler.documents.kinds import Amount, Count, Flag, IpAddress
from rescheduler.documents.name_lists import Choices
from rescheduler.documents.settings import setting, subsection

FILTER: Final = "filter"
SCORE: Final = "score"
PRE_BIND: Final = "preBind"
VERBS: Final = (FILTER, SCORE, PRE_BIND)
"""As the extension points of a scheduler are called."""
SERVICE: Final = "rescheduler-extender"
"""By whose name we are asked, wherever it leads: our own certificate is for it."""
_MOST_POINTS: Final = 10
_LAST_PORT: Final = 65535
_LOOPBACK: Final = ("127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    strict: bool = setting("strict", Flag(), default=False)
    """Whether a pod waits when every node that fits is above a threshold, is being emptied by us or
    is promised to migrations. Default false: then none is refused, for a full cluster must still
    schedule. Nodes in maintenance are refused always.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How much what counts when nodes are compared for a new pod."""

    cpu_weight: float = setting("cpuWeight", Amount(highest=100), default=1.0)
    """Of CPU use, beside `memoryWeight`. Default 1: as much. One of them has to be above 0."""

    memory_weight: float = setting("memoryWeight", Amount(highest=100), default=1.0)
    """Of memory use. Default 1."""

    balance_bonus: float = setting("balanceBonus", Amount(highest=_MOST_POINTS), default=2.0)
    """Of the 10 points, those for a node on which CPU and memory are used to the same degree with
    the pod. Default 2; 0: only what is free counts.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Extender:
    """Where a kube-scheduler asks us about new pods."""

    verbs: tuple[str, ...] = setting("verbs", Choices(VERBS), default=())
    """What it may ask: `filter`, `score`, `preBind`. Default none: nobody listens. In a
    KubeSchedulerConfiguration those are on, too, at which its `plugins` enable Rescheduler.
    """

    bind_address: str = setting("bindAddress", IpAddress(), default="127.0.0.1")
    """The address to listen on. Default: for a scheduler in the same pod, or on the same machine.
    Empty: all; then TLS is needed.
    """

    port: int = setting("port", Count(lowest=1, highest=_LAST_PORT), default=8082)
    """Default 8082. When it is taken, `run` ends at once and says so."""

    tls: Tls = subsection("tls", default=Tls())

    @property
    def is_local(self) -> bool:
        """Nobody beyond this machine can ask."""
        return self.bind_address in _LOOPBACK
