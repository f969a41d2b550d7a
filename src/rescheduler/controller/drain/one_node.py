"""What a drain makes its passes for: one node, as if it were labelled for maintenance."""

from dataclasses import replace

from rescheduler.config import Configuration
from rescheduler.controller.drain.progress import Progress, Voice
from rescheduler.controller.drain.questions import concerning, in_maintenance, should_go
from rescheduler.controller.drain.request import Request
from rescheduler.controller.events import Trail, silent
from rescheduler.controller.passes import Observes
from rescheduler.kube import KubeApi
from rescheduler.migrate import Outcome
from rescheduler.migrate.hygiene import maintenance_notes
from rescheduler.model.moves import Emptying, Move, Plan, Refusal
from rescheduler.model.snapshot import Snapshot


class OneNode:
    def __init__(
        self,
        kube: KubeApi,
        observer: Observes,
        request: Request,
        progress: Progress,
        voice: Voice,
        trail: Trail | None = None,
    ) -> None:
        self._kube = kube
        self._observer = observer
        self.request = request
        self.progress = progress
        self.voice = voice
        self._trail = trail or Trail(silent)
        self._told = ""
        """On the node, about who is left."""

    @property
    def configuration(self) -> Configuration:
        return self.request.configuration

    def observe(self) -> Snapshot:
        snapshot = self._observer.snapshot()
        self.request.insist_on_node(snapshot)
        return in_maintenance(snapshot, self.request.node)

    async def put_in_order(self, snapshot: Snapshot) -> None:
        """The node was cordoned before the first pass; all else is left to whoever leads."""

    def narrowed(self, decided: Plan) -> Plan:
        return replace(decided, moves=tuple(concerning(decided.moves, self.request.node)))

    def report(self, _: Snapshot, decided: Plan) -> None:
        """Of the node as it is by now."""
        pods = should_go(self._observer.snapshot(), self.request.node)
        self.progress.note_who_stays(pods, decided)

    async def report_on_nodes(self, _: Snapshot, __: Plan) -> None:
        snapshot, node = self._observer.snapshot(), self.request.node
        left = len(should_go(snapshot, node, even_if_leaving=True))
        found = maintenance_notes.in_words(left, self.progress.stay)
        if found != self._told:
            stay = tuple(Refusal.of(name, [why]) for name, why in self.progress.stay.items())
            emptying = Emptying(node=node, left=left, stay=stay, note=found)
            self._trail.emptying(snapshot, [emptying], {node: found})
            await maintenance_notes.tell(self._kube, node, maintenance_notes.by_drain(found))
            self._told = found

    def hear(self, move: Move, outcome: Outcome) -> None:
        self.progress.hear(move, outcome)
        self.voice.ended(move, outcome, self.progress)
