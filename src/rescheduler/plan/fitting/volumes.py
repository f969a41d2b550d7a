"""Volumes: where they can be reached, who may have them, and how many a node can attach.

As the plugins VolumeBinding, VolumeZone, VolumeRestrictions and NodeVolumeLimits have it. Beyond
them: a volume of ReadWriteOnce stays on the node of whoever else uses it.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from rescheduler.model.claims import is_of_one_pod, is_shared
from rescheduler.model.columns import NONE, Numbers
from rescheduler.model.moves import Way
from rescheduler.model.objects import Object, labels
from rescheduler.model.snapshot import Snapshot
from rescheduler.plan.fitting.nodes import Mask, NodeFacts
from rescheduler.plan.fitting.rules import Where

_BETA_TO_GA: Final = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
_ZONES: Final = (*_BETA_TO_GA, *_BETA_TO_GA.values())
_SEPARATOR: Final = "__"

Claim = tuple[str, str]
Handle = tuple[str, str]
"""Driver, and what it calls the volume."""


@dataclass(frozen=True, slots=True)
class Volume:
    claim: Claim
    problem: str
    """Why nobody can tell where it is; empty: it is known."""
    handle: Handle | None
    where: Where | None
    zones: tuple[tuple[str, frozenset[str]], ...]
    is_exclusive: bool
    """One node, or one pod, at a time may have it."""
    is_of_one_pod: bool


class Volumes:
    def __init__(self, snapshot: Snapshot, facts: NodeFacts, place: Numbers) -> None:
        self._snapshot = snapshot
        self._facts = facts
        self._place = place
        self._volumes: dict[Claim, Volume] = {}
        self._masks: dict[Volume, Mask] = {}

    def has_any(self, row: int) -> bool:
        return row in self._snapshot.pods.claims

    def of(self, row: int) -> tuple[Volume, ...]:
        claims = self._snapshot.lasting_claims_of(row)
        if not claims:
            return ()
        namespace = self._snapshot.pods.names[row].split("/", 1)[0]
        return tuple(self._volume((namespace, name)) for name in claims)

    def reachable(self, row: int) -> Mask:
        """Nodes from which all of its volumes can be reached: that does not change in a plan."""
        ok = np.ones(len(self._facts.nodes), np.bool_)
        for volume in self.of(row):
            ok &= self._mask(volume)
        return ok

    def allowed(self, row: int, way: Way, at: Numbers) -> Mask:
        ok = np.ones(len(at), np.bool_)
        for volume in self.of(row):
            for user in self._rivals(row, volume, way):
                ok &= (at == self._place[user]) & (not volume.is_of_one_pod)
        for place, node in enumerate(at.tolist()):
            if ok[place] and self._too_many(row, node):
                ok[place] = False
        return ok

    def why_not(self, row: int, way: Way, node: int) -> Iterable[str]:
        for volume in self.of(row):
            name = volume.claim[1]
            if volume.problem:
                yield f"its claim {name} {volume.problem}"
            elif not self._mask(volume)[node]:
                yield f"the volume of its claim {name} cannot be reached from there"
            rivals = self._rivals(row, volume, way)
            if volume.is_of_one_pod and rivals:
                yield f"its claim {name} is in use, and one pod at a time may have it"
            elif any(self._place[user] != node for user in rivals):
                yield f"its claim {name} is in use on another node, and one node may have it"
        if driver := self._too_many(row, node):
            yield f"the node can attach no more volumes of {driver}"

    # ------------------------------------------------------------------ volumes

    def _volume(self, claim: Claim) -> Volume:
        if claim not in self._volumes:
            self._volumes[claim] = self._read(claim)
        return self._volumes[claim]

    def _read(self, claim: Claim) -> Volume:
        found = self._snapshot.find("persistentvolumeclaims", *claim)
        if found is None:
            return _unknown(claim, "was not found")
        name = found["spec"].get("volumeName")
        volume = self._snapshot.find("persistentvolumes", "", name) if name else None
        if volume is None:
            return _unknown(claim, "is not bound to a volume that is known")
        spec = volume["spec"]
        source = spec.get("csi")
        required = (spec.get("nodeAffinity") or {}).get("required")
        return Volume(
            claim=claim,
            problem="",
            handle=(source["driver"], source["volumeHandle"]) if source else None,
            where=Where.of_terms(required) if required else None,
            zones=tuple(
                (key, frozenset(value.split(_SEPARATOR)))
                for key, value in sorted(labels(volume).items())
                if key in _ZONES
            ),
            is_exclusive=not is_shared(found),
            is_of_one_pod=is_of_one_pod(found),
        )

    def _mask(self, volume: Volume) -> Mask:
        if volume not in self._masks:
            ok = np.full(len(self._facts.nodes), not volume.problem, np.bool_)
            if volume.where is not None:
                ok &= self._facts.allowed_by(volume.where)
            if volume.zones:
                ok &= np.array(
                    [_is_in_zone(node.labels, volume.zones) for node in self._facts.nodes], np.bool_
                )
            self._masks[volume] = ok
        return self._masks[volume]

    # ------------------------------------------------------------------ users

    def _rivals(self, row: int, volume: Volume, way: Way) -> list[int]:
        """Who else has what not everybody may have; the pod itself while its copy comes up."""
        if not volume.is_exclusive:
            return []
        users = self._users.get(volume.claim, [])
        return [each for each in users if each != row or way is Way.SURGE]

    @cached_property
    def _users(self) -> Mapping[Claim, list[int]]:
        found: dict[Claim, list[int]] = defaultdict(list)
        for row, claims in self._snapshot.pods.claims.items():
            if self._place[row] == NONE:
                continue
            namespace = self._snapshot.pods.names[row].split("/", 1)[0]
            for name in claims:
                found[namespace, name].append(row)
        return found

    # ------------------------------------------------------------------ how many

    def moved(self, row: int, source: int, target: int) -> None:
        if "_used" in self.__dict__:
            for volume in self.of(row):
                if volume.handle is not None:
                    for node, amount in ((source, -1), (target, 1)):
                        if node != NONE:
                            self._used[node][volume.handle] += amount

    def _too_many(self, row: int, node: int) -> str:
        """The driver whose limit this pod would exceed; empty: none."""
        limits = self._limits.get(self._facts.nodes[node].name)
        if not limits:
            return ""
        used_by_pods = {handle for handle, pods in self._used[node].items() if pods > 0}
        used = used_by_pods | self._attached.get(node, set())
        # As the plugin counts: what only hangs there still is used, and is new all the same.
        new = {each.handle for each in self.of(row) if each.handle is not None} - used_by_pods
        for driver in sorted({driver for driver, _ in new}):
            total = sum(each[0] == driver for each in used) + sum(each[0] == driver for each in new)
            if driver in limits and total > limits[driver]:
                return driver
        return ""

    @cached_property
    def _used(self) -> Mapping[int, Counter[Handle]]:
        """By node: how many pods use each volume."""
        found: dict[int, Counter[Handle]] = defaultdict(Counter)
        for row in self._snapshot.pods.claims:
            node = int(self._place[row])
            if node != NONE:
                for volume in self.of(row):
                    if volume.handle is not None:
                        found[node][volume.handle] += 1
        return found

    @cached_property
    def _attached(self) -> Mapping[int, set[Handle]]:
        """By node: volumes that hang there, whether a pod uses them or not."""
        numbers = self._snapshot.node_numbers
        found: dict[int, set[Handle]] = defaultdict(set)
        for attachment in self._snapshot.objects.get("volumeattachments", {}).values():
            spec = attachment["spec"]
            name = (spec.get("source") or {}).get("persistentVolumeName")
            volume = self._snapshot.find("persistentvolumes", "", name) if name else None
            source = ((volume or {}).get("spec") or {}).get("csi")
            if source and spec.get("nodeName") in numbers:
                handle = (source["driver"], source["volumeHandle"])
                found[numbers[spec["nodeName"]]].add(handle)
        return found

    @cached_property
    def _limits(self) -> Mapping[str, Mapping[str, int]]:
        """By node and driver."""
        return {
            name: limits
            for (_, name), node in self._snapshot.objects.get("csinodes", {}).items()
            if (limits := _limits_of(node))
        }


def _limits_of(csi_node: Object) -> Mapping[str, int]:
    return {
        driver["name"]: driver["allocatable"]["count"]
        for driver in (csi_node.get("spec") or {}).get("drivers") or ()
        if (driver.get("allocatable") or {}).get("count") is not None
    }


def _unknown(claim: Claim, problem: str) -> Volume:
    return Volume(claim, problem, None, None, (), is_exclusive=True, is_of_one_pod=False)


def _is_in_zone(node: Mapping[str, str], zones: Iterable[tuple[str, frozenset[str]]]) -> bool:
    if not any(key in node for key in _ZONES):
        return True  # a cluster of one zone, which nobody has named
    return all(
        node.get(key, node.get(_BETA_TO_GA.get(key, key))) in values for key, values in zones
    )
