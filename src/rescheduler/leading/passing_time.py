"""How much time has passed, the time that the machine was asleep included.

Nobody sets this clock, and it does not stand still in suspend as the monotonic one does: a leader
that wakes up must see that its lease is old.
"""

import time


def boottime() -> float:
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()
