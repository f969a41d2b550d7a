"""What a rule is: asked about a pod, it gives a question to be asked of every node, or nothing.

`Refusal.is_final`: taking pods away from the node would not help (UnschedulableAndUnresolvable).
"""

import enum
from collections.abc import Callable
from typing import NamedTuple

from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.state import Node, State


class News(enum.Flag):
    """What may happen that makes a rule say something else."""

    NODE = enum.auto()
    POD_CAME = enum.auto()
    POD_LEFT = enum.auto()
    POD_CHANGED = enum.auto()
    """Its labels, or it is told to end."""
    STORAGE = enum.auto()


class Refusal(NamedTuple):
    rule: str
    reasons: tuple[str, ...]
    is_final: bool = False


Question = Callable[[Node], Refusal | None]
Answer = Question | Refusal | None
"""A refusal: the pod can be nowhere. None: the rule has nothing to say about it."""


class Rule(NamedTuple):
    name: str
    ask: Callable[[Pod, State], Answer]
    news: News
    """What is worth asking again for."""
