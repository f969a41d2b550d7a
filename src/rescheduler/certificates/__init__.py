"""Certificates of our own ports: a CA, and what it signs, as one Secret holds them.

In: what the Secret holds, for which names a port is asked, the time. Out: whether all is well, and
if not, what takes its place and why. It does no I/O and reads no clock; keys need luck, which the
operating system has. Who reads and writes the Secret is `controller.certificates`.

It is slow to import (cryptography), so whoever needs it imports it when a port is to be secured.
"""

from rescheduler.certificates.contents import KEYS, Contents, Names
from rescheduler.certificates.deciding import Decision, Step, next_step
from rescheduler.certificates.making import repaired

__all__ = ["KEYS", "Contents", "Decision", "Names", "Step", "next_step", "repaired"]
