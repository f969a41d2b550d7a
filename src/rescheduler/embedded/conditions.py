"""Conditions in the status of an object: one of each type, and when it last became another."""

from collections.abc import Iterable, Mapping
from typing import Any

from rescheduler.kube import Object


def with_condition(
    known: Iterable[Mapping[str, Any]], condition: Mapping[str, Any], at: str
) -> list[Object]:
    """The same conditions with this one among them. The time of its last transition is `at` when
    its status is another than it was, else it stays.
    """
    made = [dict(each) for each in known]
    for place, each in enumerate(made):
        if each["type"] == condition["type"]:
            since = each.get("lastTransitionTime", at)
            is_another = each.get("status") != condition["status"]
            made[place] = {**condition, "lastTransitionTime": at if is_another else since}
            return made
    return [*made, {**condition, "lastTransitionTime": at}]
