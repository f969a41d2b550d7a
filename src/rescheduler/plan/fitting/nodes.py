"""What the rules ask about nodes, one column a question, for all of them at once."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from rescheduler.model import names, resources, taints
from rescheduler.model.cluster import Node
from rescheduler.model.columns import NONE, Numbers
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.model.selectors import Operator, Requirement
from rescheduler.plan.fitting.rules import Where

Mask = npt.NDArray[np.bool_]

_REMOVERS: Final = {
    **taints.REMOVING,
    # Its choice for later, which it may withdraw.
    "DeletionCandidateOfClusterAutoscaler": "cluster-autoscaler",
    "node.cloudprovider.kubernetes.io/shutdown": "the cloud provider",
    "node.kubernetes.io/out-of-service": "an operator",
}
"""Who writes these is about to take the node away, whatever effect the taint has."""


def why_no_target(node: Node) -> tuple[str, ...]:
    """Every rule about the node alone that it breaks; none: it may be a target."""
    return tuple(_why_no_target(node))


def _why_no_target(node: Node) -> Iterable[str]:
    if not node.ready:
        yield "it is not Ready"
    if node.unschedulable:
        yield "it is cordoned"
    if node.deleted_at:
        yield "it is being deleted"
    if any(label in node.labels for label in names.CONTROL_PLANE):
        yield "it is a control-plane node"
    if is_in_maintenance(node.labels):
        yield "it is in maintenance"
    for remover in _named_by_taints(node, _REMOVERS):
        yield f"{remover} is about to remove it"
    if not node.allocatable.get(resources.CPU) or not node.allocatable.get(resources.MEMORY):
        yield "it reports no allocatable cpu or memory"


def _named_by_taints(node: Node, names_by_key: Mapping[str, str]) -> Iterable[str]:
    found = (names_by_key.get(taint.get("key") or "") for taint in node.taints)
    return dict.fromkeys(filter(None, found))


def who_removes(node: Node) -> str:
    """The autoscaler of nodes that has begun to remove it, and empties it; empty: none has."""
    return " and ".join(_named_by_taints(node, taints.REMOVING))


def is_cordoned(node: Node) -> bool:
    """By somebody else who leaves it at that: what we cordoned for a maintenance is uncordoned when
    the label goes, who drains a node has said himself what is to leave it, and an autoscaler that
    removes one evicts its pods.
    """
    is_ours = bool(node.annotations.get(names.CORDONED))
    return node.unschedulable and not is_ours and not who_removes(node)


class NodeFacts:
    """Of one list of nodes; as long as that does not change, it can be kept."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = tuple(nodes)
        self.everywhere: Numbers = np.arange(len(self.nodes), dtype=np.int32)
        self.problems = [why_no_target(node) for node in self.nodes]
        self.open: Mask = np.array([not problem for problem in self.problems], np.bool_)
        self._columns: dict[str, tuple[Numbers, list[str]]] = {}
        self._affinities: dict[bytes, Mask] = {}
        self._tolerations: dict[bytes, Mask] = {}
        self._taint_sets, self._taint_set_of = _distinct(
            [tuple(map(_taint_key, node.taints)) for node in self.nodes]
        )

    def domains(self, key: str) -> tuple[Numbers, list[str]]:
        """By node: the number of its value of this label, NONE where it has none; the values."""
        if key not in self._columns:
            numbers: dict[str, int] = {}
            column = np.full(len(self.nodes), NONE, np.int32)
            for place, node in enumerate(self.nodes):
                value = node.labels.get(key)
                if value is not None:
                    column[place] = numbers.setdefault(value, len(numbers))
            self._columns[key] = column, list(numbers)
        return self._columns[key]

    def allowed_by(self, where: Where) -> Mask:
        if where.key not in self._affinities:
            required = where.required
            mask = np.ones(len(self.nodes), np.bool_)
            for key, value in required.selector.items():
                mask &= self._where_holds(Requirement(key, Operator.EQUALS, frozenset({value})))
            if required.terms is not None:
                any_term = np.zeros(len(self.nodes), np.bool_)
                for term in required.terms:
                    one = np.ones(len(self.nodes), np.bool_)
                    for requirement in term.labels:
                        one &= self._where_holds(requirement)
                    for holds in term.fields:
                        one &= np.array([holds(node.name) for node in self.nodes], np.bool_)
                    any_term |= one
                mask &= any_term
            self._affinities[where.key] = mask
        return self._affinities[where.key]

    def tolerated_by(self, key: bytes, tolerations: Sequence[taints.Toleration]) -> Mask:
        """Nodes without a taint that keeps away who has these tolerations."""
        if key not in self._tolerations:
            verdicts = [
                all(
                    effect not in taints.KEEPS_AWAY
                    or taints.is_tolerated(
                        {"key": name, "value": value, "effect": effect}, tolerations
                    )
                    for name, value, effect in taint_set
                )
                for taint_set in self._taint_sets
            ]
            self._tolerations[key] = np.array(verdicts, np.bool_)[self._taint_set_of]
        return self._tolerations[key]

    def untolerated(self, node: int, tolerations: Sequence[taints.Toleration]) -> Iterable[str]:
        """Every taint that keeps away who has these tolerations, in words."""
        for taint in self.nodes[node].taints:
            # Cordoned and lost nodes are tainted too, and that has been said.
            is_said = self.problems[node] and taint["key"].startswith("node.kubernetes.io/")
            if not is_said and taints.untolerated([taint], tolerations):
                value = f"={taint['value']}" if taint.get("value") else ""
                yield f"{taint['key']}{value}:{taint['effect']}"

    def _where_holds(self, requirement: Requirement) -> Mask:
        """Asked once for each value that there is: thousands of nodes have a few."""
        column, values = self.domains(requirement.key)
        verdicts = [requirement.matches({requirement.key: value}) for value in values]
        # The last is for nodes without the label, whose number is NONE (-1).
        verdicts.append(requirement.matches({}))
        found: Mask = np.array(verdicts, np.bool_)[column]
        return found


_TaintKey = tuple[str, str, str]


def _taint_key(taint: Mapping[str, object]) -> _TaintKey:
    return tuple(str(taint.get(name) or "") for name in ("key", "value", "effect"))  # type: ignore[return-value]


def _distinct(
    items: Iterable[tuple[_TaintKey, ...]],
) -> tuple[list[tuple[_TaintKey, ...]], Numbers]:
    numbers: dict[tuple[_TaintKey, ...], int] = {}
    column = [numbers.setdefault(item, len(numbers)) for item in items]
    return list(numbers), np.array(column, np.int32)
