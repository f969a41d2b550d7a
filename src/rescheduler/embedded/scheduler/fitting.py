"""Where a pod can go, and in the scheduler's words why not elsewhere."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from rescheduler.embedded.scheduler.pods import Pod
from rescheduler.embedded.scheduler.rules import RULES, node_affinity
from rescheduler.embedded.scheduler.rules.ruling import Question, Refusal
from rescheduler.embedded.scheduler.state import Node, State

_ALWAYS_ASKED: Final = 100
"""So many nodes that fit are always looked for; of a large cluster, not all."""
_NOT_NAMED: Final = Refusal(
    node_affinity.NAME, ("node(s) didn't satisfy plugin(s) [NodeAffinity]",), is_final=True
)


class Verdicts(NamedTuple):
    fitting: list[Node]
    refused: Mapping[str, Refusal]
    """By name of the node; not all nodes of a large cluster were asked, if enough of them fit."""
    nowhere: Refusal | None = None
    """It can be on no node at all, whatever the nodes are."""
    asked: int = 0

    @property
    def rules(self) -> frozenset[str]:
        given = [self.nowhere] if self.nowhere else self.refused.values()
        return frozenset(each.rule for each in given)


class Examination:
    """Of one pod, with the cluster as it is now."""

    def __init__(self, pod: Pod, state: State) -> None:
        self._pod = pod
        self._state = state
        self.names = node_affinity.named(pod)
        self._questions: list[Question] = []
        self.nowhere: Refusal | None = None
        for rule in RULES:
            answer = rule.ask(pod, state)
            if isinstance(answer, Refusal):
                self.nowhere = self.nowhere or answer
            elif answer is not None:
                self._questions.append(answer)

    def verdicts(self, nodes: list[Node], first: int) -> Verdicts:
        """Asks one after the other, from this one on, until enough of them fit."""
        if self.nowhere:
            return Verdicts([], {}, self.nowhere)
        if self.names is not None:
            refused = {each.name: _NOT_NAMED for each in nodes if each.name not in self.names}
            nodes = [each for each in nodes if each.name in self.names]
            first = 0
        else:
            refused = {}
        enough, fitting, asked = _enough(len(nodes)), [], 0
        for node in (*nodes[first:], *nodes[:first]):
            asked += 1
            problem = self.why_not(node)
            if problem is not None:
                refused[node.name] = problem
                continue
            fitting.append(node)
            if len(fitting) >= enough:
                break
        return Verdicts(fitting, refused, None, asked)

    def why_not(self, node: Node) -> Refusal | None:
        """Asked twice where others wait to get there who do not rank lower: with and without."""
        for question in self._questions:
            problem = question(node)
            if problem is not None:
                return problem
        promised = self._state.nominated
        return self._with_others(node) if promised and node.name in promised else None

    def _with_others(self, node: Node) -> Refusal | None:
        pod, state = self._pod, self._state
        others = [
            each
            for each in state.nominated[node.name].values()
            if each.key != pod.key and each.priority >= pod.priority
        ]
        if not others:
            return None
        for other in others:
            state.add(other, node.name)
        try:
            crowded = Examination(pod, state)
            problem = crowded.nowhere
            for question in crowded._questions:
                problem = problem or question(node)
        finally:
            for other in others:
                state.take_out(other)
        return problem


def _enough(count: int) -> int:
    """As kube-scheduler's numFeasibleNodesToFind with its usual settings."""
    if count < _ALWAYS_ASKED:
        return count
    percentage = max(50 - count // 125, 5)
    return max(count * percentage // 100, _ALWAYS_ASKED)


# ---------------------------------------------------------------------- words


def in_words(verdicts: Verdicts, count: int, after: str) -> str:
    """`0/3 nodes are available: ...`, as in the condition of a pod that fits nowhere."""
    if not count:
        return "no nodes available to schedule pods"
    if verdicts.nowhere:
        words = ", ".join(verdicts.nowhere.reasons)
    else:
        words = tally(each.reasons for each in verdicts.refused.values())
    return f"0/{count} nodes are available: {words}. {after}".strip()


def tally(reasons: Iterable[Iterable[str]]) -> str:
    counts = Counter(words for each in reasons for words in each)
    return ", ".join(sorted(f"{number} {words}" for words, number in counts.items()))
