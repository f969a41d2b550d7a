"""All records, whoever wrote them."""

import asyncio
from typing import Any, cast

import pytest

from rescheduler.clock import SystemClock
from rescheduler.kube import KubeApi, Listing, errors
from rescheduler.migrate.record.store import NotInstalled, Store
from tests.unit.migrate.documents import record


def store() -> Store:
    return Store(cast("KubeApi", None), SystemClock(), lambda: None)


def test_a_record_that_cannot_be_read_is_left_alone() -> None:
    known = store()
    wrong: list[dict[str, Any]] = [
        {"step": "Jump"},
        {"way": "Fly"},
        {"startTime": "soon"},
        {"owner": "me"},
    ]
    for number, status in enumerate(wrong):
        known.learn(record(f"p{number}", status=status))
    assert list(known.all()) == []
    half = record("half", status={"phase": "InProgress", "owner": {"uid": "u"}})
    known.learn(half)
    assert list(known.all()) == [half]


def test_the_end_of_a_namesake_does_not_remove_its_successor() -> None:
    known, before, now = store(), record("a"), record("a")
    now["metadata"]["uid"] = "another"
    known.learn(now)
    known.forget(before)
    assert known.has(now)
    known.forget(now)
    assert not known.has(now)


def test_a_migration_is_shown_those_that_concern_it_however_many_others_there_are() -> None:
    known = store()
    for number in range(100):
        known.learn(record(f"flood-{number}"))
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "rs"}
    mate, sibling = record("mate", group="g", group_size=2), record("sibling")
    begun = record("begun", phase="InProgress", status={"owner": owner})
    elsewhere = record("elsewhere", namespace="other", status={"owner": owner})
    for each in (mate, sibling, begun, elsewhere):
        known.learn(each)

    def seen() -> list[str]:
        pods = ["uid-of-sibling", "uid-of-nobody"]
        found = known.concerning("shop", group="g", owner="rs", pods=pods)
        assert all(each["metadata"]["name"] == name for name, each in found.items())
        return sorted(each["spec"]["pod"]["name"] for each in found.values())

    assert seen() == ["begun", "mate", "sibling"]
    known.forget(mate)
    assert seen() == ["begun", "sibling"]
    assert not known.concerning("shop", group="", owner="", pods=[])


def test_what_has_ended_is_in_no_line_any_more() -> None:
    known, one = store(), record("a")
    known.learn(one)
    assert list(known.in_turn(lambda _: True)) == [one]
    begun = record("a", phase="InProgress")
    known.learn(begun)
    assert list(known.begun()) == list(known.in_turn(lambda _: True)) == [begun]
    known.learn(record("a", phase="Failed"))
    assert not list(known.begun())
    assert not list(known.in_turn(lambda _: True))


class Refusing:
    """Lists as often as it is told to, and then refuses."""

    def __init__(self, refusal: errors.KubeError, listings: int) -> None:
        self._refusal = refusal
        self._listings = listings
        self.has_refused = asyncio.Event()

    async def listing(self, *_: object, **__: object) -> Listing:
        if self._listings:
            self._listings -= 1
            return Listing([record("a")], "5")
        self.has_refused.set()
        raise self._refusal

    async def watch(self, *_: object, **__: object) -> Any:  # noqa: ANN401
        raise errors.Unavailable("cut")
        yield


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (errors.NotFound("404"), "does not know PodMigrations: install them"),
        (errors.Forbidden("403"), "may not follow PodMigrations, see rbac.yaml"),
    ],
)
async def test_where_records_cannot_be_had_it_is_said_unless_they_were_had_before(
    refusal: errors.KubeError, words: str
) -> None:
    for listings in (0, 1):
        server = Refusing(refusal, listings)
        known = Store(cast("KubeApi", server), SystemClock(), lambda: None)
        running = asyncio.create_task(known.run())
        async with asyncio.timeout(60):
            await server.has_refused.wait()
            await asyncio.sleep(0)
            if listings:
                await known.synced()
                # What we carry out goes on by what we know.
                assert list(known.all()) == [record("a")]
            else:
                with pytest.raises(NotInstalled, match=words):
                    await known.synced()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
