import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from rescheduler import wire
from rescheduler.embedded import virtual_time
from rescheduler.embedded.controllers import rolling
from rescheduler.embedded.controllers.deployment import DeploymentController
from rescheduler.embedded.controllers.replica_set import ReplicaSetController
from rescheduler.embedded.store import Change
from rescheduler.kube import Object
from rescheduler.model import conditions, names
from rescheduler.model.objects import annotations, controller
from tests.unit.embedded.support.controller_cluster import (
    NAMESPACE,
    NEVER,
    ControllerCluster,
    deployment,
    names_of,
    replica_set,
    template,
    watching,
)

SETS, DEPLOYMENTS = wire.REPLICA_SETS, wire.DEPLOYMENTS
HASH = "pod-template-hash"


def shop() -> ControllerCluster:
    return ControllerCluster(DeploymentController, ReplicaSetController)


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with shop() as made:
        yield made


async def ready(it: ControllerCluster, replicas: int = 3, **spec: object) -> Object:
    made = it.create(DEPLOYMENTS, deployment("web", replicas, **spec))
    await asyncio.sleep(30)
    return made


def roll_out(it: ControllerCluster, image: str) -> Object:
    containers = [{"name": "web", "image": image}]
    return it.patch(
        DEPLOYMENTS, "web", {"spec": {"template": {"spec": {"containers": containers}}}}
    )


def strategy(surge: int | str, unavailable: int | str) -> Object:
    rules = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"type": "RollingUpdate", "rollingUpdate": rules}


def of_image(it: ControllerCluster, image: str) -> Object:
    (found,) = (
        each
        for each in it.replica_sets()
        if each["spec"]["template"]["spec"]["containers"][0]["image"] == image
    )
    return found


def sizes(it: ControllerCluster) -> dict[str, int]:
    """By the image."""
    return {
        each["spec"]["template"]["spec"]["containers"][0]["image"]: each["spec"]["replicas"]
        for each in it.replica_sets()
    }


def revision(item: Object) -> str | None:
    return annotations(item).get(names.REVISION)


def progress(it: ControllerCluster) -> tuple[str, str]:
    found = conditions.find(it.get(DEPLOYMENTS, "web"), "Progressing")
    assert found is not None
    return found["status"], found["reason"]


def heard_at_each_change(it: ControllerCluster, look: Callable[[], None]) -> None:
    def hear(_: Change) -> None:
        look()

    it.store.listen(wire.PODS, hear)


async def test_makes_a_replica_set_and_tells_how_it_is(it: ControllerCluster) -> None:
    body = deployment("web", 3, minReadySeconds=5)
    body["metadata"]["annotations"] = {
        "team": "shop",
        "kubectl.kubernetes.io/last-applied-configuration": "{}",
    }
    made = it.create(DEPLOYMENTS, body)
    await asyncio.sleep(30)
    (its_set,) = it.replica_sets()
    label = its_set["metadata"]["labels"][HASH]
    assert its_set["metadata"]["name"] == f"web-{label}"
    assert its_set["metadata"]["labels"] == {"app": "web", HASH: label}
    assert its_set["spec"]["selector"] == {"matchLabels": {"app": "web", HASH: label}}
    assert its_set["spec"]["minReadySeconds"] == 5
    assert its_set["metadata"]["annotations"] == {
        "team": "shop",
        names.REVISION: "1",
        rolling.DESIRED: "3",
        rolling.MAXIMUM: "4",
    }
    reference = controller(its_set)
    assert reference is not None
    assert reference["uid"] == made["metadata"]["uid"]
    assert reference["blockOwnerDeletion"]
    assert {pod["metadata"]["labels"][HASH] for pod in it.pods(its_set)} == {label}
    now = it.get(DEPLOYMENTS, "web")
    assert revision(now) == "1"
    assert now["metadata"]["generation"] == 1
    found = now["status"].pop("conditions")
    assert now["status"] == {
        "observedGeneration": 1,
        "replicas": 3,
        "updatedReplicas": 3,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "terminatingReplicas": 0,
    }
    assert {(each["type"], each["status"], each["reason"]) for each in found} == {
        ("Available", "True", "MinimumReplicasAvailable"),
        ("Progressing", "True", "NewReplicaSetAvailable"),
    }


@pytest.mark.parametrize(
    ("surge", "unavailable"),
    [(1, 0), (0, 1), ("25%", "25%"), (3, 2), ("100%", 0), (0, "100%"), ("0%", "1%")],
)
async def test_rolls_out_within_its_bounds(
    it: ControllerCluster, surge: int | str, unavailable: int | str
) -> None:
    made = await ready(it, 10, strategy=strategy(surge, unavailable))
    most = 10 + rolling.max_surge(made)
    least = 10 - rolling.max_unavailable(made)
    seen = []

    def look() -> None:
        # Of what is wanted, not of what is there: who makes pods may be faster than who
        # deletes them.
        seen.append(rolling.sizes(it.replica_sets()))
        assert seen[-1] <= most
        assert sum(conditions.holds(pod, "Ready") for pod in it.active()) >= least

    heard_at_each_change(it, look)
    roll_out(it, "web:2")
    await asyncio.sleep(60)
    assert sizes(it) == {"web:1": 0, "web:2": 10}
    assert len(it.pods()) == 10
    # It used what it may.
    assert max(seen) == most
    assert revision(it.get(DEPLOYMENTS, "web")) == "2"
    assert [revision(each) for each in it.replica_sets()] == ["1", "2"]
    assert progress(it) == ("True", "NewReplicaSetAvailable")


async def test_a_rollout_that_never_gets_ready_stops_and_is_late_and_is_rolled_back(
    it: ControllerCluster,
) -> None:
    await ready(it, 10, strategy=strategy(3, 2), progressDeadlineSeconds=100)
    originals = names_of(it.pods())
    it.start_seconds = NEVER
    roll_out(it, "web:2")
    await asyncio.sleep(60)
    assert sizes(it) == {"web:1": 8, "web:2": 5}
    assert progress(it) == ("True", "ReplicaSetUpdated")
    await asyncio.sleep(60)
    assert progress(it) == ("False", "ProgressDeadlineExceeded")
    status = it.get(DEPLOYMENTS, "web")["status"]
    assert (status["replicas"], status["updatedReplicas"]) == (13, 5)
    assert status["unavailableReplicas"] == 5
    before = it.store.version
    await asyncio.sleep(86_400)
    assert it.store.version == before
    it.start_seconds = 1
    roll_out(it, "web:1")
    await asyncio.sleep(60)
    assert sizes(it) == {"web:1": 10, "web:2": 0}
    assert len(names_of(it.pods()) & originals) == 8
    back = of_image(it, "web:1")
    assert revision(back) == "3"
    assert annotations(back)["deployment.kubernetes.io/revision-history"] == "1"
    assert revision(it.get(DEPLOYMENTS, "web")) == "3"
    assert progress(it) == ("True", "NewReplicaSetAvailable")


async def test_unhealthy_old_pods_go_first(it: ControllerCluster) -> None:
    await ready(it, 4, strategy=strategy(1, 1))
    sick = it.pods()[:2]
    for pod in sick:
        it.tell(pod, ready=False)
    await asyncio.sleep(1)
    it.start_seconds = NEVER
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    # Three must be there and two are, and of the new ones none: only what serves nobody
    # may go, to make room for one more.
    assert len(names_of(sick) & names_of(it.pods())) == 1
    assert sizes(it) == {"web:1": 3, "web:2": 2}


async def test_another_template_amid_a_rollout_goes_on_from_there(it: ControllerCluster) -> None:
    await ready(it, 6, strategy=strategy(2, 0))
    it.start_seconds = 100
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 6, "web:2": 2}
    it.start_seconds = 1
    roll_out(it, "web:3")
    await asyncio.sleep(60)
    assert sizes(it) == {"web:1": 0, "web:2": 0, "web:3": 6}
    assert revision(it.get(DEPLOYMENTS, "web")) == "3"


async def test_scaling_makes_no_new_replica_set_and_no_revision(it: ControllerCluster) -> None:
    await ready(it, 3)
    for replicas in (5, 1, 0, 4):
        it.patch(DEPLOYMENTS, "web", {"spec": {"replicas": replicas}})
        await asyncio.sleep(30)
        assert sizes(it) == {"web:1": replicas}
        assert len(it.pods()) == replicas
        (its_set,) = it.replica_sets()
        assert annotations(its_set)[rolling.DESIRED] == str(replicas)
        status = it.get(DEPLOYMENTS, "web")["status"]
        assert status.get("availableReplicas", 0) == replicas
        assert "unavailableReplicas" not in status
    assert revision(it.get(DEPLOYMENTS, "web")) == "1"


async def test_scaled_amid_a_rollout_all_grow_by_their_sizes(it: ControllerCluster) -> None:
    await ready(it, 10, strategy=strategy(2, 0))
    it.start_seconds = NEVER
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 10, "web:2": 2}
    it.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 22}})
    await asyncio.sleep(10)
    # 12 become 24.
    assert sizes(it) == {"web:1": 20, "web:2": 4}
    for each in it.replica_sets():
        assert annotations(each)[rolling.DESIRED] == "22"
        assert annotations(each)[rolling.MAXIMUM] == "24"


@pytest.mark.parametrize(
    ("wanted", "older", "newer"), [(5, 2, 3), (3, 1, 2)], ids=["grows", "shrinks"]
)
async def test_scaled_amid_a_rollout_of_two_alike_the_newer_grows_and_the_older_shrinks(
    it: ControllerCluster, wanted: int, older: int, newer: int
) -> None:
    await ready(it, 4, strategy=strategy(0, 2))
    it.start_seconds = NEVER
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 2, "web:2": 2}
    it.patch(DEPLOYMENTS, "web", {"spec": {"replicas": wanted}})
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": older, "web:2": newer}


async def test_who_recreates_waits_until_all_old_pods_are_gone(it: ControllerCluster) -> None:
    await ready(it, 3, strategy={"type": "Recreate"})
    it.stop_seconds = 50

    def look() -> None:
        assert len({pod["metadata"]["labels"][HASH] for pod in it.pods()}) <= 1

    heard_at_each_change(it, look)
    roll_out(it, "web:2")
    await asyncio.sleep(40)
    assert sizes(it) == {"web:1": 0}
    assert len(it.pods()) == 3
    assert it.get(DEPLOYMENTS, "web")["status"]["terminatingReplicas"] == 3
    await asyncio.sleep(40)
    assert sizes(it) == {"web:1": 0, "web:2": 3}
    assert progress(it) == ("True", "NewReplicaSetAvailable")


async def test_who_recreates_waits_for_a_pod_that_hangs(it: ControllerCluster) -> None:
    await ready(it, 2, strategy={"type": "Recreate"})
    it.stop_seconds = NEVER
    hung, other = it.pods()
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    it.remove(other)
    await asyncio.sleep(10_000)
    assert sizes(it) == {"web:1": 0}
    it.remove(hung)
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 0, "web:2": 2}


async def test_paused_it_scales_and_rolls_nothing_out(it: ControllerCluster) -> None:
    await ready(it, 3)
    it.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    await asyncio.sleep(5)
    assert progress(it) == ("Unknown", "DeploymentPaused")
    roll_out(it, "web:2")
    it.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}})
    await asyncio.sleep(10_000)
    assert sizes(it) == {"web:1": 5}
    now = it.get(DEPLOYMENTS, "web")
    assert now["status"]["observedGeneration"] == now["metadata"]["generation"]
    assert "updatedReplicas" not in now["status"]
    before = it.store.version
    await asyncio.sleep(86_400)
    assert it.store.version == before
    it.patch(DEPLOYMENTS, "web", {"spec": {"paused": False}})
    await asyncio.sleep(1)
    assert progress(it)[1] != "ProgressDeadlineExceeded"
    await asyncio.sleep(60)
    assert sizes(it) == {"web:1": 0, "web:2": 5}


async def test_keeps_as_many_old_replica_sets_as_it_is_told(it: ControllerCluster) -> None:
    await ready(it, 1, revisionHistoryLimit=2)
    for number in range(2, 7):
        roll_out(it, f"web:{number}")
        await asyncio.sleep(30)
    assert sizes(it) == {"web:4": 0, "web:5": 0, "web:6": 1}
    assert revision(it.get(DEPLOYMENTS, "web")) == "6"
    it.patch(DEPLOYMENTS, "web", {"spec": {"revisionHistoryLimit": 0}})
    await asyncio.sleep(30)
    assert sizes(it) == {"web:6": 1}


async def test_paused_amid_a_rollout_it_deletes_none_that_has_pods(it: ControllerCluster) -> None:
    await ready(it, 3, strategy=strategy(1, 0))
    it.start_seconds = NEVER
    roll_out(it, "web:2")
    await asyncio.sleep(10)
    it.patch(DEPLOYMENTS, "web", {"spec": {"paused": True, "revisionHistoryLimit": 0}})
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 3, "web:2": 1}


def other_set(name: str, replicas: int) -> Object:
    """That the Deployment selects, and has not made."""
    labels = {"app": "web", HASH: name}
    its_template = template("other", **labels)
    made = replica_set(name, replicas, selector={"matchLabels": labels}, template=its_template)
    made["metadata"]["labels"] = labels
    return made


async def test_paused_with_all_its_pods_it_scales_down_what_it_adopts(
    it: ControllerCluster,
) -> None:
    await ready(it, 2)
    it.patch(DEPLOYMENTS, "web", {"spec": {"paused": True}})
    it.create(SETS, other_set("other", 2))
    await asyncio.sleep(10)
    assert sizes(it) == {"web:1": 2, "other": 0}


async def test_does_not_adopt_a_replica_set_that_is_being_deleted(it: ControllerCluster) -> None:
    leaving = other_set("leaving", 0)
    leaving["metadata"]["finalizers"] = ["test.io/hold"]
    it.create(SETS, leaving)
    it.api.delete(SETS, NAMESPACE, "leaving")
    await ready(it, 1)
    assert controller(it.get(SETS, "leaving")) is None


async def test_how_it_goes_is_told_anew_only_by_a_rollout(it: ControllerCluster) -> None:
    await ready(it, 3)
    told = conditions.find(it.get(DEPLOYMENTS, "web"), "Progressing")
    assert told is not None
    it.api.delete(wire.PODS, NAMESPACE, it.pods()[0]["metadata"]["name"])
    await asyncio.sleep(30)
    assert conditions.find(it.get(DEPLOYMENTS, "web"), "Progressing") == told
    roll_out(it, "web:2")
    await asyncio.sleep(30)
    anew = conditions.find(it.get(DEPLOYMENTS, "web"), "Progressing")
    assert anew is not None
    assert anew["lastUpdateTime"] > told["lastUpdateTime"]
    # It went on all the time.
    assert anew["lastTransitionTime"] == told["lastTransitionTime"]


async def test_adopts_a_replica_set_that_it_selects(it: ControllerCluster) -> None:
    labels = {"app": "web", HASH: "mine"}
    orphan = replica_set("own", 2, selector={"matchLabels": labels}, template=template(**labels))
    orphan["metadata"]["labels"] = labels
    it.create(SETS, orphan)
    await asyncio.sleep(10)
    pods = names_of(it.pods())
    made = await ready(it, 2)
    (its_set,) = it.replica_sets()
    reference = controller(its_set)
    assert reference is not None
    assert reference["uid"] == made["metadata"]["uid"]
    assert revision(its_set) == "1"
    assert names_of(it.pods()) == pods
    it.patch(SETS, "own", {"metadata": {"labels": {"app": "other"}}})
    await asyncio.sleep(10)
    assert controller(it.get(SETS, "own")) is None
    assert len(it.replica_sets()) == 2


async def test_a_changed_template_of_its_replica_set_is_rolled_out_anew(
    it: ControllerCluster,
) -> None:
    """It is an old one then, its name is taken, and another hash is tried."""
    await ready(it, 2)
    (its_set,) = it.replica_sets()
    containers = [{"name": "web", "image": "tampered"}]
    it.patch(
        SETS,
        its_set["metadata"]["name"],
        {"spec": {"template": {"spec": {"containers": containers}}}},
    )
    await asyncio.sleep(60)
    assert sizes(it) == {"tampered": 0, "web:1": 2}
    assert it.get(DEPLOYMENTS, "web")["status"]["collisionCount"] == 1


async def test_annotations_and_min_ready_seconds_reach_the_replica_set(
    it: ControllerCluster,
) -> None:
    await ready(it, 2)
    change = {"metadata": {"annotations": {"team": "it"}}, "spec": {"minReadySeconds": 9}}
    it.patch(DEPLOYMENTS, "web", change)
    await asyncio.sleep(30)
    (its_set,) = it.replica_sets()
    assert annotations(its_set)["team"] == "it"
    assert its_set["spec"]["minReadySeconds"] == 9
    assert len(it.pods()) == 2


async def test_min_ready_seconds_slow_a_rollout_down(it: ControllerCluster) -> None:
    await ready(it, 2, strategy=strategy(1, 0), minReadySeconds=20)
    await asyncio.sleep(30)
    roll_out(it, "web:2")
    await asyncio.sleep(15)
    assert sizes(it) == {"web:1": 2, "web:2": 1}
    await asyncio.sleep(15)
    assert sizes(it) == {"web:1": 1, "web:2": 2}
    await asyncio.sleep(20)
    assert sizes(it) == {"web:1": 0, "web:2": 2}


async def test_says_when_too_few_are_available(it: ControllerCluster) -> None:
    await ready(it, 4, strategy=strategy(1, 1))
    first, second = it.pods()[:2]
    it.tell(first, ready=False)
    await asyncio.sleep(1)
    assert conditions.holds(it.get(DEPLOYMENTS, "web"), "Available")
    it.tell(second, ready=False)
    await asyncio.sleep(1)
    now = it.get(DEPLOYMENTS, "web")
    assert not conditions.holds(now, "Available")
    assert now["status"]["unavailableReplicas"] == 2
    # Nothing is rolled out, so nothing is late.
    before = it.store.version
    await asyncio.sleep(86_400)
    assert progress(it) == ("True", "NewReplicaSetAvailable")
    assert it.store.version == before


async def test_tells_that_pods_are_refused(it: ControllerCluster) -> None:
    quota = it.create(
        wire.RESOURCE_QUOTAS,
        {"metadata": {"name": "few"}, "spec": {"hard": {"pods": "1"}}},
    )
    used = {"hard": {"pods": "1"}, "used": {"pods": "0"}}
    it.api.set_status(wire.RESOURCE_QUOTAS, quota, used)
    await ready(it, 3)
    failure = conditions.find(it.get(DEPLOYMENTS, "web"), "ReplicaFailure")
    assert failure is not None
    assert failure["reason"] == "FailedCreate"
    used = {"hard": {"pods": "9"}, "used": {"pods": "1"}}
    it.api.set_status(wire.RESOURCE_QUOTAS, quota, used)
    await asyncio.sleep(3000)
    now = it.get(DEPLOYMENTS, "web")
    assert conditions.find(now, "ReplicaFailure") is None
    assert now["status"]["availableReplicas"] == 3


async def test_does_nothing_while_it_is_being_deleted(it: ControllerCluster) -> None:
    await ready(it, 2)
    it.api.delete(DEPLOYMENTS, NAMESPACE, "web", propagation="Foreground")
    roll_out(it, "web:2")
    with watching(it, SETS) as heard:
        await asyncio.sleep(60)
    assert not heard
    now = it.get(DEPLOYMENTS, "web")
    assert now["status"]["observedGeneration"] == now["metadata"]["generation"]


def test_the_same_seed_has_the_same_history() -> None:
    def history() -> list[Object]:
        seen: list[Object] = []

        async def main() -> None:
            with shop() as it:
                it.store.listen(None, lambda change: seen.append(change.object))
                await ready(it, 10)
                roll_out(it, "web:2")
                await asyncio.sleep(60)

        virtual_time.run(main())
        return seen

    assert history() == history()
