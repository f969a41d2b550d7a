"""What was, and the settings in force. Pure."""

from collections.abc import Iterable

from rescheduler.config import single_settings
from rescheduler.model import plan_documents, podmigration, reschedule_plan
from rescheduler.model.objects import Object, spec
from rescheduler.model.podmigration import reasons
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.answers.migrations import seen
from rescheduler.serve.dashboard.answers.plans import observed
from rescheduler.serve.dashboard.documents.history import (
    History,
    PlanOutcome,
    Setting,
    Settings,
)

_MOST_PLANS = 200


def history(asked: Asked) -> History:
    view = asked.view
    moved, failed, gave_way = _counted(asked)
    ended = [each for each in view.plans.values() if reschedule_plan.phase_of(each).is_over]
    ended.sort(key=reschedule_plan.order_of, reverse=True)
    return History(
        points=list(view.points),
        plans=[_outcome(each, asked) for each in ended[:_MOST_PLANS]],
        moved=moved,
        failed=failed,
        gave_way=gave_way,
        bounces=_bounces(ended),
        success_percent=plan_documents.number(100 * moved / (moved + failed))
        if moved + failed
        else None,
    )


def _counted(asked: Asked) -> tuple[int, int, int]:
    """Moved, failed, and gave way to somebody else: of the records that are seen."""
    ended = [each for each in seen(asked) if podmigration.is_over(each)]
    why = [podmigration.reason_of(each) for each in ended if podmigration.has_failed(each)]
    gave_way = sum(each in reasons.GAVE_WAY for each in why)
    return len(ended) - len(why), len(why) - gave_way, gave_way


def _bounces(ended: Iterable[Object]) -> int | None:
    counted = [reschedule_plan.bounces_of(each) for each in ended]
    known = [each for each in counted if each is not None]
    return sum(known) if known else None


def _outcome(plan: Object, asked: Asked) -> PlanOutcome:
    moved, failed, skipped = reschedule_plan.counts_of(plan)
    return PlanOutcome(
        name=reschedule_plan.name_of(plan),
        ended_at=reschedule_plan.ended_at(plan),
        phase=reschedule_plan.phase_of(plan).value,
        reason=reschedule_plan.reason_of(plan),
        total=reschedule_plan.size_of(plan),
        moved=moved,
        failed=failed,
        skipped=skipped,
        predicted={
            str(each.get("resource")): {
                name: _figure(each.get(name)) for name in ("before", "after")
            }
            for each in spec(plan).get("imbalance") or ()
        },
        observed=observed(plan, asked),
    )


def _figure(said: object) -> float | None:
    try:
        return plan_documents.number(float(str(said)))
    except ValueError:
        return None


def settings(asked: Asked) -> Settings:
    view, words = asked.view, asked.words
    waiting = set(view.needs_restart)
    return Settings(
        items=[
            Setting(
                path=path,
                # Lists may name namespaces that whoever looks may not see.
                value=words.within(value),
                source=view.sources.get(path, "default"),
                needs_restart=path in waiting,
            )
            for path, value in single_settings(view.configuration)
        ],
        file_error=words(view.file_error),
        command="rescheduler config show",
    )
