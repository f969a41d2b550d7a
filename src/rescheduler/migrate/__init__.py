"""Move -> cluster.

In: moves, whoever decided them, and the door to the API server. Out: each move completed, or
undone so that it never happened, and an `Outcome` that says which and why. What does not belong
here: which pod should move, and where to.
"""

from rescheduler.migrate.carrying_out import carry_out
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.outcomes import Outcome
from rescheduler.migrate.intents import find_unfinished, intend
from rescheduler.migrate.sweeping import sweep_marks

__all__ = ["Intent", "Outcome", "carry_out", "find_unfinished", "intend", "sweep_marks"]
