import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded.controllers import job_pods
from rescheduler.embedded.controllers.garbage import GarbageCollector
from rescheduler.embedded.controllers.job import JobController
from rescheduler.kube import Object
from rescheduler.model import conditions
from rescheduler.model.objects import controller, labels
from tests.unit.embedded.support.controller_cluster import (
    ControllerCluster,
    bare_pod,
    names_of,
    template,
)

JOBS = wire.JOBS


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(JobController) as shop:
        yield shop


def job(**spec: object) -> Object:
    wanted = template()
    wanted["spec"]["restartPolicy"] = "Never"
    return {"metadata": {"name": "sum"}, "spec": {"template": wanted, **spec}}


async def begun(shop: ControllerCluster, **spec: object) -> Object:
    made = shop.create(JOBS, job(**spec))
    await asyncio.sleep(5)
    return made


def status(shop: ControllerCluster) -> Object:
    found: Object = shop.get(JOBS, "sum")["status"]
    return found


def end(shop: ControllerCluster, pod: Object, phase: str = "Succeeded") -> None:
    shop.tell(pod, phase=phase, ready=False)


def holds(shop: ControllerCluster, kind: str) -> bool:
    return conditions.holds(shop.get(JOBS, "sum"), kind)


async def test_a_pod_belongs_to_its_job_and_is_held_until_it_is_counted(
    it: ControllerCluster,
) -> None:
    made = await begun(it)
    (pod,) = it.pods()
    uid = made["metadata"]["uid"]
    assert labels(pod) == {
        "app": "web",
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "sum",
        "controller-uid": uid,
        "job-name": "sum",
    }
    assert pod["metadata"]["generateName"] == "sum-"
    assert pod["metadata"]["finalizers"] == ["batch.kubernetes.io/job-tracking"]
    owner = controller(pod)
    assert owner is not None
    assert owner["uid"] == uid
    now = status(it)
    assert (now["active"], now["ready"], now["terminating"]) == (1, 1, 0)
    assert now["startTime"]


async def test_it_is_complete_when_its_pod_has_succeeded(it: ControllerCluster) -> None:
    await begun(it)
    (pod,) = it.pods()
    end(it, pod)
    await asyncio.sleep(5)
    now = status(it)
    assert [each["type"] for each in now["conditions"]] == [
        "SuccessCriteriaMet",
        "Complete",
    ]
    assert (now["succeeded"], now.get("active", 0)) == (1, 0)
    assert now["completionTime"]
    (pod,) = it.pods()
    assert not job_pods.is_tracked(pod)


async def test_so_many_at_once_until_so_many_have_succeeded(it: ControllerCluster) -> None:
    await begun(it, completions=5, parallelism=2)
    most = 0
    for _ in range(5):
        assert not holds(it, "Complete")
        most = max(most, len(it.active()))
        end(it, it.active()[0])
        await asyncio.sleep(5)
    assert most == 2
    assert holds(it, "Complete")
    assert status(it)["succeeded"] == 5
    assert len(it.pods()) == 5


async def test_without_completions_the_others_may_end_when_one_has(it: ControllerCluster) -> None:
    await begun(it, parallelism=3)
    one, other, last = it.active()
    end(it, one)
    await asyncio.sleep(5)
    assert len(it.active()) == 2
    end(it, other, "Failed")
    await asyncio.sleep(30)
    assert not holds(it, "Complete")
    assert len(it.pods()) == 3
    end(it, last)
    await asyncio.sleep(5)
    assert holds(it, "Complete")


async def test_it_tries_again_ever_later_and_gives_up(it: ControllerCluster) -> None:
    it.create(JOBS, job(backoffLimit=2))
    began = []
    for tenth in range(2000):
        await asyncio.sleep(0.1)
        for pod in it.active():
            if pod["status"]["phase"] == "Running":
                began.append(tenth / 10)
                end(it, pod, "Failed")
    assert len(began) == 3
    assert 10 < began[1] - began[0] < 15
    assert 20 < began[2] - began[1] < 25
    now = status(it)
    assert now["failed"] == 3
    assert [each["type"] for each in now["conditions"]] == ["FailureTarget", "Failed"]
    assert now["conditions"][-1]["reason"] == "BackoffLimitExceeded"


async def test_a_success_makes_up_for_the_failures_before_it(it: ControllerCluster) -> None:
    await begun(it, completions=2)
    for _ in range(2):
        end(it, it.active()[0], "Failed")
        await asyncio.sleep(30)
    end(it, it.active()[0])
    await asyncio.sleep(10)
    end(it, it.active()[0], "Failed")
    # The third in a row would have to wait for 40 seconds.
    await asyncio.sleep(15)
    assert len(it.active()) == 1


async def test_what_still_runs_goes_when_it_has_failed(it: ControllerCluster) -> None:
    await begun(it, completions=3, parallelism=3, backoffLimit=0)
    it.stop_seconds = 10
    end(it, it.active()[0], "Failed")
    await asyncio.sleep(5)
    assert holds(it, "FailureTarget")
    assert not holds(it, "Failed")
    assert not it.active()
    await asyncio.sleep(15)
    assert holds(it, "Failed")
    assert status(it)["failed"] == 3
    assert len(it.pods()) == 1


async def test_one_that_is_deleted_has_failed_and_is_replaced(it: ControllerCluster) -> None:
    await begun(it)
    (old,) = it.active()
    it.stop_seconds = 60
    it.api.delete(wire.PODS, "shop", old["metadata"]["name"])
    await asyncio.sleep(5)
    assert status(it)["failed"] == 1
    assert status(it)["terminating"] == 1
    await asyncio.sleep(10)
    (new,) = it.active()
    assert new["metadata"]["uid"] != old["metadata"]["uid"]


async def test_it_may_ask_to_replace_only_what_has_ended(it: ControllerCluster) -> None:
    await begun(it, podReplacementPolicy="Failed")
    (old,) = it.active()
    it.stop_seconds = 600
    it.api.delete(wire.PODS, "shop", old["metadata"]["name"])
    await asyncio.sleep(60)
    assert not it.active()
    assert not status(it).get("failed", 0)
    end(it, old, "Failed")
    await asyncio.sleep(20)
    assert len(it.active()) == 1
    assert status(it)["failed"] == 1


async def test_it_ends_at_its_deadline(it: ControllerCluster) -> None:
    it.create(JOBS, job(activeDeadlineSeconds=30))
    await asyncio.sleep(25)
    assert it.active()
    await asyncio.sleep(15)
    assert not it.pods()
    assert holds(it, "Failed")
    assert status(it)["conditions"][-1]["reason"] == "DeadlineExceeded"


async def test_a_suspended_one_has_no_pods_until_it_goes_on(it: ControllerCluster) -> None:
    await begun(it)
    it.patch(JOBS, "sum", {"spec": {"suspend": True}})
    await asyncio.sleep(5)
    assert not it.pods()
    assert holds(it, "Suspended")
    # It was its own wish, and no failure.
    assert "failed" not in status(it)
    it.patch(JOBS, "sum", {"spec": {"suspend": False}})
    await asyncio.sleep(30)
    assert len(it.active()) == 1
    assert not holds(it, "Suspended")


async def test_fewer_at_once_means_that_some_go(it: ControllerCluster) -> None:
    await begun(it, completions=4, parallelism=4)
    it.patch(JOBS, "sum", {"spec": {"parallelism": 1}})
    await asyncio.sleep(5)
    assert len(it.active()) == 1
    assert "failed" not in status(it)


async def test_with_an_index_each_completion_has_its_own(it: ControllerCluster) -> None:
    await begun(it, completions=4, parallelism=3, completionMode="Indexed")
    found = {labels(pod)[job_pods.INDEX]: pod for pod in it.active()}
    assert set(found) == {"0", "1", "2"}
    assert found["1"]["spec"]["hostname"] == "sum-1"
    assert found["1"]["metadata"]["name"].startswith("sum-1-")
    end(it, found["1"])
    await asyncio.sleep(5)
    assert status(it)["completedIndexes"] == "1"
    assert {labels(pod)[job_pods.INDEX] for pod in it.active()} == {"0", "2", "3"}
    for pod in it.active():
        end(it, pod)
    await asyncio.sleep(5)
    assert holds(it, "Complete")
    assert status(it)["completedIndexes"] == "0-3"


@pytest.mark.parametrize(
    ("indexes", "words"),
    [((), ""), ((3,), "3"), ((1, 2), "1,2"), ((0, 1, 2, 5), "0-2,5"), ((7, 0, 1), "0,1,7")],
)
def test_indexes_in_words(indexes: tuple[int, ...], words: str) -> None:
    assert job_pods.indexes_in_words(indexes) == words
    assert job_pods.indexes_from(words) == set(indexes)


async def test_a_finished_one_goes_when_it_is_old_enough() -> None:
    with ControllerCluster(JobController, GarbageCollector) as it:
        await begun(it, ttlSecondsAfterFinished=60)
        end(it, it.active()[0])
        await asyncio.sleep(30)
        assert holds(it, "Complete")
        await asyncio.sleep(60)
        assert it.store.find(JOBS, "shop", "sum") is None
        assert not it.pods()


async def test_one_that_is_adopted_counts(it: ControllerCluster) -> None:
    body = bare_pod("lost")
    body["spec"]["restartPolicy"] = "Never"
    lost = it.create(wire.PODS, body)
    await begun(it, manualSelector=True, selector={"matchLabels": {"app": "web"}})
    assert names_of(it.pods()) == {"lost"}
    end(it, lost)
    await asyncio.sleep(5)
    assert holds(it, "Complete")
    assert names_of(it.pods()) == {"lost"}


async def test_the_pods_of_one_that_is_deleted_are_let_go_of() -> None:
    with ControllerCluster(JobController, GarbageCollector) as it:
        await begun(it, completions=2, parallelism=2)
        assert len(names_of(it.pods())) == 2
        it.api.delete(JOBS, "shop", "sum")
        await asyncio.sleep(10)
        assert not it.pods()
