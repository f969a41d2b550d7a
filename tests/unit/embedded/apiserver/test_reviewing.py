"""A webhook that is asked about evictions, as a real API server asks one."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from rescheduler.embedded import virtual_time
from rescheduler.embedded.apiserver import Webhook
from rescheduler.embedded.cluster import OWN_USER, EmbeddedCluster
from rescheduler.kube import errors
from rescheduler.wire import PODS
from tests.unit.embedded.support.server import Server


class Reviewer:
    """Answers what it is told to, and remembers what it was asked."""

    def __init__(self, **response: object) -> None:
        self.response = response
        self.asked: list[dict[str, Any]] = []

    def __call__(self, body: bytes) -> bytes:
        request = json.loads(body)["request"]
        self.asked.append(request)
        return json.dumps({"response": {"uid": request["uid"], **self.response}}).encode()

    @property
    def webhook(self) -> Webhook:
        return Webhook("guard.test", self)


def held(words: str = "not yet") -> Reviewer:
    status = {"code": 429, "reason": "TooManyRequests", "message": words}
    return Reviewer(allowed=False, status=status)


def is_going(server: Server) -> bool:
    return "deletionTimestamp" in server.api.get(PODS, "default", "web")["metadata"]


def test_who_evicts_what_is_told_and_what_it_allows_goes() -> None:
    server, reviewer = Server(), Reviewer(allowed=True)
    pod = server.running()
    server.api.eviction_webhook = reviewer.webhook
    server.api.evict("default", "web", uid=pod["metadata"]["uid"], grace_seconds=5, user="somebody")
    [asked] = reviewer.asked
    assert (asked["operation"], asked["subResource"]) == ("CREATE", "eviction")
    assert (asked["namespace"], asked["name"]) == ("default", "web")
    assert asked["userInfo"] == {"username": "somebody"}
    assert asked["dryRun"] is False
    assert asked["object"]["deleteOptions"] == {
        "preconditions": {"uid": pod["metadata"]["uid"]},
        "gracePeriodSeconds": 5,
    }
    assert is_going(server)


def test_what_it_refuses_stays_and_its_words_are_heard() -> None:
    server = Server()
    server.running()
    server.budget(disruptionsAllowed=1)
    server.api.eviction_webhook = held("it moves first").webhook
    version = server.store.version
    with pytest.raises(errors.Throttled) as refused:
        server.api.evict("default", "web")
    assert refused.value.status == 429
    assert str(refused.value) == (
        'admission webhook "guard.test" denied the request: it moves first'
    )
    assert server.store.version == version, "not even its budget is charged"


def test_it_is_asked_before_the_pod_is_looked_up() -> None:
    server, reviewer = Server(), held()
    server.api.eviction_webhook = reviewer.webhook
    with pytest.raises(errors.Throttled):
        server.api.evict("default", "gone")
    reviewer.response = {"allowed": True}
    with pytest.raises(errors.NotFound):
        server.api.evict("default", "gone")
    assert len(reviewer.asked) == 2


def test_a_dry_run_says_so_in_its_options() -> None:
    server, reviewer = Server(), Reviewer(allowed=True)
    server.running()
    server.api.eviction_webhook = reviewer.webhook
    server.api.evict("default", "web", dry_run=True)
    assert reviewer.asked[0]["object"]["deleteOptions"] == {"dryRun": ["All"]}
    assert not is_going(server)


@pytest.mark.parametrize(
    ("response", "code", "words"),
    [
        ({"status": {"code": 404, "reason": "NotFound", "message": "gone"}}, 404, "request: gone"),
        ({"status": {"code": 200, "reason": "Odd"}}, 400, "request: Odd"),
        ({}, 400, "request without explanation"),
    ],
)
def test_refusals_of_other_kinds(response: dict[str, Any], code: int, words: str) -> None:
    server = Server()
    server.running()
    server.api.eviction_webhook = Reviewer(allowed=False, **response).webhook
    with pytest.raises(errors.KubeError, match=f"{words}$") as refused:
        server.api.evict("default", "web")
    assert refused.value.status == code


def breaks(_: bytes) -> bytes:
    raise OSError("nobody listens")


@pytest.mark.parametrize(
    "ask",
    [
        breaks,
        lambda _: b"not JSON",
        lambda _: b"{}",
        lambda _: b'{"response": {"uid": "of another", "allowed": false}}',
        Reviewer(),
        Reviewer(allowed="no"),
    ],
)
def test_one_that_fails_is_ignored(ask: Callable[[bytes], bytes]) -> None:
    server = Server()
    server.running()
    server.api.eviction_webhook = Webhook("broken", ask)
    server.api.evict("default", "web")
    assert is_going(server)


async def told_apart() -> None:
    async with EmbeddedCluster(seed=1) as cluster:
        reviewer = held()
        cluster.review_evictions(reviewer.webhook)
        for client in (cluster.client(), cluster.client(name="admin", user="admin")):
            with pytest.raises(errors.Throttled):
                await client.evict("default", "web", uid="u", grace_seconds=1)
        assert [each["userInfo"]["username"] for each in reviewer.asked] == [OWN_USER, "admin"]
        cluster.review_evictions(None)
        with pytest.raises(errors.NotFound):
            await cluster.client().evict("default", "web", uid="u", grace_seconds=1)


def test_clients_are_told_apart_by_their_users() -> None:
    virtual_time.run(told_apart())
