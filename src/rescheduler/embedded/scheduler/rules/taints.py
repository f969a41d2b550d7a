"""Taints of nodes that a pod does not tolerate."""

from typing import Final

from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model import taints

NAME: Final = "TaintToleration"
_TAINTED: Final = Refusal(NAME, ("node(s) had untolerated taint(s)",), is_final=True)


def _ask(pod: Pod, _: State) -> Answer:
    tolerations = pod.tolerations

    def question(node: Node) -> Refusal | None:
        if node.taints and taints.untolerated(node.taints, tolerations) is not None:
            return _TAINTED
        return None

    return question


RULE: Final = Rule(NAME, _ask, News.NODE)
