import asyncio
import random
from collections import Counter

import pytest

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.client import EmbeddedClient, faults
from rescheduler.embedded.client.calls import Around, Call
from rescheduler.embedded.store import Store
from rescheduler.embedded.virtual_time import VirtualClock, run
from rescheduler.kube import Object, errors
from rescheduler.wire import LEASES, NAMESPACES, PODS
from tests.unit.embedded.support.server import Server, pod


def _client(around: Around) -> tuple[ApiServer, EmbeddedClient]:
    api = ApiServer(Store(), VirtualClock().now, random.Random(1))  # noqa: S311
    api.create(NAMESPACES, None, {"metadata": {"name": "default"}})
    return api, EmbeddedClient(api, random.Random(2), around=around)  # noqa: S311


def _chance(seed: int = 3) -> random.Random:
    return random.Random(seed)  # noqa: S311


@pytest.mark.parametrize(
    ("fault", "error", "is_there"),
    [
        (faults.lost_request, errors.Unavailable, False),
        (faults.lost_reply, errors.Unavailable, True),
        (faults.throttled, errors.Throttled, False),
        (faults.unavailable, errors.Unavailable, False),
        (faults.conflict, None, True),
    ],
)
async def test_what_becomes_of_a_write(
    fault: Around, error: type[errors.KubeError] | None, *, is_there: bool
) -> None:
    api, client = _client(fault)
    if error is None:
        await client.create(PODS, "default", pod())
    else:
        with pytest.raises(error):
            await client.create(PODS, "default", pod())
    assert (api.store.find(PODS, "default", "web") is not None) == is_there


async def test_a_refusal_is_lost_as_well() -> None:
    _, client = _client(faults.lost_reply)
    with pytest.raises(errors.Unavailable):
        await client.evict("default", "nobody", uid="u", grace_seconds=1)
    assert client.requests[0].code == 404


async def test_only_who_names_a_version_meets_a_conflict() -> None:
    api, client = _client(faults.conflict)
    lease = api.create(LEASES, "default", {"metadata": {"name": "l"}})
    metadata = lease["metadata"]
    uid, version = metadata["uid"], metadata["resourceVersion"]
    with pytest.raises(errors.Conflict):
        await client.replace(LEASES, "default", "l", {**lease, "spec": {}})
    change: Object = {"metadata": {"labels": {"a": "b"}}}
    versioned = {"metadata": {"resourceVersion": version, "labels": {"a": "b"}}}
    with pytest.raises(errors.Conflict):
        await client.patch(LEASES, "default", "l", uid=uid, change=versioned)
    with pytest.raises(errors.Conflict):
        await client.delete(LEASES, "default", "l", uid=uid, resource_version=version)
    assert api.get(LEASES, "default", "l") == lease
    await client.patch(LEASES, "default", "l", uid=uid, change=change)
    await client.delete(LEASES, "default", "l", uid=uid)
    assert api.store.count(LEASES) == 0


def _outcomes(seed: int) -> list[bool]:
    found: list[bool] = []

    async def main() -> None:
        _, client = _client(faults.at_rate(0.3, _chance(seed), faults.lost_request))
        for number in range(200):
            try:
                await client.create(PODS, "default", pod(f"p{number}"))
            except errors.Unavailable:
                found.append(False)
            else:
                found.append(True)

    run(main())
    return found


def test_faults_at_a_rate_are_repeatable() -> None:
    first = _outcomes(1)
    assert 40 <= first.count(False) <= 80
    assert _outcomes(1) == first
    assert _outcomes(2) != first


async def test_faults_come_together() -> None:
    _, client = _client(
        faults.together(
            faults.when(lambda call: call.verb == "list", faults.throttled),
            faults.when(lambda call: call.number == 1, faults.lost_reply),
        )
    )
    with pytest.raises(errors.Unavailable):
        await client.create(PODS, "default", pod("a"))
    await client.create(PODS, "default", pod("b"))
    with pytest.raises(errors.Throttled):
        await client.list(PODS)


async def test_words_name_the_call() -> None:
    call = Call(verb="create", group="", resource="pods", subresource="eviction", name="web")
    with pytest.raises(errors.Unavailable, match="create pods/eviction web: Connection reset"):
        await faults.lost_request(call, lambda: asyncio.sleep(0))


# ---------------------------------------------------------------------- pods


def test_some_pods_never_become_ready() -> None:
    server = Server()
    trouble = faults.Trouble(server.api, _chance())
    stop = trouble.never_ready(0.25)
    key = "simulation.rescheduler.io/never-ready"
    counted = Counter(
        key in (server.pod(f"p{number}")["metadata"].get("annotations") or {})
        for number in range(200)
    )
    assert 30 <= counted[True] <= 70
    stop()
    assert all("annotations" not in server.pod(f"q{number}")["metadata"] for number in range(50))


def test_some_pods_are_slow_or_crash() -> None:
    server = Server()
    trouble = faults.Trouble(server.api, _chance(), prefix="testbed.rescheduler.io/")
    trouble.slow_to_start(1, 2.5)
    trouble.crashing(1)
    assert server.pod()["metadata"]["annotations"] == {
        "testbed.rescheduler.io/ready-after": "2.5s",
        "testbed.rescheduler.io/crashes": "true",
    }


def test_what_a_pod_says_of_itself_stays() -> None:
    server = Server()
    faults.Trouble(server.api, _chance()).slow_to_start(1, 60)
    own = {"simulation.rescheduler.io/ready-after": "1s"}
    body = pod()
    body["metadata"]["annotations"] = own
    assert server.api.create(PODS, "default", body)["metadata"]["annotations"] == own
