"""Whatever a plan leaves where it is: why, and what would have to change."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rescheduler.config import Configuration
from rescheduler.model.moves import Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.desk import Desk
from rescheduler.plan.explaining import Help, what_would_help
from rescheduler.plan.whatif import Remedy

ASKED_ABOUT: Final = 15
"""Groups of pods for one of which it is found out what would have to change, the largest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Staying:
    """Pods that stay for the same reasons."""

    pods: tuple[str, ...]
    reasons: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    """Of the first of them. None: nothing holds it but that other moves help more, nothing that is
    known would help, or nobody asked.
    """
    nothing_helps: str
    """Why there is none, in words; empty: there is, or nobody asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanExplanation:
    plan: Plan
    staying: tuple[Staying, ...]
    """The most pods first."""
    asked_about: int


def explain_plan(
    snapshot: Snapshot,
    configuration: Configuration,
    decided: Plan,
    *,
    asked_about: int = ASKED_ABOUT,
) -> PlanExplanation:
    """`decided` is the plan of the same snapshot and configuration."""
    return PlanExplanation(
        plan=decided,
        staying=tuple(_staying(Desk(snapshot, configuration), decided, asked_about)),
        asked_about=asked_about,
    )


def _staying(desk: Desk, decided: Plan, asked_about: int) -> Iterable[Staying]:
    groups: dict[tuple[str, ...], list[str]] = {}
    for each in decided.refusals:
        groups.setdefault(each.reasons, []).append(each.full_name)
    rows = {desk.name(row): row for row in desk.snapshot.rows.tolist()}
    emptied = {each.node for each in decided.emptying}
    ordered = sorted(groups, key=lambda reasons: (-len(groups[reasons]), reasons))
    for place, reasons in enumerate(ordered):
        pods = groups[reasons]
        found = Help()
        if place < asked_about:
            row = rows[pods[0]]
            node = desk.nodes[int(desk.placement.place[row])].name
            found = what_would_help(desk, row, asked=node in emptied)
        yield Staying(
            pods=tuple(pods),
            reasons=reasons,
            remedies=found.remedies,
            nothing_helps=found.nothing_helps,
        )
