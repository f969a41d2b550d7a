"""The kernel's calls around namespaces that Python 3.11 does not offer."""

import ctypes
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

NEW_MOUNTS = 0x00020000
NEW_CGROUPS = 0x02000000
NEW_HOSTNAME = 0x04000000
NEW_IPC = 0x08000000
NEW_PROCESSES = 0x20000000
NEW_NETWORK = 0x40000000

READ_ONLY = 1
REMOUNT = 32
BIND = 4096
RECURSIVE = 16384
PRIVATE = 1 << 18
SHARED = 1 << 20

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def unshare(flags: int) -> None:
    _check(_libc.unshare(flags), "unshare")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    texts = (source.encode(), target.encode(), kind.encode() or None)
    result = _libc.mount(*texts, ctypes.c_ulong(flags), options.encode() or None)
    _check(result, f"mount of {kind or source} at {target}")


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")


def network_of(pid: int | str) -> int:
    """A handle: as long as it is open, the network is there."""
    return os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)


def new_network() -> int:
    """The handle of one that is empty."""
    with _coming_home():
        unshare(NEW_NETWORK)
        return network_of("thread-self")


@contextmanager
def within(network: int) -> Iterator[None]:
    """Sockets that this thread makes meanwhile, and processes that it starts, are of that network.

    A socket stays there, whoever uses it. Never `await` within it.
    """
    with _coming_home():
        enter(network)
        yield


@contextmanager
def within_network_of(pid: int) -> Iterator[None]:
    network = network_of(pid)
    try:
        with within(network):
            yield
    finally:
        os.close(network)


@contextmanager
def _coming_home() -> Iterator[None]:
    home = network_of("thread-self")
    try:
        yield
    finally:
        enter(home)
        os.close(home)


def enter(network: int) -> None:
    """For good: to come back, use `within`."""
    _check(_libc.setns(network, NEW_NETWORK), "setns")
