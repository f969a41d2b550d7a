"""How the pods of a DaemonSet are replaced, some at a time: pure (pkg/controller/daemon/update.go).

Without a surge the old pod of a node goes first, with one the new pod is Ready before it does.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from rescheduler.embedded.controllers import pods, portions
from rescheduler.embedded.controllers.revisions import REVISION_OF_POD
from rescheduler.kube import Object
from rescheduler.model.objects import is_terminating, labels

PodsByNode = dict[str, list[Object]]
Asked = Callable[[Object], bool]


@dataclass(frozen=True, slots=True)
class Acts:
    to_create: list[str] = field(default_factory=list)
    """Names of nodes."""
    to_delete: list[Object] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.to_create or self.to_delete)


@dataclass(frozen=True, slots=True)
class _OnNode:
    """The pods of one node that are not told to go."""

    name: str
    new: Object | None
    old: Object | None
    is_crowded: bool
    """More than one of a kind: they become fewer before anything else happens here."""


def next_acts(
    daemon_set: Object,
    there: PodsByNode,
    wanted: Mapping[str, bool],
    revision: str,
    now: datetime,
) -> Acts:
    """`wanted`: of every node, whether a pod is wanted there."""
    desired = sum(wanted.values())
    surge, unavailable = _limits(daemon_set, desired)
    nodes = [
        *there,
        *(name for name, is_wanted in wanted.items() if is_wanted and name not in there),
    ]
    found = [_on_node(name, there.get(name, ()), revision) for name in nodes]
    seconds = min_ready_seconds(daemon_set)

    def is_available(pod: Object) -> bool:
        return pods.is_available(pod, seconds, now)

    if not surge:
        return Acts(to_delete=_without_surge(found, unavailable, is_available))
    return _with_surge(found, surge, desired, wanted, is_available)


def surplus(
    daemon_set: Object, running: Iterable[Object], revision: str, now: datetime
) -> list[Object]:
    """Of several pods on a node all but the oldest; where it may surge, but the oldest of the new
    and of the old, as long as the old one is of use.
    """
    ordered = sorted(running, key=oldest_bound)
    if not may_surge(daemon_set):
        return ordered[1:]
    new = [pod for pod in ordered if labels(pod).get(REVISION_OF_POD) == revision]
    old = [pod for pod in ordered if labels(pod).get(REVISION_OF_POD) != revision]
    found = new[1:] + old[1:]
    if new and old:
        seconds = min_ready_seconds(daemon_set)
        if not pods.is_ready(old[0]) or pods.is_available(new[0], seconds, now):
            found.append(old[0])
    return found


def may_surge(daemon_set: Object) -> bool:
    return _limits(daemon_set, 1)[0] > 0


def min_ready_seconds(daemon_set: Object) -> int:
    return daemon_set["spec"].get("minReadySeconds") or 0


def oldest_bound(pod: Object) -> tuple[bool, str, str]:
    """To sort by: those with a node first, the oldest of them first."""
    metadata = pod["metadata"]
    return not pod["spec"].get("nodeName"), metadata["creationTimestamp"], metadata["name"]


def _limits(daemon_set: Object, desired: int) -> tuple[int, int]:
    """How many more pods there may be, and how many fewer."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return 0, 0
    settings = strategy.get("rollingUpdate") or {}
    surge = portions.rounded_up(settings.get("maxSurge") or 0, desired)
    fewer = settings.get("maxUnavailable")
    unavailable = portions.rounded_up(1 if fewer is None else fewer, desired)
    return surge, unavailable if surge or unavailable else 1


def _on_node(name: str, mine: Sequence[Object], revision: str) -> _OnNode:
    staying = [pod for pod in mine if not is_terminating(pod)]
    new = [pod for pod in staying if labels(pod).get(REVISION_OF_POD) == revision]
    old = [pod for pod in staying if labels(pod).get(REVISION_OF_POD) != revision]
    return _OnNode(
        name=name,
        new=new[0] if new else None,
        old=old[0] if old else None,
        is_crowded=len(new) > 1 or len(old) > 1,
    )


def _without_surge(nodes: Iterable[_OnNode], limit: int, is_available: Asked) -> list[Object]:
    unavailable = 0
    useless: list[Object] = []
    candidates: list[Object] = []
    for node in nodes:
        if node.is_crowded or (node.new is None) == (node.old is None):
            unavailable += 1
        elif node.new is not None:
            unavailable += not is_available(node.new)
        elif node.old is not None and not is_available(node.old):
            # It serves nobody, so nobody loses by it.
            useless.append(node.old)
            unavailable += 1
        elif node.old is not None and unavailable < limit:
            candidates.append(node.old)
    return useless + candidates[: max(limit - unavailable, 0)]


def _with_surge(
    nodes: Iterable[_OnNode],
    limit: int,
    desired: int,
    wanted: Mapping[str, bool],
    is_available: Asked,
) -> Acts:
    surging = available = 0
    allowed: list[str] = []
    candidates: list[str] = []
    to_delete: list[Object] = []
    unwanted: list[Object] = []
    for node in nodes:
        if node.is_crowded:
            surging += 1
            continue
        known = node.old or node.new
        available += known is not None and is_available(known)
        if node.old is None:
            continue
        is_of_use = is_available(node.old)
        if node.new is not None:
            if is_available(node.new):
                to_delete.append(node.old)
            else:
                surging += 1
        elif not wanted.get(node.name):
            (unwanted if is_of_use else to_delete).append(node.old)
        elif not is_of_use:
            allowed.append(node.name)
        elif surging < limit:
            candidates.append(node.name)
    to_delete += unwanted[: max(available - desired, 0)]
    return Acts(allowed + candidates[: max(limit - surging, 0)], to_delete)
