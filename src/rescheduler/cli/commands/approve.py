"""`rescheduler approve` and `rescheduler reject`: somebody's word on a plan."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Final

import typer

from rescheduler import config
from rescheduler.cli import given_names
from rescheduler.cli.clusters import Reach
from rescheduler.cli.ourselves import ourselves
from rescheduler.cli.output import say_line, tell
from rescheduler.clock import Clock, SystemClock

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect

EXAMPLES: Final = """Examples:
  # Look at it, then say yes
  rescheduler get plans PLAN -o yaml
  rescheduler approve PLAN

  # By hand, without this program
  kubectl -n kube-system annotate rplan PLAN rescheduler.io/approval=approved"""
EXAMPLES_OF_REJECT: Final = """Examples:
  # Its pods are not proposed again before plans.expireAfter is over
  rescheduler reject PLAN

  # By hand, without this program
  kubectl -n kube-system annotate rplan PLAN rescheduler.io/approval=rejected"""

Name = Annotated[str, typer.Argument(metavar="PLAN", help="Name of the ReschedulePlan.")]
By = Annotated[
    str, typer.Option(metavar="NAME", help="Who says so. Default: your user name and machine.")
]


def approve(
    name: Name,
    *,
    by: By = "",
    reach: Reach,
) -> None:
    """Say yes to a plan, which is carried out then.

    Each of its moves is judged anew when its turn comes; what does not hold any
    more is not made, and the plan says why. It is an annotation on the plan
    (rescheduler.io/approval), which whoever leads takes up within seconds.

    Exit status: 0 when it is approved, also if it was before; 1 when it cannot be
    any more (it has expired, was superseded or rejected, or is running) or is not
    there; 2 for wrong usage.
    """
    _say("approved", name, by, reach)


def reject(
    name: Name,
    *,
    by: By = "",
    reach: Reach,
) -> None:
    """Say no to a plan: nothing of it is moved.

    Nor is it proposed again at once: its pods rest until plans.expireAfter is over.

    Exit status: 0 when it is rejected, also if it was before; 1 when it cannot be
    any more (it has expired, was superseded, or has begun) or is not there; 2 for
    wrong usage.
    """
    _say("rejected", name, by, reach)


def _say(what: str, name: str, by: str, reach: Reach) -> None:
    given_names.insist_on_plans("PLAN", [name])
    configuration, connect = reach.cluster()
    saying = said(configuration, connect, SystemClock(), name, what=what, by=by or ourselves())
    raise typer.Exit(asyncio.run(saying))


async def said(
    configuration: config.Configuration,
    connect: "Connect",
    clock: Clock,
    name: str,
    *,
    what: str,
    by: str,
) -> int:
    """The exit status. Raises CannotDecide."""
    from rescheduler.controller.one_move import who_carries_it_out
    from rescheduler.controller.plans import by_hand
    from rescheduler.model.reschedule_plan import Decision

    decision = Decision(what)
    name = by_hand.plain(name)
    namespace = configuration.leader_election.resource_namespace
    async with connect() as kube:
        is_news = await by_hand.decide(kube, clock, namespace, name, decision, by)
        say_line(f"{by_hand.KIND}/{name} {what if is_news else f'unchanged: already {what}'}")
        if decision is Decision.APPROVED:
            tell(await who_carries_it_out(kube, configuration))
    return 0
