"""Events: what was done, and what could not be, on the objects that people look at.

Of the core group, whose fields `kubectl describe` shows best. They are notes: nobody waits for
them, and one that is lost is no failure; what is to survive stands in the records.
"""

from rescheduler.controller.events.happenings import Regarding
from rescheduler.controller.events.recorder import Recorder, Tells, recording, silent
from rescheduler.controller.events.trail import Trail, lease_of

__all__ = ["Recorder", "Regarding", "Tells", "Trail", "lease_of", "recording", "silent"]
