"""What is kept in memory of plans that have ended: there may be many, each with many moves."""

from collections.abc import Mapping
from typing import Any, Final

from rescheduler.model.objects import Object, spec
from rescheduler.model.reschedule_plan import fields
from rescheduler.model.reschedule_plan.observing import awaits_bounces, awaits_loads
from rescheduler.model.reschedule_plan.phases import Phase

_STANDS: Final = ("phase", "reason", "completionTime", "moved", "conditions")
_PREDICTED: Final = ("decidedAt", "loads", "imbalance", "nodes", "others")


def remains_of(plan: Object) -> Object:
    """What has to be known of it from now on. Of one that has ended what it was about is needed
    until it is known what came of it; then which pods it made, for as long as they may move again.
    """
    if not fields.phase_of(plan).is_over:
        return plan
    said, status = spec(plan), fields.status_of_plan(plan)
    kept = {key: said[key] for key in ("origin", "undoes") if key in said}
    stands = {key: status[key] for key in _STANDS if key in status}
    if fields.phase_of(plan) is Phase.REJECTED:
        kept["moves"] = [{"uid": each} for each in sorted(fields.uids_of(plan))]
    if awaits_loads(plan):
        kept |= {key: said[key] for key in _PREDICTED if key in said}
        kept["moves"] = [_without(each, "reason") for each in said.get("moves") or ()]
        stands["moves"] = [_without(each, "message") for each in status.get("moves") or ()]
    elif awaits_bounces(plan):
        stands["moves"] = [
            {"uid": each["uid"], "successor": {"uid": each["successor"]["uid"]}}
            for each in status.get("moves") or ()
            if (each.get("successor") or {}).get("uid")
        ]
    if observed := fields.observed_of(plan):
        stands["observed"] = _without(observed, "nodes")
    metadata = _without(plan["metadata"], "managedFields")
    return {**plan, "metadata": metadata, "spec": kept, "status": stands}


def _without(document: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in names}
