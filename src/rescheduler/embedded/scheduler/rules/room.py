"""Room on a node: what pods ask for, of every resource, and how many pods there may be."""

from typing import Final

from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Answer, News, Refusal, Rule
from rescheduler.embedded.scheduler.state import Node, State
from rescheduler.model.resources import PODS

NAME: Final = "NodeResourcesFit"


def _ask(pod: Pod, _: State) -> Answer:
    asked = [(name, amount) for name, amount in pod.requests.items() if amount > 0]

    def question(node: Node) -> Refusal | None:
        has, taken = node.allocatable, node.requested
        for name, amount in asked:
            if amount > has.get(name, 0) - taken.get(name, 0):
                return _refused(asked, node)
        return None

    return question


def has_room(pod: Pod, node: Node) -> bool:
    has, taken = node.allocatable, node.requested
    return all(
        amount <= has.get(name, 0) - taken.get(name, 0)
        for name, amount in pod.requests.items()
        if amount > 0
    )


def _refused(asked: list[tuple[str, int]], node: Node) -> Refusal:
    has, taken = node.allocatable, node.requested
    lacking = [
        (name, amount) for name, amount in asked if amount > has.get(name, 0) - taken.get(name, 0)
    ]
    words = ("Too many pods" if name == PODS else f"Insufficient {name}" for name, _ in lacking)
    # More than the node has, full or empty.
    is_final = any(amount > has.get(name, 0) for name, amount in lacking if name != PODS)
    return Refusal(NAME, tuple(words), is_final=is_final)


RULE: Final = Rule(NAME, _ask, News.NODE | News.POD_LEFT)
