"""The way Copy: for pods that nobody controls. Pure."""

from typing import Final

from rescheduler.migrate.deciding import two_or_none
from rescheduler.migrate.deciding.actions import End
from rescheduler.migrate.deciding.copy import copying
from rescheduler.migrate.deciding.way import NOT_FOR_IT, Case, Decider, Hindrance, copy_of
from rescheduler.model.objects import Object, owners
from rescheduler.model.podmigration import Way


def _why_not(case: Case) -> Hindrance | End | None:
    intent, original = case.intent, case.original
    if intent.owner is not None:
        is_wanted = case.wanted is Way.COPY
        only = "only pods that nobody controls are copied"
        return End.never(only) if is_wanted else NOT_FOR_IT
    # Surge is what people ask for: with a pod that nobody controls, this is it.
    if case.wanted not in (None, Way.SURGE, Way.COPY):
        return NOT_FOR_IT
    if others := [each["kind"] for each in owners(original)]:
        return End.never(f"it is owned, without being controlled, by a {others[0]}")
    if exclusive := two_or_none.why_volumes_are_exclusive(case.view, original):
        return End.never(exclusive)
    hinders = _why_its_work_would_begin_anew(original)
    may_begin_anew = intent.may_recreate or intent.asked
    return End.never(hinders) if hinders and not may_begin_anew else None


def _why_its_work_would_begin_anew(original: Object) -> str:
    restarts = original["spec"].get("restartPolicy") or "Always"
    if restarts != "Always":
        return f"its restartPolicy is {restarts}, so its work would be done twice"
    if original["spec"].get("activeDeadlineSeconds") is not None:
        return "it has activeDeadlineSeconds, which would begin anew"
    return ""


WAY: Final = Decider(
    way=Way.COPY,
    why_not=_why_not,
    next_action=copying.next_action,
    new_pod=copy_of,
)
