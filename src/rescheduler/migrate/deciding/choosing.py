"""In which way a pod is moved, by what the cluster shows now. Pure.

Planning has chosen from its snapshot; the live objects have the last word.
"""

from dataclasses import replace

from rescheduler.config.migration import AUTO, BY_NAME
from rescheduler.migrate.deciding import verdicts, ways
from rescheduler.migrate.deciding.actions import End
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.way import Case
from rescheduler.model import names
from rescheduler.model.objects import Object, annotations, is_terminating
from rescheduler.model.podmigration import Way


def choose(intent: Intent, view: View, progress: Progress) -> Way | End:
    original = view.original
    if original is None:
        return verdicts.not_now("the pod is gone")
    if is_terminating(original):
        return verdicts.not_now("the pod is terminating")
    if names.MIRROR_POD in annotations(original):
        return verdicts.never("it is a static pod")
    wanted = _wanted(intent, original)
    if isinstance(wanted, End):
        return wanted
    match intent.owner.known_as if intent.owner else "":
        case "DaemonSet":
            return verdicts.never("it belongs to a DaemonSet")
        case "Node":
            return verdicts.never("it is a static pod")
    return _first_that_takes_it(
        Case(intent=intent, view=view, original=original, progress=progress, wanted=wanted)
    )


def _first_that_takes_it(case: Case) -> Way | End:
    found: End | None = None
    for each in ways.IN_ORDER:
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
    return found or verdicts.never(f"its move would recreate it{asked}: {case.hindrance.words}")


def _wanted(intent: Intent, original: Object) -> Way | End | None:
    """What the record, the pod or the configuration asks for; None: whichever is right."""
    if intent.way:
        return intent.way
    told = annotations(original).get(names.WAY, "")
    if told and told not in BY_NAME:
        choices = " or ".join(BY_NAME)
        return verdicts.never(f"its annotation {names.WAY} is {told!r}: it can be {choices}")
    if told:
        return Way(told)
    if intent.settings.way == AUTO:
        return None
    wanted = Way(intent.settings.way)
    # A setting by which originals go first is about pods that are made anew.
    return wanted if intent.owner or wanted.makes_a_copy else None
