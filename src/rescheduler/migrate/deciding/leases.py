"""What a pod tells karpenter that we chose to move to one of its nodes. Pure.

It removes any node whose pods have room elsewhere, soon after the last that came: then a pod that
was moved to spread load would be evicted a minute later. So the moved pod says for how long after
its start it is not to be disrupted. That ends by itself, whatever becomes of us.
"""

from collections.abc import Mapping

from rescheduler.documents import durations
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.model import names
from rescheduler.model.objects import Object, labels


def of(intent: Intent, target: Object | None, told: Mapping[str, str]) -> dict[str, str]:
    """As annotations. `told`: those that it has anyway; what a user says of it counts."""
    seconds = intent.settings.do_not_disrupt_seconds
    is_of_karpenter = target is not None and names.NODE_POOL in labels(target)
    if not seconds or intent.asked or not is_of_karpenter or names.DO_NOT_DISRUPT in told:
        return {}
    text = durations.format_nanoseconds(round(seconds * durations.SECOND))
    return {names.DO_NOT_DISRUPT: text, names.OWN_DO_NOT_DISRUPT: text}
