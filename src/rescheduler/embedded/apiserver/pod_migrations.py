"""PodMigrations as an API server takes them that has our resource definition installed.

The definition is `crd.yaml` of this package, the one that is installed on clusters. Its schema is
followed as it stands; of its rules, which are written in CEL, each has its meaning here.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Final

import yaml

from rescheduler.embedded.apiserver import refusals, schemas
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object

_LONGEST_NAME: Final = 63
_DURATION: Final = re.compile(r"(0|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)")
NEEDED: Final = ("pod", "source")
OPTIONAL: Final = (
    "strategy",
    "reason",
    "asked",
    "forced",
    "attempt",
    "way",
    "mayRecreate",
    "group",
    "settings",
)
"""All of a spec but the target. CEL has to name them, and to ask whether they are there."""
UNCHANGED: Final = " && ".join(
    (
        "self == oldSelf || !has(oldSelf.target)",
        *(f"self.{each} == oldSelf.{each}" for each in NEEDED),
        *(
            f"has(self.{each}) == has(oldSelf.{each}) && "
            f"(!has(self.{each}) || self.{each} == oldSelf.{each})"
            for each in OPTIONAL
        ),
    )
)


@dataclass(frozen=True, slots=True)
class _Rule:
    holds: Callable[[Any], bool]
    message: Callable[[Any], str] | None = None
    """Its messageExpression, if it has one."""


RULES: Final = {
    "self.metadata.name.size() <= 63": _Rule(
        lambda item: len(item["metadata"].get("name") or "") <= _LONGEST_NAME
    ),
    "!has(self.target) || self.source != self.target": _Rule(
        lambda spec: spec["source"] != spec.get("target"),
        lambda spec: (
            f"the pod is to leave the node {spec['source']}, so the target must be another node"
        ),
    ),
    "has(self.uid) && self.uid != ''": _Rule(
        lambda pod: bool(pod.get("uid")),
        lambda pod: (
            "is needed, so that no later pod of the same name is moved; the command that prints "
            f"it: kubectl get pod {pod['name']} -o jsonpath={{.metadata.uid}}"
        ),
    ),
    "self.matches('^(0|([0-9]+([.][0-9]+)?(ns|us|µs|ms|s|m|h))+)$')": _Rule(
        lambda text: _DURATION.fullmatch(text) is not None
    ),
}
"""By their words in the definition, beside `UNCHANGED`. One that is missing here is an error."""


@cache
def schema() -> schemas.Schema:
    """Of what stands in a PodMigration beside its metadata."""
    text = resources.files("rescheduler").joinpath("crd.yaml").read_text("utf-8")
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
        if rule["rule"] == UNCHANGED and not _is_kept(before.get(field) or {}, value):
            yield refusals.forbidden_field(field, rule["message"])


def _is_kept(before: Object, after: Object) -> bool:
    chosen = {"target": after["target"]} if "target" in after else {}
    return {**chosen, **before} == after


def _known(item: Object) -> Object:
    return {key: value for key, value in item.items() if key in schema()["properties"]}


def _of_rules(item: Object) -> Iterator[FieldProblem]:
    for rule, path, value in schemas.rules_of(schema(), item, ""):
        if rule["rule"] == UNCHANGED:
            continue
        meaning = RULES[rule["rule"]]
        if not meaning.holds(value):
            why = meaning.message(value) if meaning.message else rule["message"]
            yield _refused(rule, path, value, why)


def _refused(rule: schemas.Schema, path: str, value: Any, why: str) -> FieldProblem:  # noqa: ANN401
    field = rule.get("fieldPath", "")
    if rule.get("reason") == "FieldValueRequired":
        return refusals.required(path + field, why)
    if not path:
        return refusals.invalid_value("<nil>", "object", why)
    shown = value[field.removeprefix(".")] if field else value
    return refusals.invalid_value(path + field, shown, why)
