"""An extender, as a kube-scheduler may have one: asked about the nodes that its own rules leave.

Whose answers they are is not known here. It is one that may be ignored: if it fails, pods are
scheduled as if it were not there.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

import structlog

from rescheduler.embedded.scheduler.fitting import Verdicts
from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules.ruling import Refusal
from rescheduler.embedded.scheduler.state import Node
from rescheduler.kube import Object

NAME: Final = "Extender"
"""As a rule that refuses nodes."""
USUAL_WEIGHT: Final = 13
"""By which the best score of an extender outweighs all others together."""
_SCALE: Final = 10
"""An extender's scores go to 10, those of others to 100."""
_IGNORED: Final = "extender failed, and is ignored"


class Passed(NamedTuple):
    names: Sequence[str]
    refused: Mapping[str, str] = {}
    """By node: why not. If others made room there, that might change."""
    closed: Mapping[str, str] = {}
    """By node: why not, whoever else goes."""


class Extender(Protocol):
    @property
    def weight(self) -> int: ...

    def filter(self, pod: Object, names: Sequence[str]) -> Passed: ...

    def prioritize(self, pod: Object, names: Sequence[str]) -> Sequence[int]:
        """From 0 to 10, in the order of the names, of which there are two at least."""
        ...


def filtered(extender: Extender | None, pod: Pod, verdicts: Verdicts) -> Verdicts:
    """The same, less those that it refuses."""
    if extender is None or not verdicts.fitting:
        return verdicts
    log = structlog.get_logger()
    names = [node.name for node in verdicts.fitting]
    try:
        passed = extender.filter(pod.raw, names)
        _refuse_unknown(passed.names, names)
    except Exception:
        log.exception(_IGNORED, verb="filter")
        return verdicts
    kept = {*passed.names}
    refused = dict(verdicts.refused)
    for name in names:
        if name not in kept:
            words = passed.closed.get(name) or passed.refused.get(name) or ""
            refused[name] = Refusal(NAME, (words,), is_final=name in passed.closed)
    fitting = [node for node in verdicts.fitting if node.name in kept]
    return verdicts._replace(fitting=fitting, refused=refused)


def points(extender: Extender | None, pod: Pod, nodes: Sequence[Node]) -> Sequence[int]:
    """What comes on top of the scheduler's own, in the order of the nodes."""
    nothing = [0] * len(nodes)
    if extender is None:
        return nothing
    log = structlog.get_logger()
    try:
        scores = extender.prioritize(pod.raw, [node.name for node in nodes])
        return [score * extender.weight * _SCALE for score, _ in zip(scores, nodes, strict=True)]
    except Exception:
        log.exception(_IGNORED, verb="prioritize")
        return nothing


def _refuse_unknown(passed: Sequence[str], offered: Sequence[str]) -> None:
    if unknown := {*passed} - {*offered}:
        raise ValueError(f"nodes that were not offered: {sorted(unknown)}")
