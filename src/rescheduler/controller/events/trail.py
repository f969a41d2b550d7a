"""Who hears of what: from ends of migrations, plans and refusals to Events on the right objects."""

from collections.abc import Iterable, Mapping, Sequence

from rescheduler.controller.events import happenings
from rescheduler.controller.events.happenings import Happening, Regarding
from rescheduler.controller.events.recorder import Tells
from rescheduler.controller.settings import Refused, Settings
from rescheduler.migrate import Outcome
from rescheduler.migrate.hygiene import cordoning
from rescheduler.model import objects
from rescheduler.model.cluster import Node
from rescheduler.model.moves import Emptying
from rescheduler.model.objects import Object
from rescheduler.model.pausing import Pause
from rescheduler.model.snapshot import Snapshot
from rescheduler.wire import REPLICA_SETS


class Trail:
    def __init__(self, tells: Tells) -> None:
        self._tells = tells
        self._nodes: Mapping[str, Node] = {}
        self._replica_sets: Mapping[tuple[str, str], Object] = {}
        """As last seen: who owns whom changes seldom. Not the snapshot, which is large."""
        self._refused: Refused | None = None
        self._pause: Pause | None = None

    def tell(self, found: Iterable[Happening]) -> None:
        self._tells.tell(found)

    def see(self, snapshot: Snapshot) -> None:
        self._nodes = {node.name: node for node in snapshot.nodes}
        self._replica_sets = snapshot.objects.get(REPLICA_SETS.plural, {})

    # ------------------------------------------------------------------ what was done

    def ended(self, record: Object, outcome: Outcome) -> None:
        """A migration, whoever asked for it."""
        self._tells.tell(happenings.of_end(record, outcome, self._owner_of, self._node))

    def _owner_of(self, keeper: Regarding) -> Regarding:
        found = self._replica_sets.get((keeper.namespace, keeper.name))
        if keeper.kind != "ReplicaSet" or found is None:
            return keeper
        owner = objects.controller(found)
        if owner is None or not owner.get("uid"):
            return keeper
        return Regarding(
            api_version=owner["apiVersion"],
            kind=owner["kind"],
            namespace=keeper.namespace,
            name=owner["name"],
            uid=owner["uid"],
        )

    def _node(self, name: str) -> Regarding | None:
        node = self._nodes.get(name)
        if node is None:
            return None
        return Regarding(api_version="v1", kind="Node", name=name, uid=node.uid)

    # ------------------------------------------------------------------ who is left on nodes

    def emptying(
        self, snapshot: Snapshot, found: Sequence[Emptying], words: Mapping[str, str]
    ) -> None:
        """Where `words`, by node, are news: they are not what stands on the node."""
        self.see(snapshot)
        news = [each for each in found if self._is_news(each.node, words[each.node])]
        wanted = {pod.full_name for each in news for pod in each.stay}
        uids = _uids(snapshot, wanted) if wanted else {}
        for each in news:
            if (node := self._node(each.node)) is not None:
                self._tells.tell(happenings.of_emptying(each, words[each.node], node, uids))

    def _is_news(self, name: str, words: str) -> bool:
        node = self._nodes.get(name)
        return node is not None and cordoning.state_of(node).told != words

    # ------------------------------------------------------------------ the configuration

    def configured(self, settings: Settings, ourselves: Regarding | None) -> None:
        refused = settings.refused
        if refused is not None and refused != self._refused:
            regarding = ourselves or lease_of(settings)
            self._tells.tell([happenings.of_refusal(regarding, refused.message)])
        self._refused = refused

    # ------------------------------------------------------------------ pauses

    def paused(self, pause: Pause | None, settings: Settings, ourselves: Regarding | None) -> None:
        """None: it is not paused, or not any more."""
        was, self._pause = self._pause, pause
        regarding = ourselves or lease_of(settings)
        if pause is not None and pause != was:
            self._tells.tell([happenings.of_pause(regarding, pause)])
        elif pause is None and was is not None:
            self._tells.tell([happenings.of_resumption(regarding, was)])


def lease_of(settings: Settings) -> Regarding:
    """By which everybody knows us, wherever we run."""
    election = settings.configuration.leader_election
    return Regarding(
        api_version="coordination.k8s.io/v1",
        kind="Lease",
        namespace=election.resource_namespace,
        name=election.resource_name,
        uid="",
    )


def _uids(snapshot: Snapshot, wanted: set[str]) -> dict[str, str]:
    pods = snapshot.pods
    return {name: uid for name, uid in zip(pods.names, pods.uids, strict=True) if name in wanted}
