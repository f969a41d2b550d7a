"""What must hold where a pod goes, a rule in each file, as kube-scheduler 1.36 has them.

In: a pod and the state. Out: why it can not be on a node. Shares nothing with `rescheduler.plan`,
which is judged by it.
"""

from typing import Final

from rescheduler.embedded.scheduler.rules import (
    attach_limits,
    cordons,
    exclusive_claims,
    neighbours,
    node_affinity,
    ports,
    room,
    spreading,
    taints,
    volume_binding,
    volume_zones,
)
from rescheduler.embedded.scheduler.rules.ruling import Rule

RULES: Final[tuple[Rule, ...]] = (
    cordons.RULE,
    taints.RULE,
    node_affinity.RULE,
    ports.RULE,
    room.RULE,
    exclusive_claims.RULE,
    attach_limits.RULE,
    volume_binding.RULE,
    volume_zones.RULE,
    spreading.RULE,
    neighbours.RULE,
)
"""In the order in which they are asked: the first that refuses gives the reason."""
NEWS: Final = {rule.name: rule.news for rule in RULES}
