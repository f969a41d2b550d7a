"""Snapshot + Configuration -> Plan.

In: an immutable snapshot and the configuration. Out: moves and refusals, each with its reason.
Pure: no I/O, no clock, no logging. What does not belong here: how a pod is moved.
"""

from rescheduler.plan.balancing import STRATEGY, plan

STRATEGIES = (STRATEGY,)
"""Those that are there; the configuration may name more."""

NEEDS = {
    STRATEGY: frozenset(
        {"nodes", "pods", "replicasets", "deployments", "daemonsets", "runtimeclasses"}
    ),
}
"""By strategy: the resources without which it cannot judge, and rests."""

__all__ = ["NEEDS", "STRATEGIES", "plan"]
