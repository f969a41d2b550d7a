"""What is told of many that are alike: of each kind a few one by one, and of the rest how many they
are. Pure: the time is handed in.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

_FEW: Final = 20
_SECONDS: Final = 60.0


@dataclass(slots=True)
class Crowd:
    _since: float = float("-inf")
    _met: Counter[str] = field(default_factory=Counter)

    def is_one_of_few(self, kind: str) -> bool:
        """Whether this one is told by itself; else it is counted."""
        self._met[kind] += 1
        return self._met[kind] <= _FEW

    def untold(self, now: float) -> Mapping[str, int]:
        """Once a minute: how many of each kind were met beside those that were told."""
        if now - self._since < _SECONDS:
            return {}
        found = {kind: times - _FEW for kind, times in self._met.items() if times > _FEW}
        self._since, self._met = now, Counter()
        return found
