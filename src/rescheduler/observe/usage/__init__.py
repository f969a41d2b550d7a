"""What nodes and pods really use.

In: the door to whoever measures, the settings, and placements of the pods. Out: `model.usage.Usage`
for a placement, corrected to it, with what is unknown named as such. What does not belong here:
thresholds, and what to move.

    source -> sampling -> history -> Usage
"""

from rescheduler.observe.usage.choosing import Choice, choose
from rescheduler.observe.usage.history import unknown
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.sampling import Sampler
from rescheduler.observe.usage.sources import UsageSource

__all__ = ["Choice", "Placement", "Sampler", "UsageSource", "choose", "unknown"]
