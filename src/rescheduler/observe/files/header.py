"""What a file of ours says about itself, beside the objects."""

from typing import Final

import msgspec

FORMAT: Final = 1
"""Counts up when a file cannot be read any more by who reads the one before."""


class Format(msgspec.Struct):
    """What files of every format say."""

    format: int
    version: str = ""
    """Of the program that wrote it."""


class SavedGap(msgspec.Struct, omit_defaults=True, rename="camel"):
    source: str
    reason: str
    forbidden: bool = False
    left_out: bool = False


class Header(Format, omit_defaults=True, rename="camel"):
    taken_at: str = ""
    """Empty when nobody knows: the objects are from kubectl."""
    sources: list[str] = []
    """What was looked at, so that a kind of which there is nothing is told from one unknown."""
    gaps: list[SavedGap] = []
    unreadable: list[str] = []
    usage_source: str = ""
    """Who measured the usage that is among the objects."""
