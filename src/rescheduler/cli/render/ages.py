"""How long ago something was, as kubectl tells it. Pure."""

from datetime import datetime

_DAY, _HOUR, _MINUTE = 86400, 3600, 60


def age(since: datetime | None, now: datetime) -> str:
    """In one or two units: 12s, 5m, 3h, 2d."""
    if since is None:
        return "<unknown>"
    seconds = max(int((now - since).total_seconds()), 0)
    for unit, name in ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "m")):
        if seconds >= 2 * unit:
            return f"{seconds // unit}{name}"
    return f"{seconds}s"
