"""Which happenings are written: alike ones once in a while, and of one object no more than somebody
would read. Pure: the time is handed in, and memory is bounded.
"""

import hashlib
from collections import OrderedDict
from datetime import datetime
from typing import Any, Final

from rescheduler.controller.events.happenings import Happening

_MOST_KNOWN: Final = 2000
_QUIET_SECONDS: Final = 900.0
"""After which the same is told again. The API server keeps Events for an hour."""
_BURST: Final = 25.0
_REFILL_SECONDS: Final = 300.0
"""Of one object, as client-go has it: 25 at once, and one more every five minutes."""
_LONGEST_NAME: Final = 200

Body = dict[str, Any]


class Ledger:
    def __init__(self) -> None:
        self._told_at: OrderedDict[Happening, float] = OrderedDict()
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By UID: what is left, and when that was."""

    def admits(self, happening: Happening, now: float) -> bool:
        """Whether it is to be written; if so it counts as told."""
        told_at = self._told_at.get(happening)
        if told_at is not None and now - told_at < _QUIET_SECONDS:
            return False
        if not self._may_tell(happening.regarding.uid, now):
            return False
        self._told_at[happening] = now
        self._told_at.move_to_end(happening)
        _bound(self._told_at)
        return True

    def forget(self, happening: Happening) -> None:
        """It could not be written."""
        self._told_at.pop(happening, None)

    def _may_tell(self, uid: str, now: float) -> bool:
        left, since = self._tokens.get(uid, (_BURST, now))
        left = min(_BURST, left + (now - since) / _REFILL_SECONDS)
        self._tokens[uid] = (max(left - 1, 0.0) if left >= 1 else left, now)
        self._tokens.move_to_end(uid)
        _bound(self._tokens)
        return left >= 1


def body_of(happening: Happening, now: datetime) -> Body:
    regarding = happening.regarding
    # What is in no namespace has its Events in this one, as Kubernetes does it.
    namespace = regarding.namespace or "default"
    named = f"{regarding.uid}/{happening.reason}/{happening.message}/{now.isoformat()}"
    digest = hashlib.sha256(named.encode()).hexdigest()[:16]
    involved = {
        "apiVersion": regarding.api_version,
        "kind": regarding.kind,
        "name": regarding.name,
        "namespace": regarding.namespace or None,
        "uid": regarding.uid or None,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {
            "name": f"{regarding.name[:_LONGEST_NAME].rstrip('.-')}.{digest}",
            "namespace": namespace,
        },
        "involvedObject": {name: value for name, value in involved.items() if value},
        "type": happening.type,
        "reason": happening.reason,
        "message": happening.message,
        "source": {"component": "rescheduler"},
        "count": 1,
        "firstTimestamp": _rfc3339(now),
        "lastTimestamp": _rfc3339(now),
    }


def _rfc3339(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def _bound(kept: "OrderedDict[Any, Any]") -> None:
    while len(kept) > _MOST_KNOWN:
        kept.popitem(last=False)
