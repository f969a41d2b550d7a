"""Where the two clusters differ on purpose, and why. What is not here must be the same."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    why: str


PLACES: Final = Difference(
    "on which of several equally good nodes a pod is",
    "kube-scheduler breaks ties by lot, and scores by more than the hard rules; so does ours, by "
    "other lots. Pods that may only be on one node, and those of DaemonSets, are compared.",
)
NAMES: Final = Difference(
    "names, hashes and UIDs that are drawn",
    "Hashes of templates are made of Go's own way to print a struct. Which revision a pod is of, "
    "and whom it belongs to, is compared.",
)
SHARED: Final = Difference(
    "shares its pods with another budget",
    "Of several budgets for a pod, kube-controller-manager brings up to date whichever its cache "
    "gives it first, and leaves the others stale; ours brings all up to date. No pod of theirs can "
    "be evicted either way, which is compared.",
)
ROLLOUTS: Final = Difference(
    "with which node the rollout of a DaemonSet begins",
    "kube-controller-manager goes through nodes in the order of a Go map, which is drawn anew each "
    "time. So no rollout of one is drawn that would get stuck half-way.",
)
OWNERS: Final = Difference(
    "when a budget is counted anew of which only the owner of its pods has changed",
    "Neither hears of owners: both count at the next word of a pod. That comes sooner on a control "
    "plane that others use, too: pods that fit nowhere are told on how many nodes. So each budget "
    "is touched before it is compared.",
)
UNKNOWABLE: Final = Difference(
    "whether a budget of pods whose number nobody can know was ever brought up to date",
    "It is if its controller looks while there is no pod at all, as happens for a moment when "
    "the only pod of a DaemonSet is replaced. On both clusters that is a matter of luck.",
)
PROGRESS: Final = Difference(
    "whether a rollout that is stuck was last seen when its ReplicaSet was made, found or filled",
    "kube-controller-manager notices progress by comparing with its cache, and misses it when that "
    "is behind; then the reason stays what it was. That a rollout is under way is compared.",
)
ALL: Final = (PLACES, NAMES, SHARED, ROLLOUTS, OWNERS, UNKNOWABLE, PROGRESS)
