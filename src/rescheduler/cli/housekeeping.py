"""How a process that runs for months keeps its memory small.

A whole cluster is in memory and stays there. What comes and goes beside it, lists of megabytes at a
time, must neither leave holes behind nor make the collector look through all of the rest.
"""

import ctypes
import gc
from asyncio import sslproto
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_WHILE_LISTING: Final = (100_000, 50, 1000)
"""Nothing that is listed at first is garbage: to look for some took a fifth of the time."""

# Of glibc: malloc.h. Large blocks are given back when they are freed, and not kept for later, as
# they would be once some have been freed; and threads share one heap, as they take turns anyway.
_SETTINGS: Final = {
    "M_TRIM_THRESHOLD": (-1, 2**22),
    "M_MMAP_THRESHOLD": (-3, 2**19),
    "M_ARENA_MAX": (-8, 1),
}
_READ_AT_ONCE: Final = 2**16
"""From a connection, in bytes: each has a buffer for it. asyncio's own is four times as much."""
_READ_LATER: Final = 2**14
"""When all is listed: a migration has some 17 connections, of which most never hear more than a few
kilobytes.
"""


@contextmanager
def keeping_house() -> Iterator[Callable[[], None]]:
    """Begun before anything is observed. Gives what is to be called when everything has been
    listed, and between passes.
    """
    thresholds, at_once = gc.get_threshold(), sslproto.SSLProtocol.max_size
    libc = ctypes.CDLL(None)
    # Not every C library has these.
    if hasattr(libc, "mallopt"):
        for parameter, value in _SETTINGS.values():
            libc.mallopt(parameter, value)
    is_listed = False

    def tidy() -> None:
        nonlocal is_listed
        if not is_listed:
            is_listed = True
            # Never looked through again: that takes a tenth of a second, in which no probe is
            # answered. What of it goes by itself goes all the same; what does not is no more than
            # there is now.
            gc.freeze()
            gc.set_threshold(*thresholds)
            sslproto.SSLProtocol.max_size = _READ_LATER
        if hasattr(libc, "malloc_trim"):
            libc.malloc_trim(0)

    gc.set_threshold(*_WHILE_LISTING)
    sslproto.SSLProtocol.max_size = _READ_AT_ONCE
    try:
        yield tidy
    finally:
        sslproto.SSLProtocol.max_size = at_once
        gc.set_threshold(*thresholds)
        gc.unfreeze()
