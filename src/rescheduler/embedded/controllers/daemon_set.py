"""DaemonSets: a pod on every node that one is wanted on.

Follows pkg/controller/daemon of Kubernetes 1.36. Which nodes those are, `model.daemons_to_come`
says, for planning asks the same.
"""

import contextlib
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers import batches, daemon_pods, daemon_updates, owning, pods
from rescheduler.embedded.controllers.daemon_pods import Places
from rescheduler.embedded.controllers.daemon_updates import Acts, PodsByNode
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.controllers.revisions import REVISION_OF_POD, Revisions
from rescheduler.embedded.indexes import Indexes, selector_of
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model import daemons_to_come
from rescheduler.model.objects import controller, is_terminating, labels

_KIND: Final = "DaemonSet"
_BURST: Final = 250
_KEPT_REVISIONS: Final = 10
_FIRST_DELAY_SECONDS: Final = 1.0
_LONGEST_DELAY_SECONDS: Final = 900.0


class DaemonSetController:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._indexes = Indexes.of(api.store)
        self._queue = Queue("daemon set", self._sync, chance)
        self._nodes = Queue("nodes of daemon sets", self._sync_node, chance)
        self._revisions = Revisions(api, REVISION_OF_POD)
        self._places: dict[str, Places] = {}
        """By the UID of a DaemonSet."""
        self._delays = Delays()
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        store = self._api.store
        self._endings = [
            store.listen(wire.DAEMON_SETS, self._heard_of_daemon_set),
            store.listen(wire.PODS, self._heard_of_pod),
            store.listen(wire.NODES, self._heard_of_node),
        ]
        self._look_at_all()

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()
        self._nodes.end()

    # ------------------------------------------------------------------ hearing

    def _heard_of_daemon_set(self, change: Change) -> None:
        if change.kind == "DELETED":
            self._places.pop(change.object["metadata"]["uid"], None)
        else:
            self._queue.add(key_of(change.object))

    def _heard_of_pod(self, change: Change) -> None:
        for key in owning.concerned(change, _KIND):
            self._queue.add(key)
        if owning.is_to_be_had(change):
            for daemon_set in self._indexes.selecting(wire.DAEMON_SETS, change.object):
                self._queue.add(key_of(daemon_set))

    def _heard_of_node(self, change: Change) -> None:
        before = change.before
        if change.kind == "MODIFIED" and before is not None and _is_alike(before, change.object):
            return
        # Of a node that is gone the pods will go, and we hear of those.
        if change.kind != "DELETED":
            self._nodes.add(key_of(change.object))

    def _sync_node(self, key: Key) -> None:
        """Only a DaemonSet that has something to do there is looked at: the figures of others stay
        as they were, though one that may stay where it is not wanted any more would be a stray now.
        """
        node = self._api.store.find(wire.NODES, *key)
        if node is None:
            return
        there = {
            (pod["metadata"]["namespace"], reference["name"])
            for pod in self._indexes.pods_by_node.of(key[1])
            if (reference := controller(pod)) is not None and reference["kind"] == _KIND
        }
        for daemon_set in self._api.store.all(wire.DAEMON_SETS):
            verdict, has_pod = (
                self._places_of(daemon_set).verdict(node),
                key_of(daemon_set) in there,
            )
            has_strays = (daemon_set.get("status") or {}).get("numberMisscheduled", 0) > 0
            is_concerned = has_strays or not verdict.may_stay if has_pod else verdict.is_wanted
            if is_concerned:
                self._queue.add(key_of(daemon_set))

    def _look_at_all(self) -> None:
        for daemon_set in self._api.store.all(wire.DAEMON_SETS):
            self._queue.add(key_of(daemon_set))

    # ------------------------------------------------------------------ acting

    def _sync(self, key: Key) -> None:
        daemon_set = self._api.store.find(wire.DAEMON_SETS, *key)
        if daemon_set is None or not daemons_to_come.is_at_work(daemon_set):
            return
        places = self._places_of(daemon_set)
        settled = self._revisions.settle(daemon_set)
        revision = labels(settled.newest)[REVISION_OF_POD]
        problem = self._act(daemon_set, places, revision)
        if problem is None:
            old = [each for each in settled.all if each is not settled.newest]
            self._forget_history(daemon_set, old)
        self._tell(daemon_set, places, revision, settled.collisions)
        if problem is not None and not batches.is_for_ending_namespace(problem):
            raise problem

    def _act(self, daemon_set: Object, places: Places, revision: str) -> errors.KubeError | None:
        acts = self._missing_and_surplus(daemon_set, places, revision)
        if not acts and _strategy(daemon_set) == "RollingUpdate":
            # Only once all that it did before is done.
            acts = daemon_updates.next_acts(
                daemon_set,
                self._pods_by_node(daemon_set),
                {
                    node["metadata"]["name"]: places.verdict(node).is_wanted
                    for node in self._api.store.all(wire.NODES)
                },
                revision,
                self._api.now(),
            )
        to_create = iter(acts.to_create[:_BURST])

        def create() -> None:
            body = daemon_pods.pod_of(daemon_set, places.daemon, revision, next(to_create))
            self._api.create(wire.PODS, daemon_set["metadata"]["namespace"], body)

        refused = batches.slow_start(len(acts.to_create[:_BURST]), create)
        for pod in acts.to_delete[:_BURST]:
            with contextlib.suppress(errors.NotFound):
                self._api.delete(wire.PODS, *key_of(pod))
        return refused

    def _missing_and_surplus(self, daemon_set: Object, places: Places, revision: str) -> Acts:
        there = self._pods_by_node(daemon_set)
        to_create: list[str] = []
        to_delete: list[Object] = []
        for node in self._api.store.all(wire.NODES):
            name = node["metadata"]["name"]
            verdict = places.verdict(node)
            mine = there.pop(name, None)
            if verdict.is_wanted and mine is None:
                to_create.append(name)
            elif verdict.may_stay:
                running = list(self._running(daemon_set, name, mine or (), to_delete))
                surplus = daemon_updates.surplus(daemon_set, running, revision, self._api.now())
                to_delete += surplus
                if daemon_updates.may_surge(daemon_set) and verdict.is_wanted and not running:
                    to_create.append(name)
            else:
                to_delete += [pod for pod in mine or () if not is_terminating(pod)]
        # Pinned to nodes that are not there any more, they would wait for ever.
        to_delete += [
            pod for found in there.values() for pod in found if not pod["spec"].get("nodeName")
        ]
        return Acts(to_create, to_delete)

    def _running(
        self, daemon_set: Object, node: str, mine: Iterable[Object], to_delete: list[Object]
    ) -> Iterator[Object]:
        """Those that have not ended; the others are to go, so that another may come."""
        for pod in mine:
            if is_terminating(pod):
                continue
            phase = (pod.get("status") or {}).get("phase")
            if phase == "Failed":
                # Not at once when it happens again and again: whatever refuses it will again.
                wait = self._delays.next(_delay_key(daemon_set, node), self._api.now())
                if wait > 0:
                    self._queue.add(key_of(daemon_set), after=wait)
                else:
                    to_delete.append(pod)
            elif phase == "Succeeded":
                to_delete.append(pod)
            else:
                yield pod

    def _places_of(self, daemon_set: Object) -> Places:
        uid = daemon_set["metadata"]["uid"]
        known = self._places.get(uid)
        if known is None or known.template is not daemon_set["spec"]["template"]:
            known = self._places[uid] = Places(daemon_set)
        return known

    def _pods_by_node(self, daemon_set: Object) -> PodsByNode:
        found: PodsByNode = {}
        for pod in owning.claim(self._api, daemon_set, selector_of(daemon_set)):
            target = daemon_pods.target_of(pod)
            # One that has ended and is told to go takes nobody's place.
            if target and not (is_terminating(pod) and pods.has_ended(pod)):
                found.setdefault(target, []).append(pod)
        return found

    def _forget_history(self, daemon_set: Object, old: Sequence[Object]) -> None:
        limit = daemon_set["spec"].get("revisionHistoryLimit")
        surplus = len(old) - (_KEPT_REVISIONS if limit is None else limit)
        if surplus > 0:
            mine = self._indexes.pods_by_owner.of(daemon_set["metadata"]["uid"])
            in_use = {labels(pod).get(REVISION_OF_POD) for pod in mine}
            self._revisions.drop_oldest(
                old, surplus, lambda each: labels(each)[REVISION_OF_POD] in in_use
            )

    # ------------------------------------------------------------------ telling

    def _tell(self, daemon_set: Object, places: Places, revision: str, collisions: int) -> None:
        there = self._pods_by_node(daemon_set)
        seconds, now = daemon_updates.min_ready_seconds(daemon_set), self._api.now()
        wanted = stray = 0
        first: list[Object] = []
        for node in self._api.store.all(wire.NODES):
            mine = there.get(node["metadata"]["name"])
            if places.verdict(node).is_wanted:
                wanted += 1
                if mine:
                    first.append(min(mine, key=daemon_updates.oldest_bound))
            elif mine:
                stray += 1
        available = sum(pods.is_available(pod, seconds, now) for pod in first)
        ready = sum(map(pods.is_ready, first))
        given = {
            "updatedNumberScheduled": sum(
                labels(pod).get(REVISION_OF_POD) == revision for pod in first
            ),
            "numberAvailable": available,
            "numberUnavailable": wanted - available,
            "observedGeneration": daemon_set["metadata"].get("generation", 0),
            "collisionCount": collisions,
        }
        status = {
            "desiredNumberScheduled": wanted,
            "currentNumberScheduled": len(first),
            "numberMisscheduled": stray,
            "numberReady": ready,
            **{name: number for name, number in given.items() if number},
        }
        self._api.set_status(wire.DAEMON_SETS, daemon_set, status)
        # Not only those that are counted: an old one goes when the new one beside it is believed.
        everyone = itertools.chain.from_iterable(there.values())
        if seconds and (wait := pods.next_availability(everyone, seconds, now)) is not None:
            self._queue.add(key_of(daemon_set), after=wait)


class Delays:
    """How long to wait until the next one, each time twice as long (client-go flowcontrol)."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int, str], tuple[float, datetime]] = {}
        """The longest ago comes first."""

    def __len__(self) -> int:
        return len(self._known)

    def next(self, key: tuple[str, int, str], now: datetime) -> float:
        """Zero: go on, and wait longer next time."""
        self._forget(now)
        delay, since = self._known.get(key, (0.0, now))
        if (now - since).total_seconds() < delay:
            return delay
        longer = min(2 * delay, _LONGEST_DELAY_SECONDS) if delay else _FIRST_DELAY_SECONDS
        self._known.pop(key, None)
        self._known[key] = (longer, now)
        return 0.0

    def _forget(self, now: datetime) -> None:
        """What was long ago: it begins anew, or is of nodes and DaemonSets that are gone."""

        def is_old(key: tuple[str, int, str]) -> bool:
            _, since = self._known[key]
            return (now - since).total_seconds() > 2 * _LONGEST_DELAY_SECONDS

        for key in list(itertools.takewhile(is_old, self._known)):
            del self._known[key]


def _delay_key(daemon_set: Object, node: str) -> tuple[str, int, str]:
    generation = (daemon_set.get("status") or {}).get("observedGeneration") or 0
    return daemon_set["metadata"]["uid"], generation, node


def _strategy(daemon_set: Object) -> str:
    given = daemon_set["spec"].get("updateStrategy") or {}
    return str(given.get("type") or "RollingUpdate")


def _is_alike(before: Object, after: Object) -> bool:
    """In what decides where pods are wanted."""
    return labels(before) == labels(after) and (before.get("spec") or {}).get("taints") == (
        after.get("spec") or {}
    ).get("taints")
