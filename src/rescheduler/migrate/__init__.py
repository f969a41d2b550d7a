"""Move -> cluster.

In: moves, whoever decided them, and the door to the API server. Out: each move completed, or
undone so that it never happened, and an `Outcome` that says which and why; both stand in the record
of the migration, a PodMigration. What does not belong here: which pod should move, and where to.
"""

from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.queue.figures import Figures
from rescheduler.migrate.queue.migrator import Migrator, migrating
from rescheduler.migrate.record.requesting import Handle

__all__ = [
    "Figures",
    "Handle",
    "Intent",
    "Migrator",
    "Outcome",
    "migrating",
]
