"""Evictions by others: what is published, asked for, and told to the API server."""

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from rescheduler.config import Configuration, Guard, Tls
from rescheduler.config.guard import WEBHOOK
from rescheduler.controller.events import happenings
from rescheduler.controller.guarding import Guarding, WebhookConfiguration, find_webhook
from rescheduler.controller.guarding.moves_wanted import MovesWanted, record_of
from rescheduler.controller.looking_on import LookingOn
from rescheduler.controller.settings import Settings
from rescheduler.embedded import virtual_time
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.guard import Eviction, Hold, Moment, Pass, Verdict, Wanted, Why
from rescheduler.guard import Guard as Judge
from rescheduler.model import names
from rescheduler.serve import Board
from rescheduler.simulation.filling import fill
from rescheduler.simulation.generating import generate
from rescheduler.wire import EVENTS, POD_MIGRATIONS, PODS, VALIDATING_WEBHOOKS
from tests.unit.guard.tables import US

T = TypeVar("T")
ON = Settings(Configuration(guard=Guard(enabled=True)))
NAMESPACE = "default"


def played(act: Callable[[EmbeddedCluster], Awaitable[T]], *, pods: int = 0) -> T:
    async def main() -> T:
        cluster = EmbeddedCluster(seed=1)
        if pods:
            fill(cluster, generate(nodes=4, pods=pods, seed=1))
        async with cluster:
            if pods:
                await cluster.clock.sleep(60)
            return await act(cluster)

    return virtual_time.run(main())


def wanted(pod: str = "web-1", **more: Any) -> Wanted:  # noqa: ANN401
    given = {
        "namespace": NAMESPACE,
        "pod": pod,
        "uid": f"uid-{pod}",
        "node": "a",
        "user": "alice",
        "attempt": 1,
    }
    return Wanted(**{**given, **more})


# ---------------------------------------------------------------------- moves


def test_a_record_leaves_the_target_to_the_planner() -> None:
    record = record_of(wanted(user="x" * 1000), ON)
    spec = record["spec"]
    assert "target" not in spec
    assert (spec["source"], spec["strategy"], spec["asked"]) == ("a", "Manual", True)
    assert spec["mayRecreate"] is True
    assert spec["reason"] == f"{'x' * 253} evicts it from a"
    assert record["metadata"]["annotations"] == {names.EVICTED_BY: "x" * 253}
    assert record["metadata"]["labels"] == {names.POD_UID: "uid-web-1"}


def test_each_pod_is_asked_for_once() -> None:
    async def act(cluster: EmbeddedCluster) -> list[str]:
        moves = MovesWanted(cluster.clock, ON)
        assert not moves.put(wanted())  # nobody writes yet
        writing = asyncio.create_task(moves.write(cluster.client()))
        await asyncio.sleep(0)
        for pod in ("web-1", "web-2", "web-1"):
            assert moves.put(wanted(pod))
        await cluster.clock.sleep(1)
        assert moves.put(wanted("web-1"))
        await cluster.clock.sleep(1)
        assert moves.refused() == {}
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        return sorted(each["spec"]["pod"]["name"] for each in cluster.store.all(POD_MIGRATIONS))

    assert played(act) == ["web-1", "web-2"]


def test_what_the_api_server_refuses_lets_the_eviction_pass_for_a_while() -> None:
    async def act(cluster: EmbeddedCluster) -> None:
        moves = MovesWanted(cluster.clock, ON)
        writing = asyncio.create_task(moves.write(cluster.client()))
        await asyncio.sleep(0)
        moves.put(wanted(node=""))
        await cluster.clock.sleep(1)
        assert "spec.source" in moves.refused()["uid-web-1"]
        await cluster.clock.sleep(60)
        assert moves.refused() == {}
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)

    played(act)


# ---------------------------------------------------------------------- what is published


def test_every_replica_judges_by_what_it_observes() -> None:
    async def act(cluster: EmbeddedCluster) -> None:
        board = Board(["pods"], cluster.clock)
        guarding = Guarding(board, cluster.clock, ON, lambda: False)
        looking_on = LookingOn(cluster.clock, ON, [guarding])
        async with (
            guarding.at_work(cluster.connect, frozenset({US})),
            looking_on.standing_by(cluster.connect),
        ):
            await cluster.clock.sleep(10)
            found = next(
                each
                for each in cluster.store.all(PODS)
                if each["metadata"]["ownerReferences"][0]["kind"] == "ReplicaSet"
            )
            meta = found["metadata"]
            judge = Judge()
            eviction = Eviction(namespace=meta["namespace"], pod=meta["name"], user="alice")

            def verdict() -> Verdict:
                now = Moment(cluster.clock.now().timestamp(), cluster.clock.monotonic())
                found = judge.judge(eviction, board.guard_table, now)
                guarding.hears(eviction, found)
                return found

            assert verdict().why is Why.ASKED
            await cluster.clock.sleep(5)
            [record] = cluster.store.all(POD_MIGRATIONS)
            assert record["spec"]["pod"]["uid"] == meta["uid"]
            moving = verdict()
            assert moving.why is Why.MOVING
            assert record["metadata"]["name"] in moving.words
            events = await cluster.client().list(EVENTS, namespace=meta["namespace"])
            assert [each["reason"] for each in events if each["reason"] == "EvictionHeld"]
        # Nobody observes any more.
        await cluster.clock.sleep(60)
        assert verdict().why is Why.NOT_SYNCED

    played(act, pods=12)


def test_who_only_looks_holds_nobody() -> None:
    guarding = Guarding(Board(["pods"]), _clock(), ON, lambda: False)
    assert guarding.is_on
    guarding.only_look()
    assert not guarding.is_on


def _clock() -> Any:  # noqa: ANN401
    return virtual_time.VirtualClock()


def test_events_tell_when_it_is_held_and_when_it_is_granted() -> None:
    eviction = Eviction(namespace="shop", pod="web-1", user="alice")
    first = Hold(why=Why.ASKED, words="it moves first", uid="u", is_first=True)
    [held] = happenings.of_eviction(eviction, first)
    assert (held.reason, held.regarding.uid) == ("EvictionHeld", "u")
    assert held.message == "alice wants it evicted: it moves first"
    again = Hold(why=Why.MOVING, words="it moves", uid="u", is_first=False)
    assert [*happenings.of_eviction(eviction, again)] == []
    granted = Pass(why=Why.PATIENCE, words="its patience is over", uid="u", held_seconds=300.0)
    [told] = happenings.of_eviction(eviction, granted)
    assert (told.reason, told.message) == (
        "EvictionGranted",
        "alice may evict it: its patience is over",
    )
    never = Pass(why=Why.NOT_READY, words="not Ready", uid="u")
    assert [*happenings.of_eviction(eviction, never)] == []


# ---------------------------------------------------------------------- the webhook

SERVICE = {"name": "rescheduler-guard", "namespace": "kube-system", "path": "/guard", "port": 443}


def webhook(**client: Any) -> dict[str, Any]:  # noqa: ANN401
    return {
        "metadata": {"name": WEBHOOK},
        "webhooks": [{"name": "guard.rescheduler.io", "clientConfig": client, "timeoutSeconds": 2}],
    }


def kept(settings: Guard, **client: Any) -> dict[str, Any]:  # noqa: ANN401
    """What stands there after a look, and after another one when somebody applied it anew."""

    async def act(cluster: EmbeddedCluster) -> dict[str, Any]:
        kube = cluster.client()
        await kube.create(VALIDATING_WEBHOOKS, "", webhook(**client))
        keeper = WebhookConfiguration(cluster.clock, settings)
        async with keeper.kept_up(cluster.connect):
            keeper.trust(b"whom to trust")
            await cluster.clock.sleep(1)
            first = await kube.get(VALIDATING_WEBHOOKS, None, WEBHOOK)
            version = first["metadata"]["resourceVersion"]
            await cluster.clock.sleep(60)
            quiet = await kube.get(VALIDATING_WEBHOOKS, None, WEBHOOK)
            assert quiet["metadata"]["resourceVersion"] == version
            uid = first["metadata"]["uid"]
            change = {"webhooks": webhook(**client)["webhooks"]}
            await kube.patch(VALIDATING_WEBHOOKS, None, WEBHOOK, uid=uid, change=change)
            await cluster.clock.sleep(15)
            again = await kube.get(VALIDATING_WEBHOOKS, None, WEBHOOK)
        assert again["webhooks"] == first["webhooks"]
        [found] = again["webhooks"]
        assert found["timeoutSeconds"] == 2
        client_config: dict[str, Any] = found["clientConfig"]
        return client_config

    return played(act)


TRUSTED = base64.b64encode(b"whom to trust").decode()


def test_the_api_server_is_told_whom_to_trust() -> None:
    assert kept(Guard(enabled=True), service=SERVICE) == {"service": SERVICE, "caBundle": TRUSTED}


def test_and_where_we_are_if_that_is_elsewhere() -> None:
    url = "https://10.0.0.7:8443/guard"
    settings = Guard(enabled=True, url=url)
    assert kept(settings, service=SERVICE) == {"url": url, "caBundle": TRUSTED}


def test_who_signed_files_is_for_others_to_say() -> None:
    files = Tls(cert_file="a", key_file="b")
    settings = Guard(enabled=True, url="https://here/guard", tls=files)
    found = kept(settings, service=SERVICE, caBundle="theirs")
    assert found == {"url": "https://here/guard", "caBundle": "theirs"}


def test_that_of_another_installation_is_not_ours() -> None:
    async def act(cluster: EmbeddedCluster) -> None:
        kube = cluster.client()
        assert await find_webhook(kube, Configuration()) is None
        await kube.create(VALIDATING_WEBHOOKS, "", webhook(service=SERVICE))
        assert await find_webhook(kube, Configuration()) is not None
        elsewhere = Configuration(
            leader_election=type(Configuration().leader_election)(resource_namespace="elsewhere")
        )
        assert await find_webhook(kube, elsewhere) is None

    played(act)


def test_hosts_of_a_url() -> None:
    for url, host in (
        ("", ""),
        ("https://here", "here"),
        ("https://10.0.0.7:8443/guard", "10.0.0.7"),
        ("https://[::1]:8443/guard", "::1"),
    ):
        assert Guard(url=url).host == host
