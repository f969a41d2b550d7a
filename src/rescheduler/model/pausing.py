"""A pause, as it stands on the Lease: since when, by whom, and why. Pure.

On the Lease, because whoever leads reads it every other second anyway, and nobody leads without
having read it. Written by `rescheduler pause`, or by hand with `kubectl annotate`.
"""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from rescheduler.model.names import PAUSED, PAUSED_BY, PAUSED_SINCE
from rescheduler.model.objects import Object

_NOT_PAUSED: Final = ("", "false")
_NO_REASON: Final = "true"
"""As people write an annotation that has nothing more to say."""
_LONGEST: Final = 300
_KEYS: Final = (PAUSED, PAUSED_SINCE, PAUSED_BY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    since: datetime | None = None
    """None: by hand, and nobody wrote down when."""
    by: str = ""
    reason: str = ""

    def __str__(self) -> str:
        since = f" since {self.since:%Y-%m-%dT%H:%M:%SZ}" if self.since else ""
        by = f" by {self.by}" if self.by else ""
        return f"paused{since}{by}{f': {self.reason}' if self.reason else ''}"


def pause_of(annotations: Mapping[str, str]) -> Pause | None:
    """Any value but "false" pauses: who cannot be understood is on the safe side."""
    said = _one_line(annotations.get(PAUSED, ""))
    if said.lower() in _NOT_PAUSED:
        return None
    return Pause(
        since=_time(annotations.get(PAUSED_SINCE, "")),
        by=_one_line(annotations.get(PAUSED_BY, "")),
        reason="" if said.lower() == _NO_REASON else said,
    )


def paused(lease: Object, pause: Pause) -> Object:
    """The same lease, and the pause on it."""
    says_no = _one_line(pause.reason).lower() in _NOT_PAUSED
    said = {
        # Who gives a blank as his reason, or "false", wants it paused all the same.
        PAUSED: _NO_REASON if says_no else pause.reason,
        PAUSED_SINCE: pause.since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        if pause.since
        else "",
        PAUSED_BY: pause.by,
    }
    return _annotated(lease, {key: value for key, value in said.items() if value})


def resumed(lease: Object) -> Object:
    return _annotated(lease, {})


def annotations_of(lease: Object | None) -> Mapping[str, str]:
    return ((lease or {}).get("metadata") or {}).get("annotations") or {}


def _annotated(lease: Object, ours: Mapping[str, str]) -> Object:
    others = {key: value for key, value in annotations_of(lease).items() if key not in _KEYS}
    return {**lease, "metadata": {**lease["metadata"], "annotations": {**others, **ours}}}


def _one_line(text: str) -> str:
    """It stands in errors, log lines and Events; what anybody wrote there may be a page long."""
    return textwrap.shorten(text, _LONGEST, placeholder=" ...")


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
