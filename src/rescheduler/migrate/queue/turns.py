"""Whose turn it is: of all records, those that may begin now or go on, in order; and who rests."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Final

from rescheduler.config import Scope
from rescheduler.migrate.record.indexes import Key
from rescheduler.migrate.record.store import Store, key_of
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Phase

_INCOMPLETE_SECONDS: Final = 30.0
"""After which no further members of a group are waited for."""
_CONSIDERED: Final = 1_000
"""So many of those that wait are looked at in one round: somebody may have made any number."""
_REST_SECONDS: Final = (1.0, 5.0, 30.0, 60.0)


class Rests:
    """Migrations that rest after an error that nobody expected, or a refusal that only an operator
    can mend: each time longer.
    """

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
        self._rest(key, len(_REST_SECONDS))

    def is_given_up(self, key: Key) -> bool:
        return self._errors[key] >= len(_REST_SECONDS)

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
        self._until[key] = self._monotonic() + _REST_SECONDS[min(errors, len(_REST_SECONDS)) - 1]


class Turns:
    def __init__(  # noqa: PLR0913
        self,
        store: Store,
        scope: Scope,
        *,
        running: Container[Key],
        resting: Rests,
        asked_here: Container[Key],
        begins: Callable[[Object], bool],
        is_paused: Callable[[], bool],
    ) -> None:
        """`asked_here`: those whose end somebody here waits for. `begins`: of all others, those to
        be begun, too.
        """
        self._store = store
        self._scope = scope
        self._running = running
        self._resting = resting
        self._asked_here = asked_here
        self._begins = begins
        self._is_paused = is_paused
        self._groups: dict[str, float] = {}
        """Since when members of a group wait."""

    def ours(self) -> Iterator[Object]:
        return filter(self.is_covered, self._store.unfinished())

    def targetless(self) -> Iterator[Key]:
        """Those for which the planner is to choose a target."""
        return (key for key, each in self._store.targetless().items() if self.is_covered(each))

    def is_covered(self, record: Object) -> bool:
        return self._scope.covers(record["metadata"]["namespace"])

    def is_held(self, record: Object) -> bool:
        """By a pause: nothing was done so far for it, or for any of its group, who wait for it."""
        if not self._is_paused() or podmigration.has_begun(record):
            return False
        group = podmigration.group_of(record)
        return not any(map(podmigration.has_begun, self._store.of_group(group)))

    def begun(self) -> list[Object]:
        """What nobody goes on with at the moment."""
        return [each for each in self._store.begun() if self._waits(each)]

    def resting(self) -> Iterator[Object]:
        """What is in the middle, and takes its room all the same."""
        known = (self._store.get(key) for key in self._resting if self._store.is_unfinished(key))
        return (each for each in known if each is not None)

    def next_ones(self, begun: Iterable[Object]) -> list[Object]:
        """What goes on, and of what waits as many as are looked at; groups as a whole."""
        in_turn = filter(self._waits, self._candidates())
        found = {key_of(each): each for each in chain(begun, islice(in_turn, _CONSIDERED))}
        for group in {podmigration.group_of(each) for each in found.values()} - {""}:
            mates = filter(self._waits, self._store.of_group(group))
            found |= {key_of(each): each for each in mates if key_of(each) not in found}
        return list(found.values())

    def overdue(self, waiting: Sequence[Object], now: float) -> set[str]:
        """Groups whose members have waited for so long that nobody will ask for the rest."""
        present = {group for each in waiting if (group := podmigration.group_of(each))}
        self._groups = {group: self._groups.get(group, now) for group in present}
        return {group for group, since in self._groups.items() if now - since > _INCOMPLETE_SECONDS}

    def _candidates(self) -> Iterable[Object]:
        """In the order in which they may begin."""
        if not self._is_paused():
            return self._store.in_turn(self._scope.covers)
        # Those alone whose groups have begun: all others are held, however many they are.
        groups = {podmigration.group_of(each) for each in self._store.begun()} - {""}
        return [each for group in sorted(groups) for each in self._store.of_group(group)]

    def _waits(self, record: Object) -> bool:
        key = key_of(record)
        is_free = key not in self._running and key not in self._resting
        return (
            is_free
            and self._store.is_unfinished(key)
            and not podmigration.waits_for_target(record)
            and self.is_covered(record)
            and not self.is_held(record)
            and self._is_ours_to_begin(record)
        )

    def _is_ours_to_begin(self, record: Object) -> bool:
        """It has begun, or is asked for here, or one of its group is."""
        mates = self._store.of_group(podmigration.group_of(record))
        return self._is_begun_here(record) or any(
            self._is_begun_here(each) for each in mates if self._store.is_unfinished(key_of(each))
        )

    def _is_begun_here(self, record: Object) -> bool:
        key = key_of(record)
        return (
            podmigration.phase_of(record) is Phase.IN_PROGRESS
            or key in self._running
            or key in self._asked_here
            or self._begins(record)
        )
