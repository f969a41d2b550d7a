"""What a migration does next: in which way the pod is moved, and what that way does. Pure."""

from dataclasses import replace
from importlib import import_module
from typing import Final

from rescheduler.config.migration import AUTO, BY_NAME
from rescheduler.migrate.deciding import groups
from rescheduler.migrate.deciding.actions import Action, End, Rehearse
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.way import Case, Decider
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations, is_terminating
from rescheduler.model.podmigration import Reason, Way


def _decider(way: Way) -> Decider:
    found: Decider = import_module(f"{__package__}.{way.lower()}.way").WAY
    return found


WAYS: Final = {way: _decider(way) for way in Way}
"""Of those that a pod can move by, it moves by the first. `Surge` is in `surge/way.py`."""


def decide(intent: Intent, view: View, progress: Progress) -> Action:
    if progress.way:
        action = WAYS[progress.way].next_action(intent, view, progress)
        return _forward(intent, view, action)
    # The way is written down before the first write: nothing has been done yet.
    if progress.giving_up:
        return End(progress.giving_up)
    if incomplete := groups.why_incomplete(intent, view):
        return End.because(Reason.GROUP_FAILED, incomplete)
    chosen = choose(intent, view, progress)
    if isinstance(chosen, End):
        return chosen
    way = WAYS[chosen]
    noted = way.first_note(intent, view)
    action = way.next_action(intent, view, replace(progress, **noted))
    if isinstance(action, Rehearse):
        return action  # its answer decides which way it is
    return replace(action, note={"way": chosen, **noted, **action.note})


def _forward(intent: Intent, view: View, action: Action) -> Action:
    """What a watch has not told yet is no way back: the record would say that nobody has left."""
    recorded = groups.own_step(intent, view)
    is_back = recorded.is_after_eviction and action.step.is_before_the_end
    return replace(action, step=recorded) if is_back and not view.is_live else action


# ---------------------------------------------------------------------- the way


def choose(intent: Intent, view: View, progress: Progress) -> Way | End:
    """Planning has chosen from its snapshot; the live objects have the last word."""
    original = view.original
    if original is None:
        return End.not_now("the pod is gone")
    if is_terminating(original):
        return End.not_now("the pod is terminating")
    if names.MIRROR_POD in annotations(original):
        return End.never("it is a static pod")
    wanted = _wanted(intent, original)
    if isinstance(wanted, End):
        return wanted
    match intent.owner.known_as if intent.owner else "":
        case "DaemonSet":
            return End.never("it belongs to a DaemonSet")
        case "Node":
            return End.never("it is a static pod")
    return _first_that_takes_it(
        Case(intent=intent, view=view, original=original, progress=progress, wanted=wanted)
    )


def _first_that_takes_it(case: Case) -> Way | End:
    found: End | None = None
    for each in WAYS.values():
        hinders = each.why_not(case)
        if hinders is None:
            return each.way
        if isinstance(hinders, End):
            found = hinders
            break
        if hinders.words:
            case = replace(case, hindrance=hinders)
    if case.hindrance.outcome:
        return End(case.hindrance.outcome)
    asked = f", and {case.wanted} is asked for" if case.wanted else ""
    return found or End.never(f"its move would recreate it{asked}: {case.hindrance.words}")


def _wanted(intent: Intent, original: Object) -> Way | End | None:
    """What the record, the pod or the configuration asks for; None: whichever is right."""
    if intent.way:
        return intent.way
    told = annotations(original).get(names.WAY, "")
    if told and told not in BY_NAME:
        choices = " or ".join(BY_NAME)
        return End.never(f"its annotation {names.WAY} is {told!r}: it can be {choices}")
    if told:
        return Way(told)
    if intent.settings.way == AUTO:
        return None
    wanted = Way(intent.settings.way)
    # A setting by which originals go first is about pods that are made anew.
    return wanted if intent.owner or wanted.makes_a_copy else None
