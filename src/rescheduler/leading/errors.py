"""What ends an election without a leader, or a term before its time."""

from rescheduler.errors import ReschedulerError


class ElectionError(ReschedulerError):
    """There is no taking part in the election; the message says what to do about it."""


class Refused(ElectionError):
    """The server will not have it, and asking again is likely to be vain."""


class Superseded(Exception):
    """The lease is not ours any more. Never leaves this package."""
