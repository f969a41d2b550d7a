"""What each address answers, from one view of the cluster and for one viewer. Pure.

None of it waits for anybody; it is worked out in a thread of its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from rescheduler.model.objects import spec
from rescheduler.serve.dashboard.access import Viewer
from rescheduler.serve.dashboard.rights import Rights, Words, namespaces_of
from rescheduler.serve.dashboard.view import Loads, Questions, View


@dataclass(frozen=True)
class Asked:
    view: View
    viewer: Viewer
    questions: Questions
    takes_tokens: bool = False
    path: Mapping[str, str] | None = None
    query: Mapping[str, str] | None = None

    @property
    def rights(self) -> Rights:
        return self.viewer.rights

    @cached_property
    def words(self) -> Words:
        if self.rights.sees_everything:
            return Words(self.rights)
        return Words.of(self.rights, self._namespaces)

    @property
    def _namespaces(self) -> frozenset[str]:
        """Also those that are gone, as long as something is told of them."""
        view = self.view
        told = {namespace for namespace, _ in view.records}
        if view.decided is not None:
            told |= {each.namespace for each in view.decided.plan.moves}
        for plan in view.plans.values():
            moves = spec(plan).get("moves") or ()
            told |= {each["namespace"] for each in moves if each.get("namespace")}
        return namespaces_of(view.snapshot) | told

    @cached_property
    def loads(self) -> Loads:
        return self.questions.loads(self.view.snapshot)

    def named(self, name: str) -> str:
        """From the address."""
        return (self.path or {}).get(name, "")

    def given(self, name: str) -> str:
        """From the query; empty: nothing."""
        return (self.query or {}).get(name, "").strip()

    @property
    def given_all(self) -> Mapping[str, str]:
        return self.query or {}
