"""What is worth keeping from plan to plan: the next snapshot has mostly the same nodes, and pods of
the same kinds.
"""

from collections.abc import Sequence

from rescheduler.model.cluster import Node
from rescheduler.model.columns import PodClass
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.index import RuleIndex
from rescheduler.plan.fitting.nodes import NodeFacts
from rescheduler.plan.fitting.rules import Rules, read


class Memory:
    def __init__(self) -> None:
        self._facts: NodeFacts | None = None
        self._classes: Sequence[PodClass | None] = ()
        self._index = RuleIndex((), ())
        self._rules: dict[int, tuple[PodClass, Rules]] = {}
        """By the identity of the class, which the entry keeps alive."""

    def facts_of(self, nodes: tuple[Node, ...]) -> NodeFacts:
        if self._facts is None or self._facts.nodes != nodes:
            self._facts = NodeFacts(nodes)
        return self._facts

    def index_of(self, snapshot: Snapshot) -> RuleIndex:
        if snapshot.classes is not self._classes:
            rules = [self._read(each, snapshot) for each in snapshot.classes]
            self._index = RuleIndex(snapshot.classes, rules)
            self._classes = snapshot.classes
            self._forget_what_ended()
        return self._index

    def _read(self, pod_class: PodClass | None, snapshot: Snapshot) -> Rules | None:
        template = None if pod_class is None else snapshot.templates[pod_class.template]
        if pod_class is None or template is None:
            return None
        known = self._rules.get(id(pod_class))
        if known is None or known[0] is not pod_class:
            known = pod_class, read(pod_class, template)
            self._rules[id(pod_class)] = known
        return known[1]

    def _forget_what_ended(self) -> None:
        """Rollouts bring new classes all the time; those that are gone are not asked for again."""
        if len(self._rules) > 2 * len(self._classes):
            alive = {id(each) for each in self._classes}
            self._rules = {key: value for key, value in self._rules.items() if key in alive}
