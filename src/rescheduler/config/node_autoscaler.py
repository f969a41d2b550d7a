"""The section `nodeAutoscaler`: which nodes are removed by whoever adds and removes them."""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from dataclasses import dataclass
from typing import Final

from rescheduler.documents.kinds import LabelSelector, Percentage
from rescheduler.documents.settings import setting
from rescheduler.model import names, selectors
from rescheduler.model.selectors import EVERYTHING, NOTHING, Selector

_OF_KARPENTER: Final = selectors.parse(names.NODE_POOL)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAutoscaler:
    """Protects from two who undo each other's work: we fill the nodes that are used least, and an
    autoscaler empties them.
    """

    node_selector: Selector = setting(
        "nodeSelector", LabelSelector(empty=EVERYTHING), default=_OF_KARPENTER
    )
    """Labels of the nodes that it may remove; for an empty text: all. Default: those of karpenter,
    which marks no candidates. cluster-autoscaler does, by a taint that always counts.
    """

    scale_down_utilization_percent: float = setting(
        "scaleDownUtilization", Percentage(zero_allowed=True), default=50.0
    )
    """Of such nodes, those of whose cpu and memory pods ask for no more than this, in per cent, are
    not filled to balance load, unless their pods would have no room elsewhere. Default 50, as
    `--scale-down-utilization-threshold` of cluster-autoscaler; 0: all nodes are filled.
    """

    packed_nodes: Selector = setting(
        "packedNodes", LabelSelector(empty=NOTHING), default=_OF_KARPENTER
    )
    """Labels of the nodes that it packs as full as requests allow, and removes whenever pods have
    room elsewhere: to even them out would undo its work, and it ours. They are only relieved, when
    they are measured to be above their threshold. First onto those that would stay if a third of
    what their pool's pods ask for went; onto others only if karpenter is asked to keep them
    (`migration.doNotDisrupt`). Default: those of karpenter; for an empty text: none, all are evened
    out.
    """
