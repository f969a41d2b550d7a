"""How long a migration waits for what. Pure.

From its beginning, unless it is said otherwise; a process that takes it up later counts anew.
"""

from typing import Final

from rescheduler.config import Migration
from rescheduler.documents.durations import SECOND, parse_nanoseconds
from rescheduler.migrate.deciding.actions import Action, End, Write
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations

_USUAL_GRACE_SECONDS: Final = 30
"""The API server says it of every pod."""


def grace(pod: Object, limits: Migration) -> int:
    own: int = pod["spec"].get("terminationGracePeriodSeconds") or 0
    return max(limits.eviction_grace_period_seconds, own)


def linger(pod: Object, limits: Migration) -> float:
    """How long it finishes what it has, before it is told to end: no longer than it would get for
    that afterwards.
    """
    own: float = pod["spec"].get("terminationGracePeriodSeconds", _USUAL_GRACE_SECONDS)
    try:
        told = parse_nanoseconds(annotations(pod).get(names.LINGER, "")) / SECOND
    except ValueError:
        told = limits.linger_seconds
    return max(0.0, min(told, own))


def settling(intent: Intent, view: View) -> float:
    """How long a copy has to be Ready before it counts as serving."""
    spec = (view.replica_set or {}).get("spec") or {}
    own: float = spec.get("minReadySeconds") or 0
    return own + intent.settings.settle_seconds


def time_to_create(intent: Intent) -> float:
    """Also for siblings that are moved just now, and for an API server in trouble."""
    return intent.settings.ready_timeout_seconds + intent.settings.budget_timeout_seconds


def time_to_serve(intent: Intent, view: View) -> float:
    """From when there is a copy."""
    return intent.settings.ready_timeout_seconds + settling(intent, view)


def time_to_hand_over(intent: Intent, view: View) -> float:
    """From when there is a copy."""
    in_a_group = intent.settings.ready_timeout_seconds if intent.group else 0.0
    return time_to_serve(intent, view) + in_a_group + intent.settings.budget_timeout_seconds


def prepared_seconds(intent: Intent, view: View, progress: Progress) -> float:
    """Since when there is a copy, less what originals were given to finish what they have: neither
    the copy nor the API server is to blame for that.
    """
    return progress.preparing_seconds - min(progress.lingering_seconds, _lingering(intent, view))


def _lingering(intent: Intent, view: View) -> float:
    """At most: its own, and that of a sibling that began later, each twice if given back."""
    return 4 * linger(view.original, intent.settings) if view.original else 0.0


def to_the_end(pod: Object, intent: Intent, view: View) -> float:
    """How long a pod that was told to end, or should be, is waited for."""
    hand_over = time_to_create(intent) + time_to_hand_over(intent, view) + _lingering(intent, view)
    return hand_over + intent.settings.ready_timeout_seconds + grace(pod, intent.settings)


def for_writes(pod: Object, intent: Intent, view: View) -> float:
    """A webhook that is down, a right that was taken away: a write can fail for ever."""
    return to_the_end(pod, intent, view) + intent.settings.ready_timeout_seconds


def in_time(action: Action, intent: Intent, view: View, progress: Progress) -> Action:
    """The action, unless it is a write that was due long ago: then the next run goes on."""
    pod = view.original or view.copy
    if not pod or not isinstance(action, Write):
        return action
    if progress.here_seconds <= for_writes(pod, intent, view):
        return action
    return End.not_finished()
