"""One client's way into the cluster, on virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from rescheduler.embedded.client import Call, connection
from rescheduler.kube import Object, errors
from rescheduler.wire import (
    LEASES,
    NAMESPACES,
    NODE_METRICS,
    POD_MIGRATIONS,
    PODS,
)
from tests.unit.embedded.support.server import migration, pod
from tests.unit.embedded.support.server_and_client import (
    ServerAndClient,
    gather,
    names,
)

# ---------------------------------------------------------------------- calls


async def test_time_passes_before_and_after(both: ServerAndClient) -> None:
    loop = asyncio.get_running_loop()
    begun = loop.time()
    effective: list[float] = []
    both.store.listen(PODS, lambda _: effective.append(loop.time()))
    await both.kube.create(PODS, "default", pod())
    assert begun + 0.001 <= effective[0] <= loop.time() - 0.001


async def test_what_is_handed_out_is_the_clients_own(both: ServerAndClient) -> None:
    made = await both.kube.create(PODS, "default", pod())
    for own in (
        made,
        await both.kube.get(PODS, "default", "web"),
        (await both.kube.list(PODS))[0],
        (await both.kube.listing(PODS, namespace="default")).items[0],
    ):
        own["metadata"]["labels"]["mine"] = "yes"
        own["spec"]["containers"].clear()
    kept = both.api.get(PODS, "default", "web")
    assert kept["metadata"]["labels"] == {"app": "web"}
    assert len(kept["spec"]["containers"]) == 1


async def test_what_a_client_does_to_a_list_is_not_in_the_next_one(both: ServerAndClient) -> None:
    both.pod()
    for _ in range(2):
        (own,) = await both.kube.list(PODS)
        assert "mine" not in own
        assert "mine" not in own["metadata"]
        own["mine"] = own["metadata"]["mine"] = True
    changed = both.api.patch(PODS, "default", "web", {"metadata": {"labels": {"a": "b"}}})
    (own,) = await both.kube.list(PODS)
    assert own["metadata"] == changed["metadata"]


async def test_who_is_gone_is_not_remembered_for_ever(both: ServerAndClient) -> None:
    for number in range(1500):
        both.pod(f"p{number}")
    assert len(await both.kube.list(PODS)) == 1500
    for number in range(1500):
        both.api.delete(PODS, "default", f"p{number}")
    assert await both.kube.list(PODS) == []
    known = both.client._copies._known  # noqa: SLF001
    assert not any(known.values())


async def test_lists_are_in_order_and_say_where_they_end(both: ServerAndClient) -> None:
    both.api.create(NAMESPACES, None, {"metadata": {"name": "a-team"}})
    for name in ("b", "a"):
        both.pod(name)
    both.api.create(PODS, "a-team", pod("z"))
    listing = await both.kube.listing(PODS)
    assert [each["metadata"]["name"] for each in listing.items] == ["z", "a", "b"]
    assert listing.version == str(both.store.version)
    # As of the server's own kinds, and not as of custom resources.
    assert "kind" not in listing.items[0]
    both.api.create(POD_MIGRATIONS, "default", migration())
    assert (await both.kube.list(POD_MIGRATIONS))[0]["kind"] == "PodMigration"


async def test_lists_are_selected_by_labels(both: ServerAndClient) -> None:
    both.pod("a")
    both.pod("b")
    both.api.patch(PODS, "default", "b", {"metadata": {"labels": {"app": "db", "x": "1"}}})

    async def named(labels: str, namespace: str | None = "default") -> list[str]:
        found = await both.kube.list(PODS, namespace=namespace, labels=labels)
        return [each["metadata"]["name"] for each in found]

    assert await named("app=web") == ["a"]
    assert await named("x") == ["b"]
    assert await named("app in (web,db),!x") == ["a"]
    assert await named("", None) == ["a", "b"]
    assert await named("", "elsewhere") == []


async def test_everything_asked_is_noted(both: ServerAndClient) -> None:
    kube = both.kube
    made = await kube.create(PODS, "default", pod())
    uid = made["metadata"]["uid"]
    await kube.create(PODS, "default", pod("tried"), dry_run=True)
    change: Object = {"metadata": {"labels": {"a": "b"}}}
    await kube.patch(PODS, "default", "web", uid=uid, change=change)
    await kube.evict("default", "web", uid=uid, grace_seconds=3, dry_run=True)
    with pytest.raises(errors.Conflict):
        await kube.delete(PODS, "default", "web", uid="another")
    await kube.evict("default", "web", uid=uid, grace_seconds=3)
    with pytest.raises(errors.NotFound):
        await kube.get(PODS, "default", "web")
    lease = await kube.create(LEASES, "default", {"metadata": {"name": "l"}})
    await kube.replace(LEASES, "default", "l", {**lease, "spec": {"holderIdentity": "me"}})
    requests = both.client.requests
    assert [(each.verb, each.resource, each.subresource, each.code) for each in requests] == [
        ("create", "pods", "", 201),
        ("create", "pods", "", 201),
        ("patch", "pods", "", 200),
        ("create", "pods", "eviction", 201),
        ("delete", "pods", "", 409),
        ("create", "pods", "eviction", 201),
        ("get", "pods", "", 404),
        ("create", "leases", "", 201),
        ("update", "leases", "", 200),
    ]
    assert [each.number for each in requests] == list(range(1, 10))
    assert [each.number for each in requests if each.write] == [1, 3, 5, 6, 8, 9]
    assert requests[7].group == "coordination.k8s.io"
    # What they mean stands in the bodies.
    assert requests[2].body == {"metadata": {"labels": {"a": "b"}, "uid": uid}}
    assert requests[4].body is not None
    assert requests[4].body["preconditions"] == {"uid": "another"}
    assert requests[5].body is not None
    assert requests[5].body["deleteOptions"] == {
        "preconditions": {"uid": uid},
        "gracePeriodSeconds": 3,
    }
    assert (requests[3].dry_run, requests[3].write) == (True, False)


async def test_of_very_much_only_the_last_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_KEPT_CALLS", 3)
    both = ServerAndClient()
    for _ in range(5):
        await both.kube.list(PODS)
    assert [each.number for each in both.client.requests] == [3, 4, 5]


async def test_a_status_is_patched_by_its_subresource(both: ServerAndClient) -> None:
    made = both.api.create(POD_MIGRATIONS, "default", migration())
    uid = made["metadata"]["uid"]
    status = {"phase": "InProgress"}
    changed = await both.kube.patch(
        POD_MIGRATIONS, "default", "m", uid=uid, change={"status": status}, subresource="status"
    )
    assert changed["status"] == status
    assert both.client.requests[-1].subresource == "status"


async def test_reads_are_repeated_and_writes_are_not() -> None:
    asked: list[str] = []

    async def around(call: Call, go_on: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        asked.append(call.verb)
        if len(asked) % 3:
            raise errors.Unavailable("lost")
        return await go_on()

    both = ServerAndClient(around)
    both.pod()
    assert (await both.kube.get(PODS, "default", "web"))["metadata"]["name"] == "web"
    assert asked == ["get"] * 3
    with pytest.raises(errors.Unavailable):
        await both.kube.create(PODS, "default", pod("other"))
    assert asked == ["get"] * 3 + ["create"]
    assert [each.code for each in both.client.requests] == [None, None, 200, None]


async def test_who_stands_around_may_change_what_is_sent_and_heard() -> None:
    async def around(call: Call, go_on: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        assert call.body is not None
        call.body["metadata"]["annotations"] = {"passed": "by"}
        answer = await go_on()
        assert call.code == 201
        return {**answer, "heard": True}

    both = ServerAndClient(around)
    made = await both.kube.create(PODS, "default", pod())
    assert made["heard"]
    assert both.api.get(PODS, "default", "web")["metadata"]["annotations"] == {"passed": "by"}


async def test_an_answer_that_is_lost_is_in_the_log() -> None:
    async def around(_: Call, go_on: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401
        await go_on()
        raise errors.Unavailable("lost")

    both = ServerAndClient(around)
    with pytest.raises(errors.Unavailable):
        await both.kube.create(PODS, "default", pod())
    assert both.client.requests[0].code == 201


# ---------------------------------------------------------------------- figures


async def test_figures_come_in_pieces(both: ServerAndClient) -> None:
    with pytest.raises(errors.NotFound):
        await gather(both.kube.pieces(NODE_METRICS), 1)
    items = [{"metadata": {"name": f"n{number}"}} for number in range(10_000)]
    both.api.metrics = lambda _: msgspec.json.encode({"items": items})
    pieces = await gather(both.kube.pieces(NODE_METRICS), 1)
    assert len(pieces) > 3
    assert msgspec.json.decode(b"".join(pieces))["items"] == items


# ---------------------------------------------------------------------- death


async def test_a_client_that_died_reaches_nobody(both: ServerAndClient) -> None:
    following = asyncio.create_task(gather(both.kube.follow(PODS), 1000))
    watching = asyncio.create_task(gather(both.kube.watch(PODS), 1000))
    asked = asyncio.create_task(both.kube.create(PODS, "default", pod("late")))
    await asyncio.sleep(0)
    both.client.sever()
    with pytest.raises(errors.Unavailable, match="tester was cut off"):
        await asked
    await asyncio.gather(following, watching, return_exceptions=True)
    assert asyncio.get_running_loop().time() < 1
    both.pod()
    for call in (
        both.kube.create(PODS, "default", pod("b")),
        both.kube.get(PODS, "default", "web"),
        both.kube.evict("default", "web", uid="u", grace_seconds=1),
        gather(both.kube.watch(PODS), 1),
    ):
        with pytest.raises(errors.Unavailable):
            await call
    names = [each["metadata"]["name"] for each in both.store.all(PODS)]
    assert names == ["web"]


async def test_streams_that_are_open_end_with_their_client(both: ServerAndClient) -> None:
    following = asyncio.create_task(gather(both.kube.follow(PODS), 1000))
    watching = asyncio.create_task(gather(both.kube.watch(PODS), 1000))
    await asyncio.sleep(1)
    both.client.sever()
    both.pod()
    assert names(await following) == []
    assert await watching == []
    assert asyncio.get_running_loop().time() == pytest.approx(1)
