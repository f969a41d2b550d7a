"""`rescheduler get plans`: the plans, as kubectl would print them."""

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
  # Which wait for somebody's word, which run, and what came of the others
  rescheduler get plans

  # Also how they stand in words, who approved them, and what they are for
  rescheduler get plans -o wide

  # One of them, with every move and what came of it
  rescheduler get plans PLAN -o yaml"""

_FAILED: Final = 1


def plans(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Only these.")] = None,
    *,
    output: Form = "table",
    reach: Reach,
) -> None:
    """List plans: how many moves each has, how they stand, and what they wait for.

    They are kept in the namespace of the Lease, kube-system by default.

    Exit status: 0, also when there is none; 1 for an error, or when one that is
    named is not there; 2 for wrong usage.
    """
    given_names.insist_on_plans("NAME", names or ())
    configuration, connect = reach.cluster()
    listing = listed(configuration, connect, SystemClock(), names=names or (), form=output)
    raise typer.Exit(asyncio.run(listing))


async def listed(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    *,
    names: Sequence[str] = (),
    form: str = "table",
) -> int:
    """The exit status."""
    from rescheduler.cli.render import reschedule_plan_tables as tables
    from rescheduler.controller.plans import by_hand

    names = [*map(by_hand.plain, names)]
    namespace = configuration.leader_election.resource_namespace
    async with connect() as kube:
        known = [dict(each) for each in await by_hand.read(kube, namespace)]
    structlog.get_logger().info("plans read", namespace=namespace, number=len(known))
    found = [each for each in known if not names or each["metadata"]["name"] in names]
    there = [each["metadata"]["name"] for each in known]
    missing = [each for each in names if each not in there]
    if form in ("json", "yaml"):
        if found or not names:
            is_one = len(names) == 1 and len(found) == 1
            say(tables.as_document(found, form, is_one=is_one))
    elif form == "name":
        say(tables.as_names(found))
    elif found:
        say(tables.as_table(found, page(), clock.now(), wide=form == "wide"))
    elif not names:
        tell([f"No resources found in {namespace} namespace."])
    tell(f"error: {by_hand.not_found(each, there)}" for each in missing)
    return _FAILED if missing else 0
