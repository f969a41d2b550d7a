"""ReschedulePlans as an API server takes them that has our resource definition installed."""

from operator import eq
from typing import Any, Final

from rescheduler.embedded.apiserver import refusals, schemas
from rescheduler.embedded.apiserver.definitions import Definition
from rescheduler.embedded.apiserver.refusals import FieldProblem

_LONGEST_NAME: Final = 63
SHORT_NAME: Final = "self.metadata.name.size() <= 63"
UNCHANGED: Final = "self == oldSelf"


def _problem_of(rule: schemas.Schema, _: str, value: Any) -> FieldProblem | None:  # noqa: ANN401
    is_long = len(value.get("metadata", {}).get("name") or "") > _LONGEST_NAME
    if rule["rule"] == SHORT_NAME and is_long:
        return refusals.invalid_value("<nil>", "object", rule["message"])
    return None


DEFINITION: Final = Definition(
    "plan-crd.yaml", unchanged=UNCHANGED, is_kept=eq, problem_of=_problem_of
)
