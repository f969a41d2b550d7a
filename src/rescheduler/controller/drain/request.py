"""What was asked for: which node is to be emptied, and which of its pods are skipped."""

from collections.abc import Container, Iterable
from dataclasses import replace

from rescheduler.config import Configuration, Forced
from rescheduler.controller.drain import questions
from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ReschedulerError
from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.snapshot import Snapshot
from rescheduler.model.strategies import NODE_MAINTENANCE


class UnknownNode(ReschedulerError):
    """There is none of this name, or it is not ours to empty."""


class UnknownNamespace(ReschedulerError):
    """What is to be skipped is not there: nothing would be skipped."""


class Request:
    def __init__(self, configuration: Configuration, node: str) -> None:
        """Its `forced` says what is skipped of all that kubectl drain would take."""
        self.node = node
        # All that is asked for, and nothing else.
        self.configuration = replace(
            configuration,
            enabled_strategies=(NODE_MAINTENANCE,),
            max_reschedule_pods=0,
            forced=configuration.forced or Forced(),
            node_maintenance=replace(
                configuration.node_maintenance, cordoned_nodes=False, removed_nodes=False
            ),
        )

    def forgive(self, snapshot: Snapshot, *, only: Container[str] | None = None) -> None:
        """Failures of which nobody rests any more: all so far, or only those of these reasons."""
        forced = self.configuration.forced or Forced()
        forgiven = forced.forgiven | questions.ended(snapshot, only=only)
        self.configuration = replace(self.configuration, forced=replace(forced, forgiven=forgiven))

    def is_ours_to_begin(self, record: Object) -> bool:
        """What others ask for on other nodes is for whoever leads when we are done; but another
        drain waits for what it asked for.
        """
        return podmigration.source_of(record) == self.node or podmigration.is_forced(record)

    def under_way(self, snapshot: Snapshot, ended: Container[str]) -> frozenset[str]:
        """UIDs of pods whose migration has to end first."""
        return questions.under_way(snapshot, self.node, self.configuration.scope, ended)

    # ------------------------------------------------------------------ what has to be there

    def insist_on_node(self, snapshot: Snapshot) -> None:
        known = {node.name: node for node in snapshot.nodes}
        if self.node not in known:
            raise UnknownNode(f'nodes "{self.node}" not found{_meant(self.node, known)}')
        if not self.configuration.scope.node_selector.matches(known[self.node].labels):
            raise UnknownNode(
                f'node "{self.node}" is not in scope.nodeSelector of the configuration: '
                "its pods are left alone"
            )

    def insist_on_namespaces(self, snapshot: Snapshot) -> None:
        forced = self.configuration.forced
        known = [name for _, name in snapshot.objects.get("namespaces", {})]
        for name in forced.skip_namespaces if forced else ():
            if name not in known:
                meant = _meant(name, known)
                raise UnknownNamespace(f'--skip-namespace: namespaces "{name}" not found{meant}')


def _meant(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    return f'; did you mean "{near}"?' if near else ""
