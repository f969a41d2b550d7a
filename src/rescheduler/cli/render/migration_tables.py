"""PodMigrations as kubectl would print them: NAME first, AGE last. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Final

from rescheduler.cli.render import documents
from rescheduler.cli.render.ages import age
from rescheduler.cli.render.layout import Page
from rescheduler.model import podmigration

Record = dict[str, Any]

_NONE: Final = "<none>"
_HEAD: Final = ("NAME", "POD", "FROM", "TO", "WAY", "PHASE", "STEP", "REASON")
_WIDE: Final = ("STRATEGY", "WHY", "NEW-POD", "MESSAGE")


def as_table(
    records: Iterable[Record], page: Page, now: datetime, *, wide: bool, everywhere: bool
) -> str:
    head = [*(["NAMESPACE"] if everywhere else []), *_HEAD, *(_WIDE if wide else ()), "AGE"]
    rows = [_row(each, now, wide=wide, everywhere=everywhere) for each in records]
    # Whole, as kubectl has them: names are copied from here.
    return "\n".join(Page(plain=page.plain).table([head, *rows])) + "\n"


def as_names(records: Iterable[Record]) -> str:
    return "".join(f"podmigration.rescheduler.io/{each['metadata']['name']}\n" for each in records)


def as_document(records: Sequence[Record], form: str, *, is_one: bool) -> str:
    typed = [
        {"apiVersion": podmigration.API_VERSION, "kind": podmigration.KIND, **each}
        for each in records
    ]
    listed = {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": typed}
    return documents.as_text(typed[0] if is_one else listed, form)


def _row(record: Record, now: datetime, *, wide: bool, everywhere: bool) -> list[str]:
    metadata, status = record["metadata"], podmigration.status_of(record)
    cells = [
        *([metadata["namespace"]] if everywhere else []),
        metadata["name"],
        podmigration.pod_name(record),
        podmigration.source_of(record),
        "<to be chosen>"
        if podmigration.waits_for_target(record)
        else podmigration.target_of(record),
        status.get("way"),
        podmigration.phase_of(record).value,
        status.get("step"),
        podmigration.reason_of(record),
    ]
    if wide:
        why = podmigration.why_of(record)
        new = podmigration.new_pod_of(record).get("name")
        cells += [podmigration.strategy_of(record), why, new, podmigration.message_of(record)]
    cells.append(age(podmigration.created_at(record), now))
    return [str(each or _NONE) for each in cells]
