"""Whether enough of a cluster is seen to say anything of it. Pure."""

from typing import Final

from rescheduler.errors import ReschedulerError
from rescheduler.model.snapshot import Snapshot
from rescheduler.wire import NODES, PODS

_RIGHT: Final = "ask whoever administers the cluster for it, and check: kubectl auth can-i list"


class Unseen(ReschedulerError):
    """Without nodes and pods there is nothing to be told of a cluster."""


def insist_on_nodes_and_pods(snapshot: Snapshot) -> None:
    """Raises Unseen."""
    for gap in snapshot.gaps:
        if gap.source in (NODES.plural, PODS.plural):
            words = f"{gap.source} cannot be seen: {gap.reason}"
            raise Unseen(f"{words}; {_RIGHT} {gap.source}" if gap.forbidden else words)
