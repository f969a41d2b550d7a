"""ReschedulePlans as an API server takes them that has our resource definition installed.

The definition is `plan-crd.yaml` of this package, the one that is installed on clusters. Its schema
is followed as it stands; of its rules, which are written in CEL, each has its meaning here.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Final

import yaml

from rescheduler.embedded.apiserver import refusals, schemas
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object

_LONGEST_NAME: Final = 63
SHORT_NAME: Final = "self.metadata.name.size() <= 63"
UNCHANGED: Final = "self == oldSelf"


@cache
def schema() -> schemas.Schema:
    """Of what stands in a ReschedulePlan beside its metadata."""
    text = resources.files("rescheduler").joinpath("plan-crd.yaml").read_text("utf-8")
    (version,) = yaml.safe_load(text)["spec"]["versions"]
    found: schemas.Schema = version["schema"]["openAPIV3Schema"]
    return found


def complete(item: Object) -> None:
    known = _known(item)
    for key in [key for key in item if key not in ("apiVersion", "kind", "metadata")]:
        del item[key]
    item.update(schemas.completed(schema(), known))


def problems_of(item: Object) -> list[FieldProblem]:
    # What is of the wrong shape is not looked into any further.
    return list(schemas.problems_of(schema(), _known(item), "")) or list(_of_rules(item))


def problems_of_change(before: Object, after: Object) -> Iterator[FieldProblem]:
    for rule, field, value in schemas.rules_of(schema(), after, ""):
        if rule["rule"] == UNCHANGED and (before.get(field) or {}) != value:
            yield refusals.forbidden_field(field, rule["message"])


def _known(item: Object) -> Object:
    return {key: value for key, value in item.items() if key in schema()["properties"]}


def _of_rules(item: Object) -> Iterator[FieldProblem]:
    for rule, _, value in schemas.rules_of(schema(), item, ""):
        is_long = len(value.get("metadata", {}).get("name") or "") > _LONGEST_NAME
        if rule["rule"] == SHORT_NAME and is_long:
            yield refusals.invalid_value("<nil>", "object", rule["message"])
