"""`rescheduler history`: what came of the plans that were carried out."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import structlog
import typer

from rescheduler import config
from rescheduler.cli import given_names
from rescheduler.cli.clusters import Reach
from rescheduler.cli.commands.get import Form
from rescheduler.cli.output import page, say, tell
from rescheduler.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # What was moved, and whether the cluster became as even as was said
  rescheduler history

  # Also why not, who approved them, and those that were not carried out
  rescheduler history --all -o wide

  # For machines
  rescheduler history -o json"""

_FAILED: Final = 1


def history(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these.")] = None,
    *,
    everything: Annotated[
        bool, typer.Option("--all", help="Also plans that were rejected, expired or superseded.")
    ] = False,
    output: Form = "table",
    reach: Reach,
) -> None:
    """List plans that are over: what was moved, and whether it helped as predicted.

    IMBALANCE is that of the most uneven resource before the plan, in points;
    PREDICTED what the plan promised, OBSERVED what was measured after its end.
    BOUNCES are pods that moved again within an hour. SUCCESS is True when every
    move was made, loads came as predicted and no pod moved again.

    Exit status: 0, also when there is none; 1 for an error, or when one that is
    named is not there; 2 for wrong usage.
    """
    given_names.insist_on_plans("NAME", names or ())
    configuration, connect = reach.cluster()
    listing = listed(
        configuration,
        connect,
        SystemClock(),
        names=names or (),
        completed_only=not everything,
        form=output,
    )
    raise typer.Exit(asyncio.run(listing))


async def listed(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    *,
    names: Sequence[str] = (),
    completed_only: bool = True,
    form: str = "table",
) -> int:
    """The exit status."""
    from rescheduler.cli.render import history_tables as tables
    from rescheduler.controller.plans import by_hand
    from rescheduler.model import reschedule_plan

    names = [*map(by_hand.plain, names)]
    namespace = configuration.leader_election.resource_namespace
    async with connect() as kube:
        plans = await by_hand.read(kube, namespace)
    structlog.get_logger().info("plans read", namespace=namespace, number=len(plans))
    known = reschedule_plan.history(plans, completed_only=completed_only and not names)
    found = [each for each in known if not names or each.name in names]
    phases = {reschedule_plan.name_of(each): reschedule_plan.phase_of(each) for each in plans}
    there = [each.name for each in known]
    missing = [each for each in names if each not in there]
    failing = reschedule_plan.failing(plans)
    if form in ("json", "yaml"):
        say(tables.as_document(found, failing, form))
    elif form == "name":
        say(tables.as_names(found))
    elif found:
        say(tables.as_table(found, page(), clock.now(), wide=form == "wide"))
    elif not names:
        tell([f"No resources found in {namespace} namespace."])
    if form in ("table", "wide"):
        tell(f"warning: {each}" for each in failing.values())
    for each in missing:
        why = by_hand.not_found(each, there)
        if each in phases:
            why = f"plan {each} is {phases[each]}, and not over yet: rescheduler get plans {each}"
        tell([f"error: {why}"])
    return _FAILED if missing else 0
