"""How a process that runs for months keeps its memory small.

A whole cluster is in memory and stays there. What comes and goes beside it, lists of megabytes at a
time, must neither leave holes behind nor make the collector look through all of the rest.
"""

import ctypes
import gc
from asyncio import sslproto
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

_WHILE_LISTING: Final = (100_000, 50, 1000)
"""Nothing that is listed at first is garbage: to look for some took a fifth of the time."""
_ANEW: Final = 20
"""Every so many times, what has stayed till then is looked through, too."""

# Of glibc: malloc.h. Large blocks are given back when they are freed, and not kept for later, as
# they would be once some have been freed; and threads share one heap, as they take turns anyway.
_SETTINGS: Final = {
    "M_TRIM_THRESHOLD": (-1, 2**22),
    "M_MMAP_THRESHOLD": (-3, 2**19),
    "M_ARENA_MAX": (-8, 1),
}
_READ_AT_ONCE: Final = 2**16
"""From a connection, in bytes: each has a buffer for it, and a migration some 17 connections, of
which most never hear more than a few kilobytes. asyncio's own is four times as much.
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
    times = count()

    def tidy() -> None:
        time = next(times)
        if time == 0:
            # Nothing of it is garbage, and no probe has to wait while it is looked through.
            gc.freeze()
            gc.set_threshold(*thresholds)
        elif time % _ANEW == 0:
            gc.unfreeze()
            gc.collect()
            gc.freeze()
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
