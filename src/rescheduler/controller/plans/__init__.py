"""Plans that people can read: written down, approved or not, carried out, and told what came of it.

The objects are the queue and the truth: whoever leads goes on with what they say.
"""

from rescheduler.controller.plans.book import Book
from rescheduler.controller.plans.keeping import Keeper, keeping
from rescheduler.controller.plans.proposing import Proposing
from rescheduler.controller.plans.tidings import Tidings

__all__ = ["Book", "Keeper", "Proposing", "Tidings", "keeping"]
