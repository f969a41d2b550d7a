"""What the controller makes its passes for: the whole cluster, by every enabled strategy."""

from collections.abc import Iterable

from rescheduler.config import Configuration
from rescheduler.controller.events import Trail, silent
from rescheduler.controller.passes import Observes
from rescheduler.controller.reports import PlanReport
from rescheduler.kube import KubeApi
from rescheduler.migrate import Outcome
from rescheduler.migrate.hygiene import cordoning, maintenance_notes, strays
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Move, Plan
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.strategies import NODE_MAINTENANCE


class WholeCluster:
    def __init__(
        self,
        kube: KubeApi,
        configuration: Configuration,
        observer: Observes,
        trail: Trail | None = None,
    ) -> None:
        self.configuration = configuration
        self._trail = trail or Trail(silent)
        self._kube = kube
        self._observer = observer
        self._report = PlanReport()

    def observe(self) -> Snapshot:
        snapshot = self._observer.with_usage(self._observer.snapshot())
        self._trail.see(snapshot)
        return snapshot

    async def put_in_order(self, snapshot: Snapshot) -> None:
        """Marks that nobody remembers, and cordons."""
        scope = self.configuration.scope
        await strays.sweep(self._kube, snapshot, scope, self.configuration.migration)
        decide = cordoning.for_maintenance if self._empties_nodes else cordoning.only_to_uncordon
        await cordoning.keep_cordons(self._kube, self._nodes_in_scope(snapshot), decide)

    def narrowed(self, decided: Plan) -> Plan:
        return decided

    def report(self, snapshot: Snapshot, decided: Plan) -> None:
        self._report.log(snapshot, decided)

    async def report_on_nodes(self, snapshot: Snapshot, decided: Plan) -> None:
        found = {
            each.node: maintenance_notes.in_words(
                each.left, {pod.full_name: "; ".join(pod.reasons) for pod in each.stay}
            )
            for each in decided.emptying
        }
        self._trail.emptying(snapshot, decided.emptying, found)
        cordoned_nodes = self.configuration.node_maintenance.cordoned_nodes

        def wanted(node: Node) -> maintenance_notes.Wanted:
            return maintenance_notes.for_maintenance(
                found.get(node.name), is_enabled=self._empties_nodes, cordoned_nodes=cordoned_nodes
            )

        await maintenance_notes.keep_telling(self._kube, self._nodes_in_scope(snapshot), wanted)

    def hear(self, move: Move, outcome: Outcome) -> None:
        """The record and the figures of the migrator tell it."""

    @property
    def _empties_nodes(self) -> bool:
        return NODE_MAINTENANCE in self.configuration.enabled_strategies

    def _nodes_in_scope(self, snapshot: Snapshot) -> Iterable[Node]:
        selector = self.configuration.scope.node_selector
        return (node for node in snapshot.nodes if selector.matches(node.labels))
