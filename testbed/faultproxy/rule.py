"""Which requests a fault meets, and how often it has struck."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from testbed.faultproxy.faults import Fault
from testbed.faultproxy.request import Request
from testbed.faultproxy.waiting import Pulse

ANY = "*"


@dataclass(frozen=True, kw_only=True)
class Match:
    """Every condition given must hold; none given means every request.

    As in RBAC, `resource="pods"` alone does not mean `pods/eviction`: give the subresource, or
    "*" for the resource with all of them.
    """

    verb: str | None = None
    group: str | None = None
    resource: str | None = None
    subresource: str | None = None
    namespace: str | None = None
    name: str | None = None  # a regular expression for the whole name
    write: bool | None = None
    predicate: Callable[[Request], bool] | None = None

    def accepts(self, request: Request) -> bool:
        expected = (
            (self.verb, request.verb),
            (self.group, request.group),
            (self.resource, request.resource),
            (self._subresource(), request.subresource),
            (self.namespace, request.namespace),
            (self.write, request.write),
        )
        return (
            all(wanted is None or wanted == actual for wanted, actual in expected)
            and (self.name is None or re.fullmatch(self.name, request.name) is not None)
            and (self.predicate is None or self.predicate(request))
        )

    def _subresource(self) -> str | None:
        if self.subresource is None and self.resource is not None:
            return ""
        return None if self.subresource == ANY else self.subresource


def nth_write(number: int) -> Match:
    """The n-th write since the proxy started, leases and access reviews included, but for
    Events.

    To count only some of the writes: `proxy.on(Match(write=True, ...), fault, after=n-1, times=1)`.
    """
    return Match(predicate=lambda request: request.write_number == number)


class Rule:
    """Ties a fault to the requests it meets; `FaultProxy.on` makes one."""

    def __init__(
        self, match: Match, fault: Fault, *, after: int, times: int | None, pulse: Pulse
    ) -> None:
        self.match = match
        self.fault = fault
        self.fired = 0
        self.removed = False
        self._skip = after
        self._times = times
        self._engaged = 0  # requests this rule has taken on and not yet struck
        self._pulse = pulse

    def notice(self, request: Request) -> bool:
        """Count a request that passes by; True when this rule is to act on it."""
        if self.removed or not self.match.accepts(request):
            return False
        if self._skip:
            self._skip -= 1
            return False
        return self._times is None or self.fired + self._engaged < self._times

    def engage(self, request: Request) -> "Engagement":
        self._engaged += 1
        return Engagement(self, request)

    def disengage(self, *, struck: bool) -> None:
        self._engaged -= 1
        self.fired += struck
        self._pulse.beat()

    def remove(self) -> None:
        """Leave later requests alone; what has begun goes on."""
        self.removed = True

    async def wait_fired(self, within: float = 10.0, *, times: int = 1) -> None:
        """Wait until the fault has struck so often: the damage is done, not merely planned."""
        await self._pulse.until(lambda: self.fired >= times, within, f"{self} fired {times} times")

    def __str__(self) -> str:
        return f"{self.fault.name} on {self.match}"


class Engagement:
    """One rule at work on one request."""

    def __init__(self, rule: Rule, request: Request) -> None:
        self.rule = rule
        self._request = request
        self._open = True

    def strike(self) -> None:
        """Note that the fault took effect; a fault may say so more than once."""
        if self._open:
            self._open = False
            self._request.outcome.faults.append(self.rule.fault.name)
            self.rule.disengage(struck=True)

    def release(self) -> None:
        """Give the turn back if the fault never took effect (a watch too short to be cut)."""
        if self._open:
            self._open = False
            self.rule.disengage(struck=False)
