"""Empties one node, as NodeMaintenance does, and tells how it goes: `rescheduler drain`."""

from rescheduler.controller.drain.drain import Drain

__all__ = ["Drain"]
