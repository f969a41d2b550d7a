import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers.batches import slow_start
from rescheduler.embedded.controllers.replica_set import ReplicaSetController
from rescheduler.embedded.store import Change
from rescheduler.kube import Object, errors
from rescheduler.model import conditions, names
from rescheduler.model.objects import controller, is_terminating
from tests.unit.embedded.support.controller_cluster import (
    NAMESPACE,
    NEVER,
    ControllerCluster,
    bare_pod,
    names_of,
    replica_set,
    template,
    watching,
)

SETS = wire.REPLICA_SETS


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(ReplicaSetController) as shop:
        yield shop


def owned(name: str, replicas: int) -> Object:
    """As a Deployment makes them: selected by a hash, too."""
    labels = {"app": "web", "pod-template-hash": name}
    made = replica_set(
        name, replicas, selector={"matchLabels": labels}, template=template(**labels)
    )
    made["metadata"]["ownerReferences"] = [
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "name": "web",
            "uid": "uid-of-web",
            "controller": True,
        }
    ]
    return made


async def ready(shop: ControllerCluster, replicas: int = 3, **spec: object) -> Object:
    made = shop.create(SETS, replica_set("web", replicas, **spec))
    await asyncio.sleep(10)
    return made


async def test_makes_the_pods_that_are_missing_of_its_template(it: ControllerCluster) -> None:
    its_template = template()
    its_template["metadata"]["annotations"] = {"note": "it"}
    made = await ready(it, replicas=3, template=its_template)
    assert len(it.pods()) == 3
    for pod in it.pods():
        assert pod["metadata"]["name"].startswith("web-")
        assert pod["metadata"]["generateName"] == "web-"
        assert pod["metadata"]["labels"] == {"app": "web"}
        assert pod["metadata"]["annotations"] == {"note": "it"}
        assert pod["metadata"]["ownerReferences"] == [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web",
                "uid": made["metadata"]["uid"],
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
        assert pod["spec"]["containers"][0]["image"] == "web:1"
    assert it.get(SETS, "web")["status"] == {
        "replicas": 3,
        "fullyLabeledReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
        "observedGeneration": 1,
    }


async def test_comes_to_what_was_there_before_it() -> None:
    it = ControllerCluster(ReplicaSetController)
    it.api.create(wire.NAMESPACES, None, {"metadata": {"name": "before"}})
    it.api.create(SETS, "before", replica_set(replicas=2))
    with it:
        await asyncio.sleep(1)
        assert len(list(it.store.all(wire.PODS, "before"))) == 2


async def test_a_pod_that_is_told_to_end_is_replaced_at_once(it: ControllerCluster) -> None:
    made = await ready(it)
    it.stop_seconds = it.start_seconds = NEVER
    gone = it.pods()[0]
    it.api.delete(wire.PODS, NAMESPACE, gone["metadata"]["name"])
    await asyncio.sleep(1)
    assert len(it.pods(made)) == 4
    assert len(it.active(made)) == 3
    status = it.get(SETS, "web")["status"]
    assert status["replicas"] == 3
    assert status["readyReplicas"] == 2
    assert status["terminatingReplicas"] == 1


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_a_pod_that_has_ended_is_replaced_and_left_alone(
    it: ControllerCluster, phase: str
) -> None:
    made = await ready(it)
    it.tell(it.pods()[0], phase=phase, ready=False)
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 4
    assert it.get(SETS, "web")["status"]["replicas"] == 3
    it.patch(SETS, "web", {"spec": {"replicas": 0}})
    await asyncio.sleep(5)
    assert [pod["status"]["phase"] for pod in it.pods(made)] == [phase]


async def test_adopts_an_orphan_that_it_selects_and_then_has_one_too_many(
    it: ControllerCluster,
) -> None:
    """The killer rule for copies: not yet running, it is the first to go."""
    made = await ready(it)
    originals = names_of(it.pods())
    it.create(wire.PODS, bare_pod("copy"))
    with watching(it, wire.PODS) as heard:
        await asyncio.sleep(5)
    adopted = next(each.object for each in heard if each.kind == "MODIFIED")
    assert controller(adopted) == {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "name": "web",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert names_of(it.pods()) == originals


async def test_adopts_one_that_names_it_as_an_owner_already(it: ControllerCluster) -> None:
    """A copy of ours does, so that it goes when its workload goes: it has one reference then."""
    made = await ready(it)
    uid = made["metadata"]["uid"]
    copy = bare_pod("copy")
    mine = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": uid}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}
    copy["metadata"]["ownerReferences"] = [mine, other]
    it.create(wire.PODS, copy)
    with watching(it, wire.PODS) as heard:
        await asyncio.sleep(1)
    adopted = next(each.object for each in heard if each.kind == "MODIFIED")
    assert adopted["metadata"]["ownerReferences"] == [
        other,
        {**mine, "controller": True, "blockOwnerDeletion": True},
    ]


async def test_a_ready_copy_takes_the_place_of_the_pod_that_costs_least(
    it: ControllerCluster,
) -> None:
    made = await ready(it)
    copy = it.create(wire.PODS, bare_pod("copy", app="none-yet"))
    it.run(copy)
    original = it.pods(made)[1]
    it.annotate(original, {names.DELETION_COST: names.LOWEST_DELETION_COST})
    it.label(copy, app="web")
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 3
    assert "copy" in names_of(it.pods(made))
    assert original["metadata"]["name"] not in names_of(it.pods())


async def test_an_unready_sibling_goes_instead_of_the_one_that_costs_least(
    it: ControllerCluster,
) -> None:
    made = await ready(it)
    copy = it.create(wire.PODS, bare_pod("copy", app="none-yet"))
    it.run(copy)
    original, sibling, _ = it.pods(made)
    it.annotate(original, {names.DELETION_COST: names.LOWEST_DELETION_COST})
    it.tell(sibling, ready=False)
    it.label(copy, app="web")
    await asyncio.sleep(0.5)
    assert [
        is_terminating(it.get(wire.PODS, pod["metadata"]["name"])) for pod in (original, sibling)
    ] == [False, True]


async def test_does_not_adopt_what_is_to_end_or_has_ended_or_is_managed(
    it: ControllerCluster,
) -> None:
    it.stop_seconds = NEVER
    made = await ready(it)
    ended = it.create(wire.PODS, bare_pod("ended", app="none"))
    it.run(ended)
    it.tell(ended, phase="Failed", ready=False)
    ending = it.create(wire.PODS, bare_pod("ending", app="none"))
    it.run(ending)
    it.api.delete(wire.PODS, NAMESPACE, "ending")
    managed = bare_pod("managed", app="none")
    managed["metadata"]["ownerReferences"] = owned("x", 1)["metadata"]["ownerReferences"]
    it.create(wire.PODS, managed)
    for name in ("ended", "ending", "managed"):
        it.label(it.get(wire.PODS, name), app="web")
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 3
    assert len(it.pods()) == 6
    # Until its manager lets it go.
    with watching(it, wire.PODS) as heard:
        it.patch(wire.PODS, "managed", {"metadata": {"ownerReferences": None}})
        await asyncio.sleep(1)
    mine = controller(heard[1].object)
    assert mine is not None
    assert mine["uid"] == made["metadata"]["uid"]


async def test_releases_a_pod_that_it_selects_no_more_and_makes_another(
    it: ControllerCluster,
) -> None:
    made = await ready(it)
    freed = it.pods()[0]
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "u"}
    both = [other, *freed["metadata"]["ownerReferences"]]
    it.patch(wire.PODS, freed["metadata"]["name"], {"metadata": {"ownerReferences": both}})
    it.label(freed, app="other")
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 3
    now = it.get(wire.PODS, freed["metadata"]["name"])
    assert now["metadata"]["ownerReferences"] == [other]
    it.label(it.pods(made)[0], app="other")
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 3
    assert sum("ownerReferences" not in pod["metadata"] for pod in it.pods()) == 1


async def test_does_nothing_while_it_is_being_deleted(it: ControllerCluster) -> None:
    made = await ready(it)
    it.api.delete(SETS, NAMESPACE, "web", propagation="Foreground")
    freed = it.pods()[0]
    it.label(freed, app="other")
    it.api.delete(wire.PODS, NAMESPACE, it.pods()[1]["metadata"]["name"])
    it.create(wire.PODS, bare_pod("orphan"))
    await asyncio.sleep(5)
    assert len(it.pods(made)) == 2
    assert controller(it.get(wire.PODS, freed["metadata"]["name"])) is not None
    assert controller(it.get(wire.PODS, "orphan")) is None


async def test_of_two_on_a_node_one_goes_other_revisions_included(it: ControllerCluster) -> None:
    it.start_seconds = NEVER
    old, new = it.create(SETS, owned("old", 1)), it.create(SETS, owned("new", 2))
    await asyncio.sleep(1)
    (of_old,), (alone, doubled) = it.pods(old), it.pods(new)
    it.run(of_old, node="crowded")
    it.run(doubled, node="crowded")
    await asyncio.sleep(100_000)
    # By its time it would be the other one.
    it.run(alone, node="empty")
    it.patch(SETS, "new", {"spec": {"replicas": 1}})
    await asyncio.sleep(5)
    assert names_of(it.pods(new)) == names_of([alone])


async def test_a_replica_set_without_an_owner_knows_of_no_doubles(it: ControllerCluster) -> None:
    it.start_seconds = NEVER
    made = it.create(SETS, replica_set(replicas=3))
    await asyncio.sleep(1)
    first, second, alone = it.pods(made)
    it.run(first, node="crowded")
    it.run(second, node="crowded")
    await asyncio.sleep(100_000)
    it.run(alone, node="empty")
    it.patch(SETS, "web", {"spec": {"replicas": 2}})
    await asyncio.sleep(5)
    assert names_of(it.pods(made)) == names_of([first, second])


async def test_available_only_after_min_ready_seconds_without_anybody_asking(
    it: ControllerCluster,
) -> None:
    def counts(it: ControllerCluster) -> tuple[int, int]:
        status = it.get(SETS, "web")["status"]
        return status["readyReplicas"], status.get("availableReplicas", 0)

    it.create(SETS, replica_set(replicas=2, minReadySeconds=60))
    await asyncio.sleep(1.5)
    first, second = it.pods()
    it.tell(second, ready=False)
    await asyncio.sleep(29)
    it.tell(second)
    # Ready since the second 1 and the second 30.
    await asyncio.sleep(60.9 - it.clock.monotonic())
    assert counts(it) == (2, 0)
    await asyncio.sleep(0.2)
    assert counts(it) == (2, 1)
    await asyncio.sleep(89.9 - it.clock.monotonic())
    assert counts(it) == (2, 1)
    await asyncio.sleep(0.2)
    assert counts(it) == (2, 2)
    it.tell(first, ready=False)
    await asyncio.sleep(0.2)
    assert counts(it) == (1, 1)


async def test_decides_once_and_acts_a_moment_later_on_what_it_had_seen(
    it: ControllerCluster,
) -> None:
    """As with a cache that lags: a cost that is set in between comes too late."""
    made = await ready(it, replicas=2)
    first, second = it.pods(made)
    it.annotate(first, {names.DELETION_COST: "-1"})
    await asyncio.sleep(1)
    decided = asyncio.Event()

    def hear(change: Change) -> None:
        # It says what it has seen right after it has decided.
        if change.object["status"]["observedGeneration"] == 2:
            decided.set()

    it.store.listen(SETS, hear)
    it.patch(SETS, "web", {"spec": {"replicas": 1}})
    await decided.wait()
    it.annotate(second, {names.DELETION_COST: "-2"})
    await asyncio.sleep(5)
    assert names_of(it.pods(made)) == names_of([second])


async def test_does_not_act_twice_on_one_thing(it: ControllerCluster) -> None:
    with watching(it, wire.PODS) as heard:
        it.create(SETS, replica_set(replicas=3))
        for number in range(200):
            change = {"metadata": {"annotations": {"number": str(number)}}}
            it.patch(SETS, "web", change)
            await asyncio.sleep(0.0005)
        assert sum(each.kind == "ADDED" for each in heard) == 3


@pytest.mark.parametrize("seed", range(20))
async def test_looks_again_when_what_it_meant_to_delete_was_gone_already(seed: int) -> None:
    with ControllerCluster(ReplicaSetController, seed=seed) as it:
        made = await ready(it, replicas=2)
        seen = asyncio.Event()

        def hear(change: Change) -> None:
            if change.object["status"]["observedGeneration"] == 2:
                seen.set()

        it.store.listen(SETS, hear)
        it.patch(SETS, "web", {"spec": {"replicas": 1}})
        await seen.wait()
        for pod in it.pods():
            it.remove(pod)
        await asyncio.sleep(5)
        assert len(it.pods(made)) == 1


async def test_more_than_it_makes_at_once_come_all_the_same(it: ControllerCluster) -> None:
    it.start_seconds = NEVER
    it.create(SETS, replica_set(replicas=1100))
    await asyncio.sleep(2)
    assert len(it.pods()) == 1100
    it.patch(SETS, "web", {"spec": {"replicas": 0}})
    await asyncio.sleep(2)
    assert not it.pods()


async def test_says_that_it_was_refused_tries_rarely_and_goes_on_when_it_may(
    it: ControllerCluster,
) -> None:
    quota = it.create(
        wire.RESOURCE_QUOTAS,
        {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "2"}}},
    )
    used = {"hard": {"pods": "2"}, "used": {"pods": "0"}}
    it.api.set_status(wire.RESOURCE_QUOTAS, quota, used)
    it.create(SETS, replica_set(replicas=5))
    await asyncio.sleep(5)
    made = it.get(SETS, "web")
    assert made["status"]["replicas"] == 2
    failure = conditions.find(made, "ReplicaFailure")
    assert failure is not None
    assert failure["reason"] == "FailedCreate"
    assert "exceeded quota" in failure["message"]
    with watching(it, SETS) as heard:
        await asyncio.sleep(5)
    assert not heard
    used = {"hard": {"pods": "9"}, "used": {"pods": "2"}}
    it.api.set_status(wire.RESOURCE_QUOTAS, quota, used)
    await asyncio.sleep(2000)
    made = it.get(SETS, "web")
    assert made["status"]["replicas"] == 5
    assert "conditions" not in made["status"]


async def test_writes_nothing_when_nothing_happens(it: ControllerCluster) -> None:
    await ready(it)
    before = it.store.version
    await asyncio.sleep(86_400)
    assert it.store.version == before


@pytest.mark.parametrize(("limit", "acts"), [(0, 1), (1, 3), (2, 3), (3, 7), (6, 7), (7, 10)])
def test_batches_double_until_one_of_them_is_refused(limit: int, acts: int) -> None:
    done = []

    def act() -> None:
        done.append(1)
        if len(done) > limit:
            raise errors.Forbidden("full")

    refused = slow_start(10, act)
    assert isinstance(refused, errors.Forbidden)
    assert len(done) == acts


def test_all_batches_together_are_as_many_as_wanted() -> None:
    done: list[int] = []
    assert slow_start(10, lambda: done.append(1)) is None
    assert len(done) == 10
