"""The way Surge: for pods of ReplicaSets of which there may be two for a while. Pure."""

from typing import Final

from rescheduler.migrate.deciding import two_or_none
from rescheduler.migrate.deciding.actions import End
from rescheduler.migrate.deciding.surge import rehearsing, surge, withholding
from rescheduler.migrate.deciding.way import NOT_FOR_IT, Case, Decider, Hindrance, copy_of
from rescheduler.model.podmigration import Way


def _why_not(case: Case) -> Hindrance | End | None:
    intent, replica_set = case.intent, case.view.replica_set
    if intent.owner is None:
        return NOT_FOR_IT
    if intent.owner.known_as != "ReplicaSet":
        return Hindrance(f"it is one of a {intent.owner.known_as}")
    if case.wanted not in (None, Way.SURGE):
        return NOT_FOR_IT
    if replica_set is None:
        return End.not_now("its ReplicaSet is gone")
    if not two_or_none.is_missed(intent, case.original):
        return Hindrance("it is not Ready")
    if hinders := withholding.why_no_surge(intent, case.view, case.original, replica_set):
        return Hindrance(hinders)
    known = rehearsing.of(case.progress, replica_set)
    refusal = known.refusal if known else None
    return Hindrance(refusal.message, refusal) if refusal else None


WAY: Final = Decider(
    way=Way.SURGE,
    why_not=_why_not,
    next_action=surge.next_action,
    new_pod=copy_of,
)
