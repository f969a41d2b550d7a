"""What is heard of the objects of one kind."""

from collections.abc import Sequence
from typing import Any, NamedTuple

View = Any
"""One object as a view on what the server sent, protobuf or JSON alike: attributes named as in
JSON, and only the fields of `wire.fields`. An absent object reads as an empty one, absent text as
"", an absent list as empty. `wire.views` has the functions for what differs between the formats.
"""


class Malformed(NamedTuple):
    """An object that could not be read."""

    name: str
    """With its namespace before a slash; it ends in a question mark when it could not be found."""
    problem: str
    gone: bool = False
    """It is not there any more; all that matters of it is its name."""


class Batch(NamedTuple):
    """What was heard at once, in order. It has objects that are present or gone, never both; one
    without any tells that the server is there, and how far it has come.
    """

    present: Sequence[View] = ()
    """Added or changed. An object may stand here more than once: the last is how it is."""
    gone: Sequence[View] = ()
    malformed: Sequence[Malformed] = ()
    version: str = ""
    """Where to resume after this batch; empty until everything that was there has come."""
    complete: bool = False
    """With this batch, and no other, everything has come that was there at the start."""
