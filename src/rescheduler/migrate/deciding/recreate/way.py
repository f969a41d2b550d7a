"""The way Recreate: for pods of which there must not be two, and that are made anew. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from rescheduler.migrate.deciding import two_or_none
from rescheduler.migrate.deciding.actions import End
from rescheduler.migrate.deciding.facts import Intent, View
from rescheduler.migrate.deciding.recreate import replacing, steering
from rescheduler.migrate.deciding.way import NOT_FOR_IT, Case, Decider, Hindrance
from rescheduler.model.podmigration import Way


def _why_not(case: Case) -> Hindrance | End | None:
    if case.wanted not in (None, Way.RECREATE):
        return NOT_FOR_IT
    if case.intent.owner is None:
        return End.never("it cannot be evicted: nobody would make it anew")
    may_end_first = case.intent.may_recreate or not two_or_none.is_missed(
        case.intent, case.original
    )
    return None if case.wanted or may_end_first else NOT_FOR_IT


def _first_note(intent: Intent, view: View) -> Mapping[str, Any]:
    is_unready = view.original is not None and not two_or_none.is_missed(intent, view.original)
    return {"unready": True} if is_unready else {}


WAY: Final = Decider(
    way=Way.RECREATE,
    why_not=_why_not,
    next_action=steering.next_action,
    new_pod=replacing.replacement,
    first_note=_first_note,
    reads_its_end=True,
)
