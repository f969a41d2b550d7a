"""What came of plans, as kubectl would print it: NAME first, AGE last. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from rescheduler.cli.render import documents
from rescheduler.cli.render.ages import age
from rescheduler.cli.render.layout import Page
from rescheduler.model import reschedule_plan
from rescheduler.model.reschedule_plan import Entry, Failing

_NONE: Final = "<none>"
_UNKNOWN: Final = "<unknown>"
_HEAD: Final = (
    "NAME",
    "ORIGIN",
    "STRATEGY",
    "MOVED",
    "FAILED",
    "IMBALANCE",
    "PREDICTED",
    "OBSERVED",
    "BOUNCES",
    "SUCCESS",
)
_WIDE: Final = ("RESOURCE", "PHASE", "VERDICT", "ENDED", "BY", "MESSAGE")


def as_table(entries: Iterable[Entry], page: Page, now: datetime, *, wide: bool) -> str:
    head = [*_HEAD, *(_WIDE if wide else ()), "AGE"]
    rows = [_row(each, now, wide=wide) for each in entries]
    return "\n".join(Page(plain=page.plain).table([head, *rows])) + "\n"


def as_names(entries: Iterable[Entry]) -> str:
    return "".join(f"rescheduleplan.rescheduler.io/{each.name}\n" for each in entries)


def as_document(entries: Sequence[Entry], failing: Mapping[str, Failing], form: str) -> str:
    document = {
        "apiVersion": reschedule_plan.API_VERSION,
        "kind": "PlanHistory",
        "items": [reschedule_plan.document_of(each) for each in entries],
        "failing": [
            {
                "strategy": each.strategy,
                "failed": each.failed,
                "of": each.of,
                "cause": each.cause.value,
                "message": str(each),
            }
            for each in failing.values()
        ],
    }
    return documents.as_text(document, form)


def _row(entry: Entry, now: datetime, *, wide: bool) -> list[str]:
    uneven = entry.most_uneven
    cells = [
        entry.name,
        entry.origin,
        ",".join(entry.strategies),
        f"{entry.moved}/{entry.moves}",
        str(entry.failed),
        uneven.before if uneven else "",
        uneven.predicted if uneven else "",
        (uneven.observed if uneven else "") or _UNKNOWN,
        _UNKNOWN if entry.bounces is None else str(entry.bounces),
        _UNKNOWN if entry.success is None else str(entry.success),
    ]
    if wide:
        cells += [
            uneven.resource if uneven else "",
            entry.phase.value,
            entry.verdict or _UNKNOWN,
            reschedule_plan.text_of(entry.ended) if entry.ended else _UNKNOWN,
            entry.by,
            entry.said or entry.message,
        ]
    cells.append(age(entry.created, now))
    return [each or _NONE for each in cells]
