"""Ports of the node that a pod wants and another has."""

from typing import Final

from rescheduler.embedded.scheduler.pods import ANY_ADDRESS, Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State

NAME: Final = "NodePorts"
_TAKEN: Final = Refusal(NAME, ("node(s) didn't have free ports for the requested pod ports",))


def _ask(pod: Pod, _: State) -> Answer:
    ports = pod.ports
    if not ports:
        return None

    def question(node: Node) -> Refusal | None:
        for port in ports:
            at = node.ports.get(port[1:])
            if at and (port.address == ANY_ADDRESS or port.address in at or ANY_ADDRESS in at):
                return _TAKEN
        return None

    return question


RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT)
