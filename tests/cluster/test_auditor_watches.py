"""The judge says so when its connections were cut: it may have missed something."""

import asyncio
from dataclasses import replace

import aiohttp
import pytest

from testbed.auditor import Auditor, auditing
from testbed.world import World


async def test_does_not_judge_what_it_may_have_missed(world: World) -> None:
    """Its watches were cut: it says so at once, even when nothing seems to have changed."""
    async with world.faults() as proxy:
        behind = replace(world.instance, url=proxy.url)
        async with auditing(behind, world.name, world.credential) as auditor:
            await auditor.audit()
            proxy.cut_all()
            with pytest.raises(aiohttp.ClientPayloadError):
                await asyncio.wait_for(_audit_for_ever(auditor), timeout=10)


async def _audit_for_ever(auditor: Auditor) -> None:
    while True:
        await auditor.audit()
