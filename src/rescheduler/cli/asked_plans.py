"""What a person asks for at once becomes a plan: told, written, and waited for."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rescheduler.cli.output import say_line, tell
from rescheduler.cli.progress import Progress
from rescheduler.clock import Clock
from rescheduler.config import Configuration

if TYPE_CHECKING:
    from rescheduler.controller.plans.asking import Judged
    from rescheduler.kube import KubeApi

_FAILED, _INTERRUPTED = 1, 130
_LOOK_AGAIN_SECONDS: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    by: str
    wait: bool = False
    seconds: float | None = None
    """For how long it is waited for; None: until the end."""
    dry_run: bool = False


async def asked_for(
    kube: "KubeApi", clock: Clock, configuration: Configuration, judged: "Judged", asked: Asked
) -> int:
    """The exit status. Raises Refused."""
    from rescheduler.controller.one_move import who_carries_it_out
    from rescheduler.controller.plans import asking, by_hand

    mode = " (dry run)" if asked.dry_run else ""
    for move in judged.moves:
        say_line(f"{move.full_name} {move.source} -> {move.target}{mode}")
    for name, why in judged.stay:
        say_line(f"{name} stays: {why}")
    if judged.body is None:
        say_line("nothing to move")
        return 0 if judged.are_there else _FAILED
    if asked.dry_run:
        return 0
    plan = dict(await asking.ask(kube, clock, judged.body))
    say_line(f"{by_hand.KIND}/{plan['metadata']['name']} created")
    tell(await who_carries_it_out(kube, configuration))
    if not asked.wait:
        return 0
    try:
        async with asyncio.timeout(asked.seconds):
            code = await _wait(kube, clock, plan)
    except (asyncio.CancelledError, TimeoutError) as problem:
        is_late = isinstance(problem, TimeoutError)
        words = "error: not done in time" if is_late else "interrupted"
        tell([f"{words}; it goes on: rescheduler get plans {plan['metadata']['name']} -o wide"])
        return _FAILED if is_late else _INTERRUPTED
    return code if judged.are_there else _FAILED


async def _wait(kube: "KubeApi", clock: Clock, plan: dict[str, Any]) -> int:
    from rescheduler.kube import errors
    from rescheduler.model import reschedule_plan
    from rescheduler.wire import RESCHEDULE_PLANS

    metadata, said = plan["metadata"], ""
    with Progress([f"carrying out {metadata['name']}"]) as bar:
        while True:
            try:
                found = await kube.get(RESCHEDULE_PLANS, metadata["namespace"], metadata["name"])
            except errors.NotFound:
                tell(["error: the plan was deleted: what has begun goes on, the rest does not"])
                return _FAILED
            if reschedule_plan.is_over(found):
                break
            moved, failed, skipped = reschedule_plan.counts_of(found)
            words = f"{moved} moved, {failed} failed, {skipped} not made"
            if words != said:
                said = words
                bar.say(words)
            await clock.sleep(_LOOK_AGAIN_SECONDS)
    return _told(found)


def _told(plan: Any) -> int:  # noqa: ANN401 - an object of the API
    from rescheduler.model import reschedule_plan
    from rescheduler.model.reschedule_plan import Reason, State

    progress = reschedule_plan.progress_of(plan)
    for move in reschedule_plan.moves_of(plan):
        known = progress.get(move.uid)
        if known is not None and known.state is not State.MOVED:
            why = ": ".join(filter(None, (known.reason, known.message)))
            tell([f"error: {move.full_name} not moved: {why}"])
    say_line(f"{reschedule_plan.phase_of(plan)}: {reschedule_plan.message_of(plan)}")
    return 0 if reschedule_plan.reason_of(plan) == Reason.ALL_MOVED else _FAILED
