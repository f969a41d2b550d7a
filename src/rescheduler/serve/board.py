"""Where the controller publishes, and from where every answer is read."""

from collections.abc import Callable, Iterable

from rescheduler.clock import Clock, SystemClock
from rescheduler.guard import GuardTable
from rescheduler.model.published import Now
from rescheduler.schedule import Offer
from rescheduler.serve import health
from rescheduler.serve.metrics import Metrics, Recorder
from rescheduler.serve.metrics.current import Current
from rescheduler.serve.metrics.extending import ExtenderRecorder
from rescheduler.serve.metrics.guarding import GuardRecorder


def _nobody(_: str) -> None:
    """Of whom an early pass could be asked."""


class Board:
    """Written by the main thread, read by the one that serves: each published value is frozen and
    replaced as a whole, so nobody waits for anybody.
    """

    def __init__(self, resources: Iterable[str] = (), clock: Clock | None = None) -> None:
        """`resources`: those that are asked of the API server. The clock is that of whoever asks
        from outside, also where the cluster runs on virtual time.
        """
        self._clock = clock or SystemClock()
        self._now = Now()
        self._published_at = self._clock.monotonic()
        self._blind_since: dict[str, float] = {}
        self._asked_at: float | None = None
        self._answered_at: float | None = None
        self._offer: Offer | None = None
        self._guard_table: GuardTable | None = None
        self.call_for_a_pass: Callable[[str], None] = _nobody
        """By whoever foresees an overload, from any thread; the reason in words."""
        current = Current(lambda: self._now, self.blind_seconds, lambda: self.readiness().is_good)
        self._metrics = Metrics(current, resources, self._clock.monotonic)

    @property
    def record(self) -> Recorder:
        """For what is counted as it happens."""
        return self._metrics.recorder

    @property
    def extender(self) -> ExtenderRecorder:
        return self._metrics.extender

    @property
    def guard(self) -> GuardRecorder:
        return self._metrics.guard

    # ------------------------------------------------------------------ publishing

    def publish_offer(self, offer: Offer | None) -> None:
        """None: nothing is known any more."""
        self._offer = offer

    def publish_guard_table(self, table: GuardTable | None) -> None:
        """None: nothing is known any more, and all evictions pass."""
        self._guard_table = table

    def publish(self, now: Now) -> None:
        """At least every few seconds: who does not is taken to be stuck."""
        at = self._clock.monotonic()
        blind = {name for name, each in now.watches.items() if each.is_blind}
        for name in blind - self._blind_since.keys():
            if now.is_synced:  # at first nothing has been seen
                self.record.went_blind(name)
        # A new one, as the other thread may be reading the old one.
        self._blind_since = {name: self._blind_since.get(name, at) for name in blind}
        self._now, self._published_at = now, at

    def heard(self, verb: str, resource: str, code: int, seconds: float) -> None:
        """Of a request to the API server, by the code of its answer; 0: there was none."""
        at = self._clock.monotonic()
        if code:
            self._answered_at = at
        if self._asked_at is None:
            self._asked_at = at
        self.record.asked(verb, resource, code, seconds)

    # ------------------------------------------------------------------ answers

    @property
    def offer(self) -> Offer | None:
        return self._offer

    @property
    def guard_table(self) -> GuardTable | None:
        return self._guard_table

    @property
    def latest(self) -> Now:
        return self._now

    def blind_seconds(self, resource: str) -> float:
        since = self._blind_since.get(resource)
        return 0.0 if since is None else self._clock.monotonic() - since

    def liveness(self) -> health.Verdict:
        return health.liveness(self._facts())

    def readiness(self) -> health.Verdict:
        return health.readiness(self._facts())

    def metrics(self) -> bytes:
        return self._metrics.text()

    def _facts(self) -> health.Facts:
        now, at = self._now, self._clock.monotonic()
        heard_at = self._answered_at if self._answered_at is not None else self._asked_at
        return health.Facts(
            now=now,
            silent_seconds=at - self._published_at,
            unanswered_seconds=0.0 if heard_at is None else at - heard_at,
            blind={name: self.blind_seconds(name) for name in now.watches},
        )
