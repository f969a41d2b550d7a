"""No new pods on a node that is marked unschedulable, but for those who tolerate even that."""

from typing import Final

from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model import taints

NAME: Final = "NodeUnschedulable"
_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
_CORDONED: Final = Refusal(NAME, ("node(s) were unschedulable",), is_final=True)


def _ask(pod: Pod, _: State) -> Answer:
    if taints.is_tolerated(_CORDON, pod.tolerations):
        return None
    return _question


def _question(node: Node) -> Refusal | None:
    return _CORDONED if node.is_unschedulable else None


RULE: Final = Rule(NAME, _ask, News.NODE)
