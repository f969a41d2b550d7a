"""How one client reaches the embedded API server: `KubeApi`, with the time and the trouble between.

`client` offers it, `connection` lets time pass and notes each of the `calls`, `streams` are its
watches, and `faults` are what may be put around a connection, or into pods and nodes.
"""

from rescheduler.embedded.client.calls import Around, Call
from rescheduler.embedded.client.client import EmbeddedClient

__all__ = ["Around", "Call", "EmbeddedClient"]
