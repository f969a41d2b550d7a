"""Whether this replica lives and is ready: named checks, in the manner of kube-apiserver. Pure."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.model.published import Now, Role

STUCK_SECONDS: Final = 60.0
"""After which an event loop from which nothing is heard will not come back: a restart helps."""
BLIND_SECONDS: Final = 60.0
"""Longer than a watch takes to be resumed, and an API server to be replaced."""
_LONGEST_PROBLEM: Final = 300
_VALUE: Final = re.compile(r'(found (?:the string )?|: |\()"(?:[^"\\]|\\.)*"')
"""Of the file, as messages quote it: whoever may ask need not be allowed to read that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    now: Now
    silent_seconds: float
    """Since something was published."""
    unanswered_seconds: float
    """Since the API server answered anything, or was first asked."""
    blind: Mapping[str, float]
    """By resource: for how many seconds it has not been seen."""


@dataclass(frozen=True, slots=True)
class Check:
    name: str
    problem: str = ""
    """Why it is not passed; empty: it is."""
    note: str = ""
    """What is worth knowing although it is passed."""


@dataclass(frozen=True, slots=True)
class Verdict:
    what: str
    checks: tuple[Check, ...]

    @property
    def is_good(self) -> bool:
        return not any(each.problem for each in self.checks)

    def without(self, names: Collection[str]) -> "Verdict":
        return Verdict(self.what, tuple(each for each in self.checks if each.name not in names))

    def in_words(self, *, verbose: bool) -> str:
        if self.is_good and not verbose:
            return "ok"
        ending = "passed" if self.is_good else "failed"
        return "".join(f"{_line(each)}\n" for each in self.checks) + f"{self.what} check {ending}\n"


def _line(check: Check) -> str:
    if check.problem:
        return f"[-]{check.name} failed: {check.problem}"
    return f"[+]{check.name} ok" + (f": {check.note}" if check.note else "")


def liveness(facts: Facts) -> Verdict:
    """Nothing of it depends on the API server: a restart would not mend that."""
    return Verdict("healthz", (Check("ping"), _event_loop(facts)))


def readiness(facts: Facts) -> Verdict:
    """Of a replica that stands by, too: it is ready to lead."""
    return Verdict("readyz", (Check("ping"), _event_loop(facts), *_about_work(facts)))


def _event_loop(facts: Facts) -> Check:
    if facts.silent_seconds > STUCK_SECONDS:
        return Check("event-loop", f"nothing heard of it for {facts.silent_seconds:.0f} s")
    return Check("event-loop")


def _about_work(facts: Facts) -> Iterable[Check]:
    now = facts.now
    yield _role(now)
    yield _api_server(facts)
    yield _sync(now)
    yield _watches(facts)
    yield Check("configuration", note=_configuration(now.configuration_error))
    yield Check("paused", note="moves are paused" if now.paused else "no")


def _role(now: Now) -> Check:
    if now.role in (Role.STARTING, Role.STOPPING):
        return Check("role", now.role.value)
    return Check("role", note=now.role.value)


def _api_server(facts: Facts) -> Check:
    seconds = facts.unanswered_seconds
    if seconds > BLIND_SECONDS:
        return Check("api-server", f"no answer for {seconds:.0f} s")
    return Check("api-server")


def _sync(now: Now) -> Check:
    if not now.role.observes:
        return Check("sync", note="nothing is observed")
    return Check("sync") if now.is_synced else Check("sync", "not everything is listed yet")


def _configuration(error: str) -> str:
    """Its first problem, without what the file says there; the log has all of it."""
    if not error:
        return ""
    first, *others = error.splitlines()
    first = _VALUE.sub(r'\1"..."', first)
    first = first if len(first) <= _LONGEST_PROBLEM else f"{first[: _LONGEST_PROBLEM - 3]}..."
    more = f" (and {len(others)} more, see the log)" if others else ""
    return f"the file was refused, and the last good one is in force: {first}{more}"


def _watches(facts: Facts) -> Check:
    needed = {name for name, each in facts.now.watches.items() if each.is_needed}
    blind = {name: facts.blind[name] for name in sorted(needed) if facts.blind[name]}
    told = ", ".join(f"{name} not seen for {seconds:.0f} s" for name, seconds in blind.items())
    if any(seconds > BLIND_SECONDS for seconds in blind.values()):
        return Check("watches", told)
    return Check("watches", note=told)
