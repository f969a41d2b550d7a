"""The ways of moving, by the names that records have for them."""

from enum import StrEnum
from typing import Self


class Way(StrEnum):
    """In the order in which they are asked whether a pod can move by them: `deciding/ways.py` of
    migrating finds each by its name. Here is what others have to know of them.
    """

    makes_a_copy: bool
    """So that the original goes last."""
    is_by_name: bool
    """People may ask for it: in the configuration, and on a pod."""

    # A row of a table. The default is for `Way("Surge")`, by which one is found.
    def __new__(cls, name: str, makes_a_copy: bool = True, is_by_name: bool = True) -> Self:  # noqa: FBT001, FBT002
        made = str.__new__(cls, name)
        made._value_ = name
        made.makes_a_copy = makes_a_copy
        made.is_by_name = is_by_name
        return made

    SURGE = "Surge", True, True
    """A copy is Ready on the target before its ReplicaSet removes the original."""
    COPY = "Copy", True, False
    """The same for a pod that nobody controls: we evict the original ourselves."""
    RECREATE = "Recreate", False, True
    """The original goes first; its successor is steered to the target. The last to be asked, so it
    takes whoever has to end before its successor begins.
    """
