"""What a recording of pods says about a contender. Pure: a recording in, figures out."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """One pod, as it was from this moment on."""

    at: float
    """Seconds, of a clock that only the recorder reads."""
    uid: str
    workload: str
    node: str
    cpu: float
    """Requested, in cores."""
    is_ready: bool
    """And not told to end."""
    is_gone: bool = False


class Pods:
    """The pods of one moment."""

    def __init__(self) -> None:
        self._pods: dict[str, Sighting] = {}

    def apply(self, seen: Sighting) -> None:
        if seen.is_gone:
            self._pods.pop(seen.uid, None)
        else:
            self._pods[seen.uid] = seen

    def on(self, node: str) -> set[str]:
        """UIDs of the pods there, those that are ending among them."""
        return {uid for uid, pod in self._pods.items() if pod.node == node}

    def cpu_on(self, node: str) -> float:
        return sum(pod.cpu for pod in self._pods.values() if pod.node == node)

    def missing(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Of each workload that has fewer Ready pods than wanted, how many fewer."""
        ready = Counter(pod.workload for pod in self._pods.values() if pod.is_ready)
        lacks = {name: count - ready[name] for name, count in wanted.items()}
        return {name: count for name, count in lacks.items() if count > 0}

    def is_complete(self, workload: str, wanted: int) -> bool:
        """So many pods, all Ready, and none left over."""
        its = [pod for pod in self._pods.values() if pod.workload == workload]
        return len(its) == wanted and all(pod.is_ready for pod in its)

    def are_complete(self, wanted: Mapping[str, int]) -> bool:
        return all(self.is_complete(name, count) for name, count in wanted.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    wanted: Mapping[str, int]
    """Replicas by workload."""
    sightings: Sequence[Sighting]
    """In the order of the API server's watch."""
    began: float
    """Everything up to here is what was there at the beginning."""
    ended: float

    def ever_below(self) -> set[str]:
        """Workloads that had fewer Ready pods than replicas at any moment, however short."""
        return {name for _, pods in self._moments() for name in pods.missing(self.wanted)}

    def pod_seconds_missing(self) -> float:
        total = 0.0
        since, lacking = self.began, 0
        for at, pods in self._moments():
            total += lacking * (at - since)
            since, lacking = at, sum(pods.missing(self.wanted).values())
        return total + lacking * (self.ended - since)

    def moved(self) -> int:
        """Pods of the beginning that are gone, and whose workload has all its pods again."""
        first = {each.uid: each for each in self.sightings if each.at <= self.began}
        gone = [first[uid] for uid in first if uid in self._gone()]
        pods = self.at_the_end()
        done = {name for name, count in self.wanted.items() if pods.is_complete(name, count)}
        return sum(each.workload in done for each in gone)

    def at_the_beginning(self) -> Pods:
        return next(pods for _, pods in self._moments())

    def at_the_end(self) -> Pods:
        *_, (_, last) = self._moments()
        return last

    def _gone(self) -> set[str]:
        return {each.uid for each in self.sightings if each.is_gone and each.at <= self.ended}

    def _moments(self) -> Iterator[tuple[float, Pods]]:
        """The beginning, and then each change. It is one object that changes: look at once."""
        pods = Pods()
        opened = False
        for seen in self.sightings:
            if seen.at > self.ended:
                break
            if seen.at > self.began and not opened:
                opened = True
                yield self.began, pods
            pods.apply(seen)
            if opened:
                yield seen.at, pods
        if not opened:
            yield self.began, pods
