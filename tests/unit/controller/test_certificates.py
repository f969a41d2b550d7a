"""The Secret of a port, kept good by replicas that race, fail and outlive whoever breaks it."""

import base64
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from rescheduler.certificates import Contents, Names
from rescheduler.controller.certificates import LOOK_SECONDS, Keeper, Kept, keeping
from rescheduler.controller.leader_session import Connect
from rescheduler.embedded import virtual_time
from rescheduler.embedded.client.calls import Around, Call
from rescheduler.embedded.client.faults import lost_reply, lost_request, unavailable, when
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.embedded.virtual_time import VirtualClock
from rescheduler.kube import KubeApi, Object
from rescheduler.wire import SECRETS
from tests.unit.certificates.lives import trusts

NAMES = Names.of_service("door", "kube-system")
SOON = 2 * LOOK_SECONDS
EMPTY: Object = {"metadata": {"name": "own"}, "type": "Opaque"}


class Later(VirtualClock):
    """The same time, and the same years later."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


@dataclass
class Door:
    """What it shows, and what it told others to trust."""

    shown: list[tuple[bytes, bytes]] = field(default_factory=list)
    trusted: list[bytes] = field(default_factory=list)

    def kept(self) -> Kept:
        return Kept(
            namespace="kube-system",
            secret="own",  # noqa: S106 - a name
            brought_by="manifests/some",
            names=NAMES,
            show=lambda certificate, key: self.shown.append((certificate, key)),
            trusted=self.trusted.append,
        )

    def is_trusted(self, now: datetime) -> bool:
        return trusts(self.trusted[-1], self.shown[-1][0], now)


@dataclass
class Scene:
    cluster: EmbeddedCluster
    clock: Later
    log: list[MutableMapping[str, Any]]

    def secret(self) -> Object:
        return self.cluster.api.get(SECRETS, "kube-system", "own")

    def contents(self) -> Contents:
        return Contents.of(self.secret())

    def write(self, **data: bytes | None) -> None:
        """As somebody else does; None: that key is gone."""
        told = {
            key.replace("_", "."): None if pem is None else base64.b64encode(pem).decode()
            for key, pem in data.items()
        }
        self.cluster.api.patch(SECRETS, "kube-system", "own", change={"data": told})

    def connecting(self, around: Around | None = None) -> Connect:
        @asynccontextmanager
        async def connect() -> AsyncIterator[KubeApi]:
            yield self.cluster.client(around=around)

        return connect

    def told(self, event: str) -> list[str]:
        return [
            str(each.get("problem") or each.get("because"))
            for each in self.log
            if each["event"] == event
        ]


def play(scene: Callable[[Scene], Awaitable[None]], *, empty: bool = True) -> None:
    async def main() -> None:
        clock = Later()
        async with EmbeddedCluster(clock=clock) as cluster:
            if empty:
                cluster.api.create(SECRETS, "kube-system", EMPTY)
            with capture_logs() as log:
                await scene(Scene(cluster, clock, log))

    virtual_time.run(main())


def test_an_empty_secret_is_filled_and_shown() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept()):
            await it.clock.sleep(SOON)
        held = it.contents()
        assert door.shown == [(held.certificate, held.key)]
        assert door.trusted == [held.bundle]
        assert door.is_trusted(it.clock.now())
        [entry] = [each for each in it.log if each["event"] == "certificate made"]
        assert entry["log_level"] == "info"
        assert held.key.decode() not in str(it.log)

    play(scene)


def test_of_replicas_that_begin_at_once_one_wins_and_all_show_the_same() -> None:
    async def scene(it: Scene) -> None:
        doors = [Door() for _ in range(5)]
        async with AsyncExitStack() as stack:
            for each in doors:
                await stack.enter_async_context(keeping(it.connecting(), it.clock, each.kept()))
            await it.clock.sleep(SOON)
            assert len(it.told("certificate made")) == 1
            held = it.contents()
            assert all(each.shown == [(held.certificate, held.key)] for each in doors)
            # And so they do whenever it is renewed.
            it.clock.ahead = timedelta(days=61)
            await it.clock.sleep(SOON)
        renewed = it.contents()
        assert renewed.certificate != held.certificate
        assert renewed.bundle == held.bundle
        assert all(each.shown[1:] == [(renewed.certificate, renewed.key)] for each in doors)
        assert all(each.trusted == [held.bundle] for each in doors)
        assert len(it.told("certificate made")) == 2

    play(scene)


@pytest.mark.parametrize("fault", [lost_reply, lost_request, unavailable])
def test_whatever_is_lost_on_the_way(fault: Around) -> None:
    async def scene(it: Scene) -> None:
        seen: list[Call] = []

        def strikes(call: Call) -> bool:
            seen.append(call)
            return len(seen) in (1, 3, 6)

        door = Door()
        async with keeping(it.connecting(when(strikes, fault)), it.clock, door.kept()):
            await it.clock.sleep(2 * SOON)
        held = it.contents()
        assert len(seen) > 6
        # Made once, also where nobody heard that it was put there.
        assert door.shown == [(held.certificate, held.key)]
        assert door.trusted == [held.bundle]

    play(scene)


def test_what_others_break_is_put_back_and_told() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept()):
            await it.clock.sleep(SOON)
            held = it.contents()
            for broken in (
                {"ca_crt": b"garbage"},
                {"ca_key": None},
                {"ca_crt": b"", "ca_key": b"", "tls_crt": b"", "tls_key": b""},
            ):
                it.write(**broken)
                await it.clock.sleep(SOON)
                assert it.contents() == held
            it.write(tls_key=b"garbage")
            await it.clock.sleep(SOON)
            assert it.contents() != held
            assert door.is_trusted(it.clock.now())
            assert door.trusted == [held.bundle]
        assert it.told("certificate made")[1:] == [
            "the bundle cannot be read",
            "the key of the CA cannot be read",
            "there is no CA",
            "the key of the certificate cannot be read",
        ]
        levels = [each["log_level"] for each in it.log if each["event"] == "certificate made"]
        assert levels == ["info", *["warning"] * 4]

    play(scene)


def test_a_secret_that_is_gone_is_told_once_and_filled_as_it_was_when_it_is_back() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept()):
            await it.clock.sleep(SOON)
            held = it.contents()
            it.cluster.api.delete(SECRETS, "kube-system", "own")
            await it.clock.sleep(10 * SOON)
            assert it.told("certificate not kept up") == [
                "the Secret is not there: apply manifests/some, which brings it"
            ]
            it.cluster.api.create(SECRETS, "kube-system", EMPTY)
            await it.clock.sleep(SOON)
        assert it.contents() == held
        assert len(door.shown) == 1

    play(scene)


def test_where_there_never_was_one_nobody_can_connect_and_that_is_told() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept()):
            await it.clock.sleep(SOON)
        assert door.shown == []
        assert [each["until_then"] for each in it.log] == ["nobody can connect by TLS"]

    play(scene, empty=False)


def test_who_must_not_write_reads_what_others_wrote() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept(), writes=False):
            await it.clock.sleep(SOON)
            assert it.contents() == Contents()
            assert door.shown == []
            [problem] = it.told("certificate not kept up")
            assert problem.startswith("there is no CA; there is no certificate; we change")
            await Keeper(it.clock, Door().kept()).look(it.cluster.client())
            await it.clock.sleep(SOON)
        assert door.is_trusted(it.clock.now())

    play(scene)


def test_a_next_ca_is_known_before_it_signs() -> None:
    async def scene(it: Scene) -> None:
        door = Door()
        async with keeping(it.connecting(), it.clock, door.kept()):
            await it.clock.sleep(SOON)
            it.clock.ahead = timedelta(days=2500)
            await it.clock.sleep(SOON)
            first, both = door.trusted
            assert both.startswith(first)
            assert trusts(first, door.shown[-1][0], it.clock.now())
            it.clock.ahead = timedelta(days=3200)
            await it.clock.sleep(SOON)
            assert not trusts(first, door.shown[-1][0], it.clock.now())
            assert trusts(both, door.shown[-1][0], it.clock.now())

    play(scene)


def test_a_defect_of_whoever_shows_it_ends_nothing() -> None:
    async def scene(it: Scene) -> None:
        calls: list[bytes] = []

        def show(certificate: bytes, _key: bytes) -> None:
            calls.append(certificate)
            if len(calls) == 1:
                raise ZeroDivisionError

        async with keeping(it.connecting(), it.clock, replace(Door().kept(), show=show)):
            await it.clock.sleep(SOON)
        assert calls == [it.contents().certificate] * 2
        assert "internal error" in str(it.log)

    play(scene)


def test_who_makes_none_does_not_wait_for_cryptography() -> None:
    """It takes as long to import as much else of a start."""
    looked = "import sys, rescheduler.cli.app, rescheduler.controller.publishing"
    told = f"{looked}; print('cryptography' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "False\n"
