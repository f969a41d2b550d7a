"""Our own resource definitions, as an API server follows them that has them installed.

Each is a file of this package, the one that is installed on clusters. Its schema is followed as it
stands; of its rules, which are written in CEL, whoever has the kind gives each its meaning.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import resources
from typing import Any

import yaml

from rescheduler.embedded.apiserver import refusals, schemas
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object


class Definition:
    def __init__(
        self,
        file: str,
        *,
        unchanged: str,
        is_kept: Callable[[Object, Object], bool],
        problem_of: Callable[[schemas.Schema, str, Any], FieldProblem | None],
    ) -> None:
        """`unchanged` is the rule about what may not change, kept or not by what it was and is;
        `problem_of` is asked for each of the others: rule, place and value.
        """
        self._file, self._unchanged = file, unchanged
        self._is_kept, self._problem_of = is_kept, problem_of

    @cached_property
    def schema(self) -> schemas.Schema:
        """Of what stands in an object beside its metadata."""
        text = resources.files("rescheduler").joinpath(self._file).read_text("utf-8")
        (version,) = yaml.safe_load(text)["spec"]["versions"]
        found: schemas.Schema = version["schema"]["openAPIV3Schema"]
        return found

    def complete(self, item: Object) -> None:
        known = self._known(item)
        for key in [key for key in item if key not in ("apiVersion", "kind", "metadata")]:
            del item[key]
        item.update(schemas.completed(self.schema, known))

    def problems_of(self, item: Object) -> list[FieldProblem]:
        shape = list(schemas.problems_of(self.schema, self._known(item), ""))
        # What is of the wrong shape is not looked into any further.
        return shape or list(self._of_rules(item))

    def problems_of_change(self, before: Object, after: Object) -> Iterator[FieldProblem]:
        for rule, field, value in schemas.rules_of(self.schema, after, ""):
            is_meant = rule["rule"] == self._unchanged
            if is_meant and not self._is_kept(before.get(field) or {}, value):
                yield refusals.forbidden_field(field, rule["message"])

    def _known(self, item: Object) -> Object:
        return {key: value for key, value in item.items() if key in self.schema["properties"]}

    def _of_rules(self, item: Object) -> Iterator[FieldProblem]:
        for rule, path, value in schemas.rules_of(self.schema, item, ""):
            if rule["rule"] != self._unchanged:
                problem = self._problem_of(rule, path, value)
                if problem is not None:
                    yield problem
