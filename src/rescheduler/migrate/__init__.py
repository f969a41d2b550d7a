"""Move -> cluster.

In: moves, whoever decided them, and the door to the API server. Out: each move completed, or
undone so that it never happened, and an `Outcome` that says which and why. What does not belong
here: which pod should move, and where to.
"""

from rescheduler.migrate.facts import Intent, Settings
from rescheduler.migrate.intents import find_unfinished, intend
from rescheduler.migrate.outcomes import Outcome
from rescheduler.migrate.surging import carry_out
from rescheduler.migrate.sweeping import sweep_marks

__all__ = ["Intent", "Outcome", "Settings", "carry_out", "find_unfinished", "intend", "sweep_marks"]
