"""A long run looks for garbage seldom, and leaves nothing of that behind when it ends."""

import gc
from asyncio import sslproto

from rescheduler.cli.housekeeping import keeping_house


def test_what_has_stayed_is_not_looked_through_again() -> None:
    before = gc.get_threshold(), sslproto.SSLProtocol.max_size
    gc.unfreeze()  # what earlier tests have left
    with keeping_house() as tidy:
        assert gc.get_threshold() > before[0]
        at_once = sslproto.SSLProtocol.max_size
        tidy()
        assert sslproto.SSLProtocol.max_size < at_once  # few connections hear much from now on
        frozen = gc.get_freeze_count()
        assert frozen > 0
        assert gc.get_threshold() == before[0]
        for _ in range(20):
            more = [[] for _ in range(100)]  # type: list[list[object]]
            tidy()
            # Neither thawed, which would have to be looked through, nor frozen, which would stay.
            assert gc.get_freeze_count() <= frozen
            del more
    assert (gc.get_threshold(), sslproto.SSLProtocol.max_size) == before
    assert gc.get_freeze_count() == 0
