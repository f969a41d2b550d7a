"""Faults to plant in an embedded cluster: in what a client asks, and in pods.

Of a client's calls: each fault is an `Around`, and so is what says when it strikes, so that they
are put together: `together(at_rate(0.05, chance, lost_reply), at_rate(0.01, chance, conflict))`.
All luck comes from the `random.Random` that is handed in.
"""

import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final

from rescheduler.embedded import behaviours
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.client.calls import Around, Call
from rescheduler.kube import Object, errors
from rescheduler.wire import Resource

GoOn = Callable[[], Awaitable[Any]]

_RETRY_SECONDS: Final = 1.0
_CHANGED: Final = "the object has been modified; please apply your changes to the latest version"


# ------------------------------------------------------------------ what goes wrong


async def lost_request(call: Call, _: GoOn) -> Any:  # noqa: ANN401 - whatever was asked for
    """It never reaches the server."""
    raise errors.Unavailable(f"{_words(call)}: Connection reset by peer")


async def lost_reply(call: Call, go_on: GoOn) -> Any:  # noqa: ANN401
    """It takes effect, and nobody hears of it; a refusal is lost as well."""
    with suppress(errors.KubeError):
        await go_on()
    raise errors.Unavailable(f"{_words(call)}: Server disconnected")


async def throttled(call: Call, _: GoOn) -> Any:  # noqa: ANN401
    """The server has too much to do and asks to come again."""
    raise errors.Throttled(
        f"{_words(call)}: Too many requests, please try again later.",
        status=429,
        retry_after=_RETRY_SECONDS,
    )


async def unavailable(call: Call, _: GoOn) -> Any:  # noqa: ANN401
    """A server that is about to start, or to end."""
    raise errors.Unavailable(f"{_words(call)}: HTTP 503", status=503)


async def conflict(call: Call, go_on: GoOn) -> Any:  # noqa: ANN401
    """As if somebody had changed the object just before. Only of writes that name the version they
    mean: nothing else can be refused for that.
    """
    if not _names_a_version(call):
        return await go_on()
    words = f'Operation cannot be fulfilled on {call.resource} "{call.name}": {_CHANGED}'
    raise errors.Conflict(words, status=409)


def _names_a_version(call: Call) -> bool:
    body = call.body or {}
    if call.verb == "delete":
        return bool((body.get("preconditions") or {}).get("resourceVersion"))
    named = (body.get("metadata") or {}).get("resourceVersion")
    return call.verb in ("patch", "update") and bool(named)


def _words(call: Call) -> str:
    what = f"{call.resource}/{call.subresource}" if call.subresource else call.resource
    return " ".join(each for each in (call.verb, what, call.namespace, call.name) if each)


# ------------------------------------------------------------------ when it does


def when(strikes: Callable[[Call], bool], fault: Around) -> Around:
    async def around(call: Call, go_on: GoOn) -> Any:  # noqa: ANN401
        return await (fault(call, go_on) if strikes(call) else go_on())

    return around


def at_rate(rate: float, chance: random.Random, fault: Around) -> Around:
    """Of all calls so many, from 0 to 1. A stream may fail when it is opened."""
    return when(lambda _: chance.random() < rate, fault)


def together(*faults: Around) -> Around:
    """One inside the other; the first one stands outside."""

    async def around(call: Call, go_on: GoOn) -> Any:  # noqa: ANN401
        for fault in reversed(faults):
            go_on = partial(fault, call, go_on)
        return await go_on()

    return around


# ------------------------------------------------------------------ pods


class Trouble:
    """Pods that do not do what they should; what they are told is what `behaviours` understands."""

    def __init__(
        self, api: ApiServer, chance: random.Random, *, prefix: str = behaviours.PREFIX
    ) -> None:
        self._api = api
        self._chance = chance
        self._prefix = prefix

    def never_ready(self, rate: float) -> Callable[[], None]:
        """Of the pods that are made from now on, so many never become Ready. Gives what ends it."""
        return self._afflict(rate, "never-ready", "true")

    def slow_to_start(self, rate: float, seconds: float) -> Callable[[], None]:
        """So many need so long until they are Ready."""
        return self._afflict(rate, "ready-after", f"{seconds}s")

    def crashing(self, rate: float) -> Callable[[], None]:
        return self._afflict(rate, "crashes", "true")

    def _afflict(self, rate: float, name: str, value: str) -> Callable[[], None]:
        def mutate(_: Resource, pod: Object) -> Object:
            if self._chance.random() < rate:
                annotations = pod["metadata"].get("annotations") or {}
                # What a pod says of itself is not taken back.
                pod["metadata"]["annotations"] = {self._prefix + name: value, **annotations}
            return pod

        self._api.mutators.append(mutate)
        return lambda: self._api.mutators.remove(mutate)
