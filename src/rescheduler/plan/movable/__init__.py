"""Who may move: every rule that keeps a pod where it is, whatever the target.

In: a snapshot, the configuration, and where everything is. Out: for a pod every reason why it
stays, in words, and the way in which it would move. What does not belong here: where it may go.
"""

from rescheduler.plan.movable.movable import NEEDS, WELCOME, Movable

__all__ = ["NEEDS", "WELCOME", "Movable"]
