"""Who may come to a node where others have what only one may have, as the plugins NodePorts and
VolumeRestrictions decide it.
"""

from collections.abc import Iterable

import numpy as np

from rescheduler.model.columns import Numbers
from rescheduler.plan.fitting.census import Census, Count
from rescheduler.plan.fitting.exclusives import Disk, Port
from rescheduler.plan.fitting.index import RuleIndex
from rescheduler.plan.fitting.nodes import Mask, NodeFacts
from rescheduler.plan.fitting.rules import Rules


class Sharing:
    def __init__(self, census: Census, facts: NodeFacts, index: RuleIndex) -> None:
        self._census = census
        self._facts = facts
        self._index = index

    def allowed(self, rules: Rules, at: Numbers) -> Mask:
        ok = np.ones(len(at), np.bool_)
        for each in rules.exclusives:
            for taken in self._rivals(each):
                ok &= self._count(taken).at(at) == 0
        return ok

    def why_not(self, rules: Rules, node: int) -> Iterable[str]:
        at = np.array([node], np.int32)
        for each in rules.exclusives:
            if any(self._count(taken).at(at)[0] for taken in self._rivals(each)):
                yield f"a pod there has its {each}"

    def _rivals(self, exclusive: Port | Disk) -> Iterable[Port | Disk]:
        return (each for each in self._index.users if exclusive.conflicts(each))

    def _count(self, exclusive: Port | Disk) -> Count:
        return self._census.count_classes(
            self._index.users[exclusive], "node", self._facts.everywhere
        )
