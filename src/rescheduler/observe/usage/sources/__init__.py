"""Who can tell what nodes and pods use: one small interface, three that have it.

In: the door to whoever measures. Out: a `Sample`, or an error in words. What does not belong here:
what to make of the figures.
"""

from typing import Protocol

from rescheduler.observe.usage.samples import Sample


class UsageSource(Protocol):
    @property
    def name(self) -> str: ...

    async def read(self) -> Sample:
        """What it says now. Raises ReschedulerError when it says nothing."""
        ...
