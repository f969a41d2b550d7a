"""A scheduler with kube-scheduler's hard rules, scores and preemption, on the embedded cluster.

In: changes of the store. Out: pods bound to nodes, or told why not. It judges the plans of the
product, and shares nothing with them.

`scheduling` has the cycle, `waiting` whose turn it is, `state` the sums that all is decided by,
`fitting` and `rules` where a pod can go, `scoring` where it should go, `preempting` who has to go;
`extending` asks an extender, if there is one.
"""

from rescheduler.embedded.scheduler.extending import USUAL_WEIGHT, Extender, Passed
from rescheduler.embedded.scheduler.scheduling import Scheduler

__all__ = ["USUAL_WEIGHT", "Extender", "Passed", "Scheduler"]
