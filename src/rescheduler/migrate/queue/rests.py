"""Migrations that rest after an error that nobody expected, or a refusal that only an operator can
mend: each time longer.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from rescheduler.migrate.record.lines import Key

_SECONDS: Final = (1.0, 5.0, 30.0, 60.0)


class Rests:
    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._until: dict[Key, float] = {}
        self._errors: Counter[Key] = Counter()

    def __contains__(self, key: object) -> bool:
        return key in self._until

    def __iter__(self) -> Iterator[Key]:
        return iter(self._until)

    def note_error(self, key: Key) -> None:
        self._rest(key, self._errors[key] + 1)

    def give_up(self, key: Key) -> None:
        """As long as ever, from now on: it has been tried often enough."""
        self._rest(key, len(_SECONDS))

    def is_given_up(self, key: Key) -> bool:
        return self._errors[key] >= len(_SECONDS)

    def forgive(self, key: Key) -> None:
        self._errors.pop(key, None)

    def wake(self) -> None:
        """Those that have rested enough."""
        now = self._monotonic()
        self._until = {key: until for key, until in self._until.items() if until > now}

    def forget_all_but(self, is_left: Callable[[Key], bool]) -> None:
        self._errors = Counter({key: n for key, n in self._errors.items() if is_left(key)})

    def _rest(self, key: Key, errors: int) -> None:
        self._errors[key] = errors
        self._until[key] = self._monotonic() + _SECONDS[min(errors, len(_SECONDS)) - 1]
