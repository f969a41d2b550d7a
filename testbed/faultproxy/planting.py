"""Planting faults: which rules there are, and what passed by them."""

from collections.abc import Callable

from testbed.faultproxy.faults import Fault
from testbed.faultproxy.request import Request
from testbed.faultproxy.rule import Engagement, Match, Rule
from testbed.faultproxy.waiting import Pulse


class Faults:
    """Of one client, or of several behind the same proxy."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self._rules: list[Rule] = []
        self._pulse = Pulse()

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.write]

    def on(self, match: Match, fault: Fault, *, after: int = 0, times: int | None = None) -> Rule:
        """Let a fault meet the matching requests: not the first `after`, and at most `times`.

        Rules look at a request in the order they were made; a final fault leaves nothing to the
        rules behind it, though they count the request as seen.
        """
        rule = Rule(match, fault, after=after, times=times, pulse=self._pulse)
        self._rules.append(rule)
        return rule

    def clear(self) -> None:
        """Remove every rule."""
        for rule in self._rules:
            rule.remove()
        self._rules.clear()

    def cut_all(self) -> None:
        """Close every live connection now."""
        raise NotImplementedError

    def freeze(self) -> None:
        """Keep every connection and forward nothing either way; leave new ones unanswered."""
        raise NotImplementedError

    def thaw(self) -> None:
        """Deliver what was held back, as a network does that comes back."""
        raise NotImplementedError

    async def wait_until(self, condition: Callable[[], bool], within: float = 10.0) -> None:
        """Wait for a condition on `requests`; looked at when one arrives, is answered or ends."""
        await self._pulse.until(
            condition, within, f"the condition on {len(self.requests)} requests"
        )

    def _engage(self, request: Request) -> list[Engagement]:
        due = [rule for rule in self._rules if rule.notice(request)]
        final = next((place for place, rule in enumerate(due) if rule.fault.final), len(due))
        return [rule.engage(request) for rule in due[: final + 1]]
