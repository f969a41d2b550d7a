"""ReschedulePlans as kubectl would print them: NAME first, AGE last. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from rescheduler.cli.render import documents
from rescheduler.cli.render.ages import age
from rescheduler.cli.render.layout import Page
from rescheduler.model import reschedule_plan

Plan = dict[str, Any]

_NONE: Final = "<none>"
_HEAD: Final = (
    "NAME",
    "ORIGIN",
    "MODE",
    "MOVES",
    "MOVED",
    "FAILED",
    "SKIPPED",
    "PHASE",
    "REASON",
)
_WIDE: Final = ("MESSAGE", "BY", "OBSERVED", "BOUNCES", "SUMMARY")


def as_table(plans: Iterable[Plan], page: Page, now: datetime, *, wide: bool) -> str:
    head = [*_HEAD, *(_WIDE if wide else ()), "AGE"]
    rows = [_row(each, now, wide=wide) for each in plans]
    # Whole, as kubectl has them: names are copied from here.
    return "\n".join(Page(plain=page.plain).table([head, *rows])) + "\n"


def as_names(plans: Iterable[Plan]) -> str:
    names = (reschedule_plan.name_of(each) for each in plans)
    return "".join(f"rescheduleplan.rescheduler.io/{each}\n" for each in names)


def as_document(plans: Sequence[Plan], form: str, *, is_one: bool) -> str:
    types = {"apiVersion": reschedule_plan.API_VERSION, "kind": reschedule_plan.KIND}
    typed = [{**types, **each} for each in plans]
    if is_one:
        return documents.as_text(typed[0], form)
    return documents.as_list({"apiVersion": "v1", "kind": "List", "metadata": {}}, typed, form)


def _row(plan: Plan, now: datetime, *, wide: bool) -> list[str]:
    moved, failed, skipped = reschedule_plan.counts_of(plan)
    cells = [
        reschedule_plan.name_of(plan),
        reschedule_plan.origin_of(plan).value,
        reschedule_plan.mode_of(plan),
        str(reschedule_plan.size_of(plan)),
        str(moved),
        str(failed),
        str(skipped),
        reschedule_plan.phase_of(plan).value,
        reschedule_plan.reason_of(plan),
    ]
    if wide:
        by = reschedule_plan.approved_by(plan) or reschedule_plan.decided_by(plan)
        bounces = reschedule_plan.bounces_of(plan)
        cells += [
            reschedule_plan.message_of(plan),
            by,
            reschedule_plan.verdict_of(plan),
            "" if bounces is None else str(bounces),
            reschedule_plan.summary_of(plan),
        ]
    cells.append(age(reschedule_plan.created_at(plan), now))
    return [each or _NONE for each in cells]
