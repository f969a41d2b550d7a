"""Follows the configuration file: edited in place, replaced, or a ConfigMap that is swapped."""

from collections.abc import Callable
from typing import Final

import structlog

from rescheduler.clock import Clock
from rescheduler.config import ConfigurationError, Loaded, Problem
from rescheduler.controller.settings import Settings

_LOOK_SECONDS: Final = 1.0
"""It is small, and read as a whole: what a kubelet swaps, it swaps by a symbolic link further up,
of which the file itself shows nothing but another text.
"""


class Reloading:
    def __init__(
        self, settings: Settings, clock: Clock, read: Callable[[], str], text: str
    ) -> None:
        """`text` is what `read` gave when the settings were made of it."""
        self._settings = settings
        self._clock = clock
        self._read = read
        self._judged: str | ConfigurationError = text
        self._seen_once: str | None = None

    async def run(self, load: Callable[[str], Loaded]) -> None:
        """For ever."""
        while True:
            await self._clock.sleep(_LOOK_SECONDS)
            self.look(load)

    def look(self, load: Callable[[str], Loaded]) -> None:
        """A text counts when it is found twice: an editor may be in the middle of writing it, and
        half of a configuration may be a right one, too.
        """
        text, unreadable = "", None
        try:
            text = self._read()
        except ConfigurationError as problem:
            unreadable = problem
        seen = str(unreadable) if unreadable else text
        if seen == self._judged:
            self._seen_once = None
        elif seen != self._seen_once:
            self._seen_once = seen
        else:
            self._judged, self._seen_once = seen, None
            self._judge(text, unreadable, load)

    def _judge(
        self, text: str, unreadable: ConfigurationError | None, load: Callable[[str], Loaded]
    ) -> None:
        found = unreadable or _loaded(text, load)
        if isinstance(found, ConfigurationError):
            self._settings.refuse(found, self._clock.now())
        else:
            self._settings.take_up(found)


def _loaded(text: str, load: Callable[[str], Loaded]) -> Loaded | ConfigurationError:
    """A text on which we fail is a wrong one: it must not be the last that is looked at."""
    log = structlog.get_logger()
    try:
        return load(text)
    except ConfigurationError as problem:
        return problem
    except Exception:
        log.exception("configuration cannot be read: internal error, please report")
        return ConfigurationError([Problem("", "cannot be read: internal error, see the log")])
