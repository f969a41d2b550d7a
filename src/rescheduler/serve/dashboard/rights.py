"""What a viewer may see: everything, or pods of some namespaces. Pure.

Whoever sees the same shares what is worked out for it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rescheduler.model.snapshot import Snapshot

_HIDDEN: Final = "not shown: it is about a namespace that you may not see"
_LETTER: Final = r"[a-z0-9-]"


@dataclass(frozen=True)
class Rights:
    """`namespaces`: those that are seen; None: all, also those that are yet to come."""

    namespaces: frozenset[str] | None = None

    @property
    def sees_everything(self) -> bool:
        return self.namespaces is None

    def sees(self, namespace: str) -> bool:
        return self.namespaces is None or namespace in self.namespaces


EVERYTHING: Final = Rights()


@dataclass(frozen=True)
class Words:
    """Free text, as it may be shown: reasons name what is in the way, which may be elsewhere."""

    rights: Rights
    hidden: frozenset[str] = frozenset()
    """Namespaces that there are, and are not seen."""

    @classmethod
    def of(cls, rights: Rights, there: Iterable[str]) -> "Words":
        if rights.sees_everything:
            return cls(rights)
        return cls(rights, frozenset(each for each in there if not rights.sees(each)))

    def __call__(self, text: str) -> str:
        if self._names is None or not self._names.search(text):
            return text
        return _HIDDEN

    def all(self, texts: Iterable[str]) -> list[str]:
        """Each of those that may not be shown only once."""
        return list(dict.fromkeys(map(self, texts)))

    def within(self, value: object) -> Any:  # noqa: ANN401 - of the same shape
        """The same of every text in a document, also of names that things have in it."""
        if isinstance(value, str):
            return self(value)
        if isinstance(value, Mapping):
            return {self.within(key): self.within(each) for key, each in value.items()}
        if isinstance(value, (list, tuple, set, frozenset)):
            return [self.within(each) for each in value]
        return value

    @cached_property
    def _names(self) -> re.Pattern[str] | None:
        if not self.hidden:
            return None
        longest_first = sorted(map(re.escape, self.hidden), key=lambda each: (-len(each), each))
        return re.compile(f"(?<!{_LETTER})(?:{'|'.join(longest_first)})(?!{_LETTER})")


def namespaces_of(snapshot: Snapshot) -> frozenset[str]:
    """Those that have pods, and those that are known otherwise."""
    found = {each.namespace for each in snapshot.classes if each is not None}
    return frozenset(found | {name for _, name in snapshot.objects.get("namespaces", {})})
