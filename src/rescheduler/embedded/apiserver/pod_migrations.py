"""PodMigrations as an API server takes them that has our resource definition installed."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.embedded.apiserver import refusals, schemas
from rescheduler.embedded.apiserver.definitions import Definition
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


def _is_kept(before: Object, after: Object) -> bool:
    chosen = {"target": after["target"]} if "target" in after else {}
    return {**chosen, **before} == after


def _problem_of(rule: schemas.Schema, path: str, value: Any) -> FieldProblem | None:  # noqa: ANN401
    meaning = RULES[rule["rule"]]
    if meaning.holds(value):
        return None
    why = meaning.message(value) if meaning.message else rule["message"]
    return _refused(rule, path, value, why)


def _refused(rule: schemas.Schema, path: str, value: Any, why: str) -> FieldProblem:  # noqa: ANN401
    field = rule.get("fieldPath", "")
    if rule.get("reason") == "FieldValueRequired":
        return refusals.required(path + field, why)
    if not path:
        return refusals.invalid_value("<nil>", "object", why)
    shown = value[field.removeprefix(".")] if field else value
    return refusals.invalid_value(path + field, shown, why)


DEFINITION: Final = Definition(
    "crd.yaml", unchanged=UNCHANGED, is_kept=_is_kept, problem_of=_problem_of
)
