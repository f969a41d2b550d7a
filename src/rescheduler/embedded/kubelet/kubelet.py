"""The kubelets of all nodes: they play what testbed/stages.yaml has KWOK play, on virtual time.

Each pod is in one stage, which ends after a while with a change of its status, or with its end.
What it does in it is up to its annotations (`behaviours`). A kubelet that hangs begins no stage;
one that had begun still ends.
"""

import asyncio
import itertools
import random
import zlib
from collections.abc import Callable
from typing import Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.behaviours import (
    PREFIX,
    Behaviours,
    lacks_its_config,
    lacks_its_image,
)
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.indexes import Indexes
from rescheduler.embedded.kubelet import container_states, node_statuses
from rescheduler.embedded.kubelet.container_states import Containers
from rescheduler.embedded.kubelet.node_admission import NodeRooms
from rescheduler.embedded.statuses import stamp, with_conditions
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import is_terminating

_FAILURE_SECONDS: Final = 0.2
_RECOVERY_SECONDS: Final = 0.3
_LOOK_SECONDS: Final = 10.0
_ENDED: Final = ("Succeeded", "Failed")
_NO_TIME: Final = 1e-6
"""Less than which is none: times are sums of fractions."""


class _Stage(NamedTuple):
    name: str
    seconds: Callable[[Object], float]
    end: Callable[[Object], None]


class _Begun(NamedTuple):
    uid: str
    stage: str
    at: float
    seconds: float


class Kubelet:
    def __init__(
        self,
        api: ApiServer,
        chance: random.Random,
        *,
        prefix: str = PREFIX,
        start_seconds: tuple[float, float] | None = None,
    ) -> None:
        self._api = api
        self._behaviours = Behaviours(chance, prefix, start_seconds)
        self._pods = Queue("kubelet", self._look_at, chance)
        self._nodes = Queue("kubelet of nodes", self._look_at_node, chance)
        self._begun: dict[Key, _Begun] = {}
        self._rooms = NodeRooms()
        self._addresses = itertools.count(1)
        self._stop: list[Callable[[], None]] = []
        self._make_stages()

    def _make_stages(self) -> None:
        told = self._behaviours
        self._accept = _Stage("accept", _at_once, self._accepted)
        self._start = _Stage("start", told.start_seconds, self._became_ready)
        self._run_unready = _Stage("run unready", _at_once, self._runs_unready)
        self._fail_pull = _Stage("fail pull", _soon, self._waits("ErrImagePull", "not found"))
        self._back_off = _Stage(
            "back off", _soon, self._waits("ImagePullBackOff", "Back-off pulling image")
        )
        self._lack_config = _Stage(
            "lack config", _soon, self._waits("CreateContainerConfigError", "configmap not found")
        )
        self._crash = _Stage("crash", _soon, self._crash_loops)
        self._crash_for_good = _Stage("crash for good", _soon, self._crashed_for_good)
        self._flap_down = _Stage("flap down", self._flap_seconds, self._becomes("False"))
        self._flap_up = _Stage("flap up", self._flap_seconds, self._becomes("True"))
        self._recover = _Stage("recover", lambda _: _RECOVERY_SECONDS, self._ready_again)
        self._know_better = _Stage("know better", _until_the_next_look, self._ready_again)
        self._complete = _Stage("complete", self._run_seconds, self._completed)
        self._end = _Stage("end", told.exit_seconds, self._ended)

    def start(self) -> None:
        store = self._api.store
        self._by_node = Indexes.of(store).pods_by_node
        self._stop = [
            store.listen(wire.PODS, self._on_pod),
            store.listen(wire.NODES, self._on_node),
        ]
        for node in store.all(wire.NODES):
            self._nodes.add(key_of(node))
        for pod in store.all(wire.PODS):
            if pod["spec"].get("nodeName"):
                if not _has_ended(pod) and _status(pod).get("podIP"):
                    self._rooms.hold(pod)
                if self._stage_of(pod) is not None:
                    self._pods.add(key_of(pod))

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        self._pods.end()
        self._nodes.end()

    # ------------------------------------------------------------------ what is heard

    def _on_pod(self, change: Change) -> None:
        pod = change.object
        if not pod["spec"].get("nodeName"):
            return
        if change.kind == "DELETED" or _has_ended(pod):
            self._rooms.release(pod)
        if change.kind == "DELETED" or self._stage_of(pod) is None:
            self._begun.pop(key_of(pod), None)
        else:
            self._pods.add(key_of(pod))

    def _on_node(self, change: Change) -> None:
        node, before = change.object, change.before
        if change.kind == "DELETED":
            return
        self._nodes.add(key_of(node))
        lives = not self._behaviours.is_hung(node)
        if lives and (before is None or self._behaviours.is_hung(before)):
            for pod in self._by_node.of(node["metadata"]["name"]):
                if self._stage_of(pod) is not None:
                    self._pods.add(key_of(pod))

    # ------------------------------------------------------------------ nodes

    def _look_at_node(self, key: Key) -> None:
        node = self._api.store.find(wire.NODES, None, key[1])
        if node is None or self._behaviours.is_hung(node):
            return
        is_ready, is_down = conditions.holds(node, "Ready"), self._behaviours.is_down(node)
        if is_ready and is_down:
            self._api.set_status(wire.NODES, node, node_statuses.down(node, self._api.now()))
        elif not is_ready and not is_down:
            number = next(self._addresses)
            address = f"10.128.{number >> 8 & 255}.{number & 255}"
            status = node_statuses.up(node, self._api.now(), address)
            self._api.set_status(wire.NODES, node, status)

    # ------------------------------------------------------------------ the stages of pods

    def _look_at(self, key: Key) -> None:
        pod = self._api.store.find(wire.PODS, *key)
        stage = self._stage_of(pod) if pod is not None else None
        if pod is None or stage is None:
            self._begun.pop(key, None)
            return
        begun = self._begin(key, pod, stage)
        if begun is None:
            return
        left = begun.at + begun.seconds - asyncio.get_running_loop().time()
        if left > _NO_TIME:
            self._pods.add(key, after=left)
        else:
            del self._begun[key]
            stage.end(pod)

    def _begin(self, key: Key, pod: Object, stage: _Stage) -> _Begun | None:
        """None: nobody is there to begin anything."""
        begun = self._begun.get(key)
        uid = pod["metadata"]["uid"]
        if begun is None or (begun.uid, begun.stage) != (uid, stage.name):
            self._begun.pop(key, None)
            node = self._api.store.find(wire.NODES, None, pod["spec"]["nodeName"])
            if node is None or self._behaviours.is_hung(node):
                return None
            begun = _Begun(uid, stage.name, asyncio.get_running_loop().time(), stage.seconds(pod))
        elif stage is self._end:
            # Told again, with less time.
            begun = begun._replace(seconds=min(begun.seconds, stage.seconds(pod)))
        self._begun[key] = begun
        return begun

    def _stage_of(self, pod: Object) -> _Stage | None:
        if not pod["spec"].get("nodeName"):
            return None
        if is_terminating(pod):
            return None if pod["metadata"].get("finalizers") else self._end
        if _has_ended(pod):
            return None
        status = _status(pod)
        if not status.get("podIP"):
            return self._accept
        return self._failing(pod) or self._living(pod, status.get("phase") or "Pending")

    def _failing(self, pod: Object) -> _Stage | None:
        waits_for = container_states.waiting_reasons(pod)
        if self._behaviours.crashes(pod):
            if pod["spec"].get("restartPolicy") == "Never":
                return self._crash_for_good
            return None if "CrashLoopBackOff" in waits_for else self._crash
        if lacks_its_image(pod):
            if "ErrImagePull" in waits_for:
                return self._back_off
            return None if "ImagePullBackOff" in waits_for else self._fail_pull
        if lacks_its_config(pod) and "CreateContainerConfigError" not in waits_for:
            return self._lack_config
        return None

    def _living(self, pod: Object, phase: str) -> _Stage | None:
        told = self._behaviours
        if told.crashes(pod) or lacks_its_image(pod) or lacks_its_config(pod):
            return None
        if phase == "Pending":
            return self._run_unready if told.is_never_ready(pod) else self._start
        is_ready = conditions.holds(pod, "Ready")
        if told.flap_seconds(pod) is not None:
            return self._flap_down if is_ready else self._flap_up
        if not is_ready and conditions.holds(pod, "ContainersReady") and _passes_gates(pod):
            is_left = conditions.has_left(pod) and not pod["spec"].get("readinessGates")
            return self._know_better if is_left else self._recover
        return self._complete if told.run_seconds(pod) is not None and is_ready else None

    def _flap_seconds(self, pod: Object) -> float:
        return self._behaviours.flap_seconds(pod) or 0.0

    def _run_seconds(self, pod: Object) -> float:
        return self._behaviours.run_seconds(pod) or 0.0

    # ------------------------------------------------------------------ what they end with

    def _accepted(self, pod: Object) -> None:
        node = self._api.get(wire.NODES, None, pod["spec"]["nodeName"])
        refused = self._rooms.admit(pod, node)
        if refused:
            words = {"reason": refused.reason, "message": f"Pod was rejected: {refused.message}"}
            self._set(pod, {"phase": "Failed", **words})
            return
        number = next(self._addresses)
        host = node_statuses.address(node)
        own = f"10.{number >> 16 & 127}.{number >> 8 & 255}.{number & 255}"
        own = host if pod["spec"].get("hostNetwork") else own
        changes = {
            "phase": "Pending",
            "startTime": stamp(self._api.now()),
            "hostIP": host,
            "hostIPs": [{"ip": host}],
            "podIP": own,
            "podIPs": [{"ip": own}],
            "containerStatuses": Containers(pod).creating(),
        }
        words = {"reason": "ContainersNotReady"}
        self._set(
            pod,
            changes,
            self._condition("PodReadyToStartContainers", "True"),
            self._condition("Initialized", "True"),
            self._condition("Ready", "False") | words,
            self._condition("ContainersReady", "False") | words,
        )

    def _became_ready(self, pod: Object) -> None:
        states = Containers(pod).running(stamp(self._api.now()), ready=True)
        self._set(
            pod, {"phase": "Running", "containerStatuses": states}, *self._readiness(pod, "True")
        )

    def _runs_unready(self, pod: Object) -> None:
        states = Containers(pod).running(stamp(self._api.now()), ready=False)
        self._set(pod, {"phase": "Running", "containerStatuses": states})

    def _waits(self, reason: str, message: str) -> Callable[[Object], None]:
        def end(pod: Object) -> None:
            self._set(pod, {"containerStatuses": Containers(pod).waiting(reason, message)})

        return end

    def _crash_loops(self, pod: Object) -> None:
        states = Containers(pod).crash_looping(stamp(self._api.now()))
        self._set(pod, {"phase": "Running", "containerStatuses": states})

    def _crashed_for_good(self, pod: Object) -> None:
        states = Containers(pod).terminated(stamp(self._api.now()), 1, "Error")
        self._set(pod, {"phase": "Failed", "containerStatuses": states})

    def _becomes(self, ready: str) -> Callable[[Object], None]:
        def end(pod: Object) -> None:
            self._set(pod, {}, *self._readiness(pod, ready))

        return end

    def _ready_again(self, pod: Object) -> None:
        ready, _ = self._readiness(pod, "True")
        self._set(pod, {}, ready)

    def _completed(self, pod: Object) -> None:
        states = Containers(pod).terminated(stamp(self._api.now()), 0, "Completed")
        why = {"reason": "PodCompleted"}
        self._set(
            pod,
            {"phase": "Succeeded", "containerStatuses": states},
            self._condition("Ready", "False") | why,
            self._condition("ContainersReady", "False") | why,
        )

    def _ended(self, pod: Object) -> None:
        metadata = pod["metadata"]
        self._api.delete(
            wire.PODS,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            grace_seconds=0,
        )

    # ------------------------------------------------------------------ statuses

    def _readiness(self, pod: Object, value: str) -> tuple[Object, Object]:
        words = {} if value == "True" else {"reason": "ContainersNotReady"}
        containers = self._condition("ContainersReady", value) | words
        if value == "True" and not _passes_gates(pod):
            waits = self._condition("Ready", "False") | {"reason": "ReadinessGatesNotReady"}
            return waits, containers
        return self._condition("Ready", value) | words, containers

    def _condition(self, kind: str, value: str) -> Object:
        now = stamp(self._api.now())
        return {"type": kind, "status": value, "lastProbeTime": None, "lastTransitionTime": now}

    def _set(self, pod: Object, changes: Object, *conditions_: Object) -> None:
        status = with_conditions({**_status(pod), **changes}, conditions_)
        self._api.set_status(wire.PODS, pod, status)


def _status(pod: Object) -> Object:
    return pod.get("status") or {}


def _has_ended(pod: Object) -> bool:
    return _status(pod).get("phase") in _ENDED


def _passes_gates(pod: Object) -> bool:
    return all(
        conditions.holds(pod, gate["conditionType"])
        for gate in pod["spec"].get("readinessGates") or ()
    )


def _until_the_next_look(pod: Object) -> float:
    """Each kubelet looks every ten seconds, at its own time, what others have made of its pods."""
    node = pod["spec"]["nodeName"]
    own = zlib.crc32(node.encode()) % 1000 / 1000 * _LOOK_SECONDS
    return _LOOK_SECONDS - (asyncio.get_running_loop().time() + own) % _LOOK_SECONDS


def _at_once(_: Object) -> float:
    return 0.0


def _soon(_: Object) -> float:
    return _FAILURE_SECONDS
