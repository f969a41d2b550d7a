"""How many pods the ReplicaSets of a Deployment shall have: pure (deployment_util.go)."""

from collections.abc import Iterable, Sequence
from typing import Final

from rescheduler.embedded.controllers import portions
from rescheduler.kube import Object
from rescheduler.model.objects import annotations

DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"

_DEFAULT_PORTION: Final = "25%"
_LARGEST: Final = 2**31 - 1


def size(workload: Object) -> int:
    """How many pods it shall have."""
    replicas: int = workload["spec"].get("replicas", 1)
    return replicas


def sizes(replica_sets: Iterable[Object]) -> int:
    return sum(map(size, replica_sets))


def is_rolling(deployment: Object) -> bool:
    strategy = deployment["spec"].get("strategy") or {}
    return bool(strategy.get("type", "RollingUpdate") == "RollingUpdate")


def max_surge(deployment: Object) -> int:
    return _fenceposts(deployment)[0] if is_rolling(deployment) else 0


def max_unavailable(deployment: Object) -> int:
    if not is_rolling(deployment) or not size(deployment):
        return 0
    return min(_fenceposts(deployment)[1], size(deployment))


def _fenceposts(deployment: Object) -> tuple[int, int]:
    """Never both zero: then nothing could ever be rolled out."""
    rules = (deployment["spec"].get("strategy") or {}).get("rollingUpdate") or {}
    desired = size(deployment)
    surge = portions.rounded_up(rules.get("maxSurge", _DEFAULT_PORTION), desired)
    missing = portions.rounded_down(rules.get("maxUnavailable", _DEFAULT_PORTION), desired)
    return surge, missing if surge or missing else 1


def grown(deployment: Object, new_size: int, all_sizes: int) -> int:
    """What the new ReplicaSet may have now; `all_sizes`: of all of them together."""
    if not is_rolling(deployment):
        return size(deployment)
    free = size(deployment) + max_surge(deployment) - all_sizes
    if free <= 0:
        return new_size
    return new_size + min(free, size(deployment) - new_size)


def without_unhealthy(old: Iterable[tuple[int, int]], most: int) -> tuple[list[int], bool]:
    """What the old ones keep when pods of theirs that are not available go first, so many at most;
    and whether more may go. `old`: size and available, oldest first.

    One that has more available than it shall have has been scaled down a moment ago, and what its
    status says is no ground to scale anything down any further.
    """
    kept: list[int] = []
    left = most
    for its_size, available in old:
        is_to_shrink = its_size > 0 and left > 0
        if is_to_shrink and available > its_size:
            return kept, False
        down = min(left, its_size - available) if is_to_shrink else 0
        kept.append(its_size - down)
        left -= down
    return kept, True


def shrunk(old: Iterable[int], most: int) -> list[int]:
    """What the old ones keep when so many may go; oldest first."""
    kept = []
    for its_size in old:
        down = min(its_size, max(most, 0))
        kept.append(its_size - down)
        most -= down
    return kept


def proportional(
    deployment: Object, replica_sets: Sequence[Object], deployment_status_replicas: int
) -> list[int]:
    """The sizes of all active ones, the largest first, when the Deployment is scaled amid a
    rollout: what is added or taken away is shared out by their sizes.
    """
    desired = size(deployment)
    allowed = desired + max_surge(deployment) if desired else 0
    to_add = allowed - sizes(replica_sets)
    made, added = [], 0
    for each in replica_sets:
        share = 0
        if to_add not in (0, added) and size(each):
            fraction = _fraction(deployment, each, deployment_status_replicas)
            left = to_add - added
            share = min(fraction, left) if to_add > 0 else max(fraction, left)
        made.append(size(each) + share)
        added += share
    if made and to_add:
        made[0] = max(made[0] + to_add - added, 0)
    return made


def _fraction(deployment: Object, replica_set: Object, status_replicas: int) -> int:
    its_size, desired = size(replica_set), size(deployment)
    if not desired:
        return -its_size
    before = noted(replica_set, MAXIMUM) or status_replicas
    if not before:
        return 0
    share = its_size * (desired + max_surge(deployment)) / before
    return int(share + 0.5) - its_size


def noted(replica_set: Object, annotation: str) -> int | None:
    """A number that the controller wrote there earlier; None: none that could be right."""
    text = annotations(replica_set).get(annotation, "")
    if not (text.isascii() and text.isdigit()):
        return None
    return number if (number := int(text)) <= _LARGEST else None


def notes(deployment: Object) -> dict[str, str]:
    """The annotations by which the ReplicaSets remember how large the Deployment was."""
    desired = size(deployment)
    return {DESIRED: str(desired), MAXIMUM: str(desired + max_surge(deployment))}
