"""The scheduler: one pod after the other, each to the best of the nodes where it can go."""

import asyncio
import random
from collections.abc import Callable
from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.scheduler import extending, preempting, scoring
from rescheduler.embedded.scheduler.extending import Extender
from rescheduler.embedded.scheduler.fitting import Examination, Verdicts
from rescheduler.embedded.scheduler.pods import Pod, read
from rescheduler.embedded.scheduler.rules import volume_binding
from rescheduler.embedded.scheduler.rules.ruling import News
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.embedded.scheduler.waiting import WaitingPods
from rescheduler.embedded.statuses import with_pod_condition
from rescheduler.embedded.store import Change, key_of
from rescheduler.kube import Object, errors
from rescheduler.model.objects import is_terminating, labels

NAME: Final = "default-scheduler"
_ENDED: Final = ("Succeeded", "Failed")
_LEAST_SECONDS: Final = 0.001
_MOST_SECONDS: Final = 0.005
"""For each pod. As for controllers, others act in between."""
_LONGEST_WAIT_SECONDS: Final = 300.0
"""Then a pod is tried again even if nothing has happened that should help."""


class Scheduler:
    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._chance = chance
        self._state = State(api.store)
        self._waiting = WaitingPods()
        self.extender: Extender | None = None
        """None: only its own rules and scores count."""
        self._first = 0
        """The node to ask first: not always the same, for not all of them may be asked."""
        self._turn: asyncio.TimerHandle | None = None
        self._retry: asyncio.TimerHandle | None = None
        self._stop: list[Callable[[], None]] = []

    def start(self) -> None:
        self._state.load()
        listen = self._api.store.listen
        self._stop = [
            listen(wire.PODS, self._on_pod),
            listen(wire.NODES, self._on_node),
            *(listen(each, self._on_storage) for each in _STORAGE),
        ]
        for pod in self._api.store.all(wire.PODS):
            self._consider(pod)

    def end(self) -> None:
        for stop in self._stop:
            stop()
        self._stop = []
        for timer in (self._turn, self._retry):
            if timer is not None:
                timer.cancel()

    # ------------------------------------------------------------------ what is heard

    def _on_pod(self, change: Change) -> None:
        pod, before = change.object, change.before
        self._state.hear(change)
        news = _news_of(pod, before, change.kind)
        if news:
            self._tell(news, pod["spec"].get("nodeName") or "")
        if change.kind == "DELETED" or not _is_ours(pod):
            self._waiting.remove(key_of(pod))
        elif before is None or _concerns_us(before, pod):
            self._consider(pod)

    def _on_node(self, change: Change) -> None:
        self._state.hear(change)
        if change.kind != "DELETED" and (
            change.before is None or _offer(change.before) != _offer(change.object)
        ):
            self._tell(News.NODE, change.object["metadata"]["name"])

    def _on_storage(self, _: Change) -> None:
        self._tell(News.STORAGE, "")

    def _tell(self, news: News, node: str) -> None:
        self._waiting.hear(news, self._state.nodes.get(node), self._now())
        self._go_on()

    def _consider(self, pod: Object) -> None:
        if _is_ours(pod):
            self._waiting.add(read(pod), self._now())
            self._go_on()

    # ------------------------------------------------------------------ turns

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    def _go_on(self) -> None:
        if self._turn is None and self._waiting.has_turns:
            delay = self._chance.uniform(_LEAST_SECONDS, _MOST_SECONDS)
            self._turn = asyncio.get_running_loop().call_later(delay, self._next)

    def _next(self) -> None:
        self._turn = None
        pod = self._waiting.next(self._now())
        if pod is not None:
            try:
                self._schedule(pod)
            except errors.KubeError:
                # It went, or changed, meanwhile; or a volume could not be made.
                self._waiting.failed(pod, frozenset(), None, self._now())
            self._go_on()
        self._await_retry()

    def _await_retry(self) -> None:
        stuck = next(self._waiting.stuck(), None)
        if stuck is not None and self._retry is None:
            loop = asyncio.get_running_loop()
            self._retry = loop.call_later(_LONGEST_WAIT_SECONDS, self._retry_the_stuck)

    def _retry_the_stuck(self) -> None:
        self._retry = None
        now = self._now()
        for key in self._waiting.stuck():
            if now - self._waiting.since(key) >= _LONGEST_WAIT_SECONDS:
                self._waiting.retry(key, now)
        self._go_on()
        self._await_retry()

    # ------------------------------------------------------------------ one pod

    def _schedule(self, pod: Pod) -> None:
        examination = Examination(pod, self._state)
        promised = self._state.nodes.get(pod.nominated)
        nodes = self._state.order
        if (
            promised is not None
            and promised.is_there
            and examination.nowhere is None
            and examination.why_not(promised) is None
            and extending.filtered(self.extender, pod, Verdicts([promised], {})).fitting
        ):
            self._bind(pod, promised)
            return
        first = self._first % len(nodes) if nodes else 0
        verdicts = examination.verdicts(nodes, first)
        if examination.names is None:
            self._first = first + verdicts.asked
        verdicts = extending.filtered(self.extender, pod, verdicts)
        if verdicts.fitting:
            self._bind(pod, self._best(pod, verdicts.fitting))
        else:
            self._waiting.failed(pod, verdicts.rules, examination.names, self._now())
            self._give_up(pod, verdicts)

    def _best(self, pod: Pod, nodes: list[Node]) -> Node:
        if len(nodes) == 1:
            return nodes[0]
        own = scoring.totals(pod, nodes, self._state)
        others = extending.points(self.extender, pod, nodes)
        scores = [sum(pair) for pair in zip(own, others, strict=True)]
        most = max(scores)
        best = [node for node, score in zip(nodes, scores, strict=True) if score == most]
        return best[0] if len(best) == 1 else self._chance.choice(best)

    def _bind(self, pod: Pod, node: Node) -> None:
        if pod.claims:
            volume_binding.bind_volumes(pod, node, self._api)
        self._api.bind(*pod.key, node.name)

    # ------------------------------------------------------------------ pods that fit nowhere

    def _give_up(self, pod: Pod, verdicts: Verdicts) -> None:
        """For now. Others of lower priority may have to go for it."""
        outcome = preempting.preempt(pod, verdicts, self._state, self._chance)
        current = self._api.get(wire.PODS, *pod.key)
        status = with_pod_condition(
            current.get("status") or {},
            "PodScheduled",
            "False",
            self._api.now(),
            reason="Unschedulable",
            message=outcome.words,
        )
        if outcome.victims is not None:
            status["nominatedNodeName"] = outcome.victims.node
        elif outcome.forgets_promise:
            status.pop("nominatedNodeName", None)
        self._api.set_status(wire.PODS, current, status)
        if outcome.victims is not None:
            self._drive_out(pod, outcome.victims)

    def _drive_out(self, pod: Pod, victims: preempting.Victims) -> None:
        words = f"{NAME}: preempting to accommodate a higher priority pod"
        for victim in victims.pods:
            current = self._api.store.find(wire.PODS, *victim.key)
            if current is None or is_terminating(current):
                continue
            status = with_pod_condition(
                current.get("status") or {},
                "DisruptionTarget",
                "True",
                self._api.now(),
                reason=preempting.BY_SCHEDULER,
                message=words,
            )
            self._api.set_status(wire.PODS, current, status)
            self._api.delete(wire.PODS, *victim.key, uid=victim.uid)
        # Those of lower priority that were promised this node look elsewhere.
        for other in tuple(self._state.nominated.get(victims.node, {}).values()):
            if other.priority < pod.priority and other.key != pod.key:
                current = self._api.get(wire.PODS, *other.key)
                status = dict(current.get("status") or {})
                status.pop("nominatedNodeName", None)
                self._api.set_status(wire.PODS, current, status)


_STORAGE: Final = (
    wire.PERSISTENT_VOLUME_CLAIMS,
    wire.PERSISTENT_VOLUMES,
    wire.STORAGE_CLASSES,
    wire.CSI_NODES,
    wire.VOLUME_ATTACHMENTS,
)


def _is_ours(pod: Object) -> bool:
    spec = pod["spec"]
    return (
        not spec.get("nodeName")
        and not spec.get("schedulingGates")
        and (spec.get("schedulerName") or NAME) == NAME
        and not is_terminating(pod)
        and (pod.get("status") or {}).get("phase") not in _ENDED
    )


def _concerns_us(before: Object, after: Object) -> bool:
    """What the scheduler itself writes into a status is no reason to look again."""
    return before["spec"] != after["spec"] or labels(before) != labels(after)


def _news_of(pod: Object, before: Object | None, kind: str) -> News:
    """What this means for those who wait."""
    is_there = bool(pod["spec"].get("nodeName"))
    was_promised = bool(((before or {}).get("status") or {}).get("nominatedNodeName"))
    if kind == "DELETED":
        return News.POD_LEFT if is_there or was_promised else News(0)
    if not is_there:
        has_promise = bool((pod.get("status") or {}).get("nominatedNodeName"))
        return News.POD_LEFT if was_promised and not has_promise else News(0)
    if before is None or not before["spec"].get("nodeName"):
        return News.POD_CAME
    if _is_counted(before) and not _is_counted(pod):
        return News.POD_LEFT
    if is_terminating(before) != is_terminating(pod) or labels(before) != labels(pod):
        return News.POD_CHANGED
    return News.POD_LEFT if before["spec"] != pod["spec"] else News(0)


def _is_counted(pod: Object) -> bool:
    return (pod.get("status") or {}).get("phase") not in _ENDED


def _offer(node: Object) -> tuple[object, ...]:
    """All of a node that is of interest to who looks for one."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    return (
        spec.get("unschedulable") or False,
        spec.get("taints") or [],
        labels(node),
        status.get("allocatable"),
    )
