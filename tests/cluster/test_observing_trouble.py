"""Whatever happens to its streams: an observer says that it is blind, and then sees what is there.

The API server itself goes well here; see `test_observing_restarts` for when it does not.
"""

import random
import re
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import yaml

from rescheduler.kube.following import Manner
from rescheduler.model.objects import Object
from testbed.api import Api, ApiError
from testbed.builders import deployment, pod
from testbed.faultproxy import (
    Fault,
    Match,
    Request,
    cut_after_bytes,
    expired_event,
    expired_frame,
    gone,
    half_open,
    inject_event,
    stall_after,
    throttled,
    unavailable,
)
from testbed.world import SERVICE_ACCOUNT, World
from tests.cluster.observing import (
    QUICK,
    SOME,
    blindness_of,
    converges,
    eyes,
    is_blind,
    names_of,
    sees,
)

IN_JSON = Manner(protobuf=False)
QUICKER = Manner(watch_seconds=1.0, silence_seconds=1.0)
AT_ONCE = {"gracePeriodSeconds": 0}
# As long as a dead connection may go unnoticed in the manner QUICK, and some for a busy machine.
NOTICED_SECONDS = QUICK.timeout().sock_read or 0.0
SLACK_SECONDS = 10.0


def is_list(request: Request) -> bool:
    return "sendInitialEvents" in request.target or "limit=" in request.target


def is_resumed(request: Request) -> bool:
    return "resourceVersion=" in request.target and "sendInitialEvents" not in request.target


def resumed(resource: str) -> Match:
    """Watches that go on from a version; not those that list."""
    return Match(verb="watch", resource=resource, predicate=is_resumed)


# ------------------------------------------------------------------ cut


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("manner", [Manner(), IN_JSON], ids=["protobuf", "json"])
async def test_streams_cut_in_the_middle_of_an_event(
    world: World, manner: Manner, seed: int
) -> None:
    chosen = random.Random(seed)  # noqa: S311 - the same in every run
    [node, _] = await world.add_nodes(2)
    await world.create(deployment("web", replicas=2))
    await world.wait("web runs", lambda: world.is_complete("web"))
    async with world.faults() as proxy:
        # No event is so short that it would be whole.
        cuts = [
            proxy.on(resumed(resource), cut_after_bytes(chosen.randint(1, 150)), times=1)
            for resource in chosen.choices(SOME, k=4)
        ]
        async with eyes(world, manner=manner) as observer, blindness_of(observer) as blindness:
            await observer.settled()
            await world.scale("web", 3)
            await world.cordon(node)
            await world.uncordon(node)
            await world.wait("web runs", lambda: world.is_complete("web"))
            for cut in cuts:
                await cut.wait_fired(within=30)
            await converges(world, observer)
    disturbed = {cut.match.resource or "" for cut in cuts}
    for resource in SOME:
        is_told = blindness.was_told(resource, "not heard of since", "PayloadError")
        assert is_told == (resource in disturbed), (resource, blindness)


# ------------------------------------------------------------------ silent


async def test_a_watch_that_is_silently_dead_is_found_and_told_with_the_time(world: World) -> None:
    async with world.faults() as proxy, eyes(world, manner=QUICK) as observer:
        dead = proxy.on(resumed("pods"), stall_after(1))
        await observer.settled()
        await world.create(pod("web"))
        await dead.wait_fired()
        began = time.monotonic()
        await world.create(pod("unheard-of"))
        gap = await is_blind(world, observer, "pods", "not heard of since", "imeout")
        assert time.monotonic() - began < NOTICED_SECONDS + SLACK_SECONDS
        [told] = re.findall(r"since (\S+Z): ", gap.reason)
        last = datetime.fromisoformat(told)
        ago = (datetime.now(UTC) - last).total_seconds()  # noqa: TID251 - of a real process
        assert NOTICED_SECONDS - 2 <= ago < NOTICED_SECONDS + SLACK_SECONDS
        # All others go on.
        assert {each.source for each in observer.gaps()} == {"pods"}
        proxy.clear()
        assert names_of(await converges(world, observer)) == ["unheard-of", "web"]


@pytest.mark.parametrize("fault", [half_open(), stall_after(1)], ids=lambda fault: fault.name)
@pytest.mark.parametrize(
    "manner", [QUICKER, replace(QUICKER, watch_list=False)], ids=["watch", "pages"]
)
async def test_a_first_listing_that_is_silently_dead_is_begun_anew(
    world: World, fault: Fault, manner: Manner
) -> None:
    await world.create(pod("web"))
    async with world.faults() as proxy:
        dead = proxy.on(Match(resource="pods", predicate=is_list), fault, times=1)
        async with eyes(world, manner=manner) as observer:
            await dead.wait_fired()
            [gap] = [gap for gap in observer.gaps() if gap.source == "pods"]
            assert gap.reason.startswith("pods are not listed yet")
            await observer.settled()
            assert names_of(await converges(world, observer)) == ["web"]


# ------------------------------------------------------------------ too old


@pytest.mark.parametrize(
    ("manner", "expiry"),
    [
        (Manner(), gone()),
        (Manner(), inject_event(expired_frame())),
        (IN_JSON, inject_event(expired_event())),
        (Manner(watch_list=False, page=2), gone()),
    ],
    ids=["as-answer", "as-event", "as-event-in-json", "then-pages"],
)
async def test_what_went_while_its_going_was_not_heard_of_is_gone(
    world: World, manner: Manner, expiry: Fault
) -> None:
    await world.create(pod("kept"), pod("doomed"), pod("namesake"))
    async with world.faults() as proxy, eyes(world, manner=manner) as observer:
        await observer.settled()
        await sees(world, observer, "doomed", "kept", "namesake")
        before = await converges(world, observer)
        away = proxy.on(Match(verb="watch", resource="pods"), unavailable())
        proxy.cut_all()
        await is_blind(world, observer, "pods", "not heard of since", "unable to handle")
        await world.api.delete("Pod", world.name, "doomed", AT_ONCE)
        await world.api.delete("Pod", world.name, "namesake", AT_ONCE)
        await world.create(pod("namesake"), pod("newcomer"))
        async with blindness_of(observer) as blindness:
            expired = proxy.on(resumed("pods"), expiry, times=1)
            away.remove()
            await expired.wait_fired(within=30)
            after = await converges(world, observer)
        assert blindness.was_told("pods", "too old")
    assert names_of(after) == ["kept", "namesake", "newcomer"]
    assert uid_of(before, "kept") == uid_of(after, "kept")
    assert uid_of(before, "namesake") != uid_of(after, "namesake")


def uid_of(objects: list[Object], name: str) -> Any:  # noqa: ANN401
    [found] = [each for each in objects if each["metadata"]["name"] == name]
    return found["metadata"]["uid"]


# ------------------------------------------------------------------ busy


def is_open_watch_of_pods(request: Request) -> bool:
    return resumed("pods").accepts(request) and request.status == 200


@pytest.mark.parametrize("manner", [Manner(), Manner(watch_list=False)], ids=["watch", "pages"])
async def test_a_busy_server_is_left_alone_for_as_long_as_it_asks(
    world: World, manner: Manner
) -> None:
    async with world.faults() as proxy:
        lists = Match(resource="pods", predicate=is_list)
        proxy.on(lists, throttled(retry_after=2), times=1)
        async with eyes(world, manner=manner) as observer:
            async with blindness_of(observer) as blindness:
                await observer.settled()
                # Else the first watch might meet both faults at once, and be sent again unheard.
                await proxy.wait_until(lambda: any(map(is_open_watch_of_pods, proxy.requests)))
                later = proxy.on(resumed("pods"), throttled(retry_after=2), times=1)
                proxy.cut_all()
                await later.wait_fired()
                await world.create(pod("web"))
                assert names_of(await converges(world, observer)) == ["web"]
            assert blindness.was_told("pods", "not listed yet")
            assert blindness.was_told("pods", "not heard of since", "Too many requests")
        asked = [each for each in proxy.requests if each.resource == "pods"]
    refused = [number for number, each in enumerate(asked) if each.status == 429]
    assert len(refused) == 2
    for number in refused:
        assert asked[number + 1].time - asked[number].time >= 2.0


# ------------------------------------------------------------------ a token no more


async def test_a_token_that_is_refused_blinds_until_there_is_another(world: World) -> None:
    bound, first = await bound_token(world, "first")
    file = world.folder / "token"
    file.write_text(first)
    document = yaml.safe_load(world.kubeconfig().read_text())
    document["users"][0]["user"] = {"tokenFile": str(file)}
    config = world.folder / "of-file.kubeconfig"
    config.write_text(yaml.safe_dump(document))
    async with eyes(world, manner=QUICK, kubeconfig=str(config)) as observer:
        await observer.settled()
        await delete_secret(world, bound)
        for source in SOME:
            await is_blind(world, observer, source, "does not accept our credentials")
        await world.create(pod("unheard-of"))
        bound, second = await bound_token(world, "second")
        file.write_text(second)
        assert names_of(await converges(world, observer)) == ["unheard-of"]
        assert await is_refused(world, first)
    await delete_secret(world, bound)


async def bound_token(world: World, name: str) -> tuple[str, str]:
    """A token of the product's account that is good for as long as a Secret is there."""
    namespace, account = SERVICE_ACCOUNT
    folder = f"/api/v1/namespaces/{namespace}"
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": f"{world.name}-{name}"}}
    made = await world.api.request("POST", f"{folder}/secrets", body=secret)
    metadata = made["metadata"]
    bound = {"apiVersion": "v1", "kind": "Secret", "name": metadata["name"], "uid": metadata["uid"]}
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"boundObjectRef": bound},
    }
    answer = await world.api.request("POST", f"{folder}/serviceaccounts/{account}/token", body=body)
    return metadata["name"], answer["status"]["token"]


async def delete_secret(world: World, name: str) -> None:
    path = f"/api/v1/namespaces/{SERVICE_ACCOUNT[0]}/secrets/{name}"
    await world.api.request("DELETE", path)


async def is_refused(world: World, token: str) -> bool:
    async with Api(world.instance.url, token, world.instance.client_ssl()) as api:
        try:
            await api.list("Node")
        except ApiError as problem:
            return problem.status == 401
    return False
