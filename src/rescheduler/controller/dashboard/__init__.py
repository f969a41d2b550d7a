"""What the dashboard is drawn from, and what it asks of other stages.

It is worked out only while somebody looks. Whoever acts there does so by a token of their own.
"""

from rescheduler.controller.dashboard.asking import questions
from rescheduler.controller.dashboard.gate import ApiGate, ConnectAs
from rescheduler.controller.dashboard.showing import Showing

__all__ = ["ApiGate", "ConnectAs", "Showing", "questions"]
