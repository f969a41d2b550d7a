import asyncio
from collections.abc import AsyncIterator

import pytest

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.controllers.stateful_set import StatefulSetController
from rescheduler.embedded.store import Change
from rescheduler.kube import Object
from rescheduler.model.objects import is_terminating, labels, owners
from tests.unit.embedded.support.controller_cluster import (
    NEVER,
    ControllerCluster,
    bare_pod,
    names_of,
    template,
    watching,
)

SETS = wire.STATEFUL_SETS
CLAIMS = wire.PERSISTENT_VOLUME_CLAIMS
REVISION = "controller-revision-hash"


@pytest.fixture
async def it() -> AsyncIterator[ControllerCluster]:
    with ControllerCluster(StatefulSetController) as shop:
        yield shop


def stateful_set(replicas: int = 3, **spec: object) -> Object:
    return {
        "metadata": {"name": "db"},
        "spec": {
            "replicas": replicas,
            "serviceName": "db-peers",
            "selector": {"matchLabels": {"app": "web"}},
            "template": template(),
            **spec,
        },
    }


async def ready(shop: ControllerCluster, replicas: int = 3, **spec: object) -> Object:
    made = shop.create(SETS, stateful_set(replicas, **spec))
    await asyncio.sleep(20)
    return made


def status(shop: ControllerCluster) -> Object:
    found: Object = shop.get(SETS, "db")["status"]
    return found


def revisions(shop: ControllerCluster) -> list[Object]:
    return list(shop.store.all(kinds.CONTROLLER_REVISIONS))


def history(changes: list[Change]) -> list[str]:
    """`+db-0` for one that came, `-db-0` for one that went."""
    signs = {"ADDED": "+", "DELETED": "-"}
    return [
        signs[each.kind] + each.object["metadata"]["name"] for each in changes if each.kind in signs
    ]


def roll_out(shop: ControllerCluster, image: str = "web:2") -> None:
    shop.patch(SETS, "db", {"spec": {"template": template(image)}})


def images(shop: ControllerCluster) -> dict[str, str]:
    return {pod["metadata"]["name"]: pod["spec"]["containers"][0]["image"] for pod in shop.pods()}


async def test_a_pod_has_the_identity_of_its_ordinal(it: ControllerCluster) -> None:
    made = await ready(it, 2)
    (revision,) = revisions(it)
    pod = it.get(wire.PODS, "db-1")
    assert labels(pod) == {
        "app": "web",
        "statefulset.kubernetes.io/pod-name": "db-1",
        "apps.kubernetes.io/pod-index": "1",
        REVISION: revision["metadata"]["name"],
    }
    assert pod["metadata"]["generateName"] == "db-"
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("db-1", "db-peers")
    (owner,) = owners(pod)
    assert (owner["kind"], owner["uid"]) == ("StatefulSet", made["metadata"]["uid"])
    assert owner["controller"]
    assert owner["blockOwnerDeletion"]
    assert status(it) == {
        "observedGeneration": 1,
        "replicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "currentReplicas": 2,
        "updatedReplicas": 2,
        "currentRevision": revision["metadata"]["name"],
        "updateRevision": revision["metadata"]["name"],
        "collisionCount": 0,
    }


async def test_they_come_one_after_the_other_each_when_the_one_before_is_ready(
    it: ControllerCluster,
) -> None:
    it.start_seconds = NEVER
    it.create(SETS, stateful_set(3))
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0"}
    it.run(it.get(wire.PODS, "db-0"), ready=False)
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0"}
    it.tell(it.get(wire.PODS, "db-0"))
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0", "db-1"}


async def test_in_parallel_they_come_at_once(it: ControllerCluster) -> None:
    it.start_seconds = NEVER
    it.create(SETS, stateful_set(4, podManagementPolicy="Parallel"))
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0", "db-1", "db-2", "db-3"}


async def test_they_go_from_the_highest_one_after_the_other(it: ControllerCluster) -> None:
    await ready(it, 4)
    with watching(it, wire.PODS) as heard:
        it.patch(SETS, "db", {"spec": {"replicas": 1}})
        await asyncio.sleep(0.5)
        leaving = [pod for pod in it.pods() if is_terminating(pod)]
        assert names_of(leaving) == {"db-3"}
        await asyncio.sleep(20)
    assert history(heard) == ["-db-3", "-db-2", "-db-1"]
    assert status(it)["replicas"] == 1


async def test_in_parallel_they_go_at_once(it: ControllerCluster) -> None:
    await ready(it, 4, podManagementPolicy="Parallel")
    it.patch(SETS, "db", {"spec": {"replicas": 1}})
    await asyncio.sleep(0.5)
    leaving = [pod for pod in it.pods() if is_terminating(pod)]
    assert names_of(leaving) == {"db-1", "db-2", "db-3"}


async def test_going_waits_for_one_that_is_not_ready_but_not_for_itself(
    it: ControllerCluster,
) -> None:
    await ready(it, 3)
    it.tell(it.get(wire.PODS, "db-0"), ready=False)
    it.patch(SETS, "db", {"spec": {"replicas": 1}})
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-0", "db-1", "db-2"}
    it.tell(it.get(wire.PODS, "db-0"))
    it.tell(it.get(wire.PODS, "db-1"), ready=False)
    await asyncio.sleep(20)
    # db-2 goes, for it is Ready itself; then db-1, the only one that is not.
    assert names_of(it.pods()) == {"db-0"}


async def test_a_pod_comes_back_under_its_name_when_the_old_one_is_gone(
    it: ControllerCluster,
) -> None:
    await ready(it, 3)
    old = it.get(wire.PODS, "db-1")
    it.stop_seconds = 10
    it.api.delete(wire.PODS, *("shop", "db-1"))
    await asyncio.sleep(9)
    assert it.get(wire.PODS, "db-1")["metadata"]["uid"] == old["metadata"]["uid"]
    assert status(it)["currentReplicas"] == 2
    await asyncio.sleep(3)
    assert it.get(wire.PODS, "db-1")["metadata"]["uid"] != old["metadata"]["uid"]
    assert status(it)["readyReplicas"] == 3


async def test_one_that_is_not_ready_holds_up_those_above_it(it: ControllerCluster) -> None:
    await ready(it, 3)
    it.tell(it.get(wire.PODS, "db-0"), ready=False)
    it.api.delete(wire.PODS, "shop", "db-2")
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-0", "db-1"}
    it.tell(it.get(wire.PODS, "db-0"))
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0", "db-1", "db-2"}


async def test_one_that_ends_holds_up_those_above_it_though_it_is_ready(
    it: ControllerCluster,
) -> None:
    await ready(it, 2)
    it.stop_seconds = 10
    it.api.delete(wire.PODS, "shop", "db-0")
    it.patch(SETS, "db", {"spec": {"replicas": 3}})
    await asyncio.sleep(9)
    assert names_of(it.pods()) == {"db-0", "db-1"}
    await asyncio.sleep(5)
    assert names_of(it.pods()) == {"db-0", "db-1", "db-2"}


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
async def test_one_that_has_ended_is_made_anew(it: ControllerCluster, phase: str) -> None:
    await ready(it, 2)
    old = it.tell(it.get(wire.PODS, "db-0"), phase=phase, ready=False)
    await asyncio.sleep(5)
    new = it.get(wire.PODS, "db-0")
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    assert new["status"]["phase"] == "Running"


async def test_an_update_goes_from_the_highest_and_waits_for_each(it: ControllerCluster) -> None:
    await ready(it, 3)
    first = status(it)["currentRevision"]
    with watching(it, wire.PODS) as heard, watching(it, SETS) as told:
        roll_out(it)
        await asyncio.sleep(20)
    # Told at once, though the pod that was just deleted still counted when it looked.
    now = told[1].object["status"]
    assert now["currentRevision"] == first != now["updateRevision"]
    assert (now["currentReplicas"], now.get("updatedReplicas", 0)) == (2, 0)
    assert now["observedGeneration"] == 2
    assert history(heard) == ["-db-2", "+db-2", "-db-1", "+db-1", "-db-0", "+db-0"]
    assert set(images(it).values()) == {"web:2"}
    now = status(it)
    assert now["currentRevision"] == now["updateRevision"] != first
    assert (now["currentReplicas"], now["updatedReplicas"]) == (3, 3)


@pytest.mark.parametrize("policy", ["OrderedReady", "Parallel"])
async def test_an_update_stops_at_one_that_does_not_become_ready(
    it: ControllerCluster, policy: str
) -> None:
    await ready(it, 3, podManagementPolicy=policy)
    it.start_seconds = NEVER
    roll_out(it)
    await asyncio.sleep(20)
    assert images(it) == {"db-0": "web:1", "db-1": "web:1", "db-2": "web:2"}
    assert status(it)["updatedReplicas"] == 1


async def test_a_partition_keeps_the_lower_ones_as_they_were(it: ControllerCluster) -> None:
    partition = {"type": "RollingUpdate", "rollingUpdate": {"partition": 2}}
    await ready(it, 3, updateStrategy=partition)
    roll_out(it)
    await asyncio.sleep(20)
    assert images(it) == {"db-0": "web:1", "db-1": "web:1", "db-2": "web:2"}
    assert status(it)["currentRevision"] != status(it)["updateRevision"]
    # Made anew, each is of the revision that its ordinal has.
    for name in ("db-0", "db-2"):
        it.api.delete(wire.PODS, "shop", name)
    await asyncio.sleep(20)
    assert images(it) == {"db-0": "web:1", "db-1": "web:1", "db-2": "web:2"}


async def test_on_delete_only_what_is_deleted_is_updated(it: ControllerCluster) -> None:
    await ready(it, 2, updateStrategy={"type": "OnDelete"})
    roll_out(it)
    await asyncio.sleep(20)
    assert set(images(it).values()) == {"web:1"}
    it.api.delete(wire.PODS, "shop", "db-0")
    await asyncio.sleep(20)
    assert images(it) == {"db-0": "web:2", "db-1": "web:1"}
    it.api.delete(wire.PODS, "shop", "db-1")
    await asyncio.sleep(20)
    # Nobody ever completes it, as in a real cluster.
    assert status(it)["currentRevision"] != status(it)["updateRevision"]


async def test_whoever_goes_back_gets_the_revision_of_then(it: ControllerCluster) -> None:
    await ready(it, 1)
    first = status(it)["currentRevision"]
    roll_out(it)
    await asyncio.sleep(10)
    roll_out(it, "web:1")
    await asyncio.sleep(10)
    assert status(it)["currentRevision"] == status(it)["updateRevision"] == first
    assert {each["metadata"]["name"]: each["revision"] for each in revisions(it)}[first] == 3
    assert len(revisions(it)) == 2


async def test_scaling_or_annotating_is_no_new_revision(it: ControllerCluster) -> None:
    await ready(it, 1)
    it.patch(SETS, "db", {"spec": {"replicas": 2}})
    it.patch(SETS, "db", {"metadata": {"annotations": {"note": "it"}}})
    await asyncio.sleep(10)
    assert len(revisions(it)) == 1
    assert status(it)["observedGeneration"] == 2


async def test_only_so_many_old_revisions_are_kept(it: ControllerCluster) -> None:
    await ready(it, 1, revisionHistoryLimit=2)
    for number in range(2, 7):
        roll_out(it, f"web:{number}")
        await asyncio.sleep(10)
    assert sorted(each["revision"] for each in revisions(it)) == [4, 5, 6]


async def test_it_adopts_what_has_its_name_and_nothing_else(it: ControllerCluster) -> None:
    right = it.create(wire.PODS, bare_pod("db-0"))
    it.create(wire.PODS, bare_pod("db-x"))
    it.create(wire.PODS, bare_pod("other-1"))
    it.create(wire.PODS, bare_pod("db-1", app="another"))
    made = await ready(it, 1)
    assert names_of(it.pods(made)) == {"db-0"}
    now = it.get(wire.PODS, "db-0")
    assert now["metadata"]["uid"] != right["metadata"]["uid"]
    # Of no revision, so it was replaced by one that is.
    assert labels(now)[REVISION] == status(it)["currentRevision"]


async def test_an_adopted_pod_is_given_its_labels(it: ControllerCluster) -> None:
    await ready(it, 1, updateStrategy={"type": "OnDelete"})
    it.patch(SETS, "db", {"spec": {"replicas": 2}})
    it.create(wire.PODS, bare_pod("db-1"))
    await asyncio.sleep(10)
    marks = labels(it.get(wire.PODS, "db-1"))
    assert marks["statefulset.kubernetes.io/pod-name"] == "db-1"
    assert marks["apps.kubernetes.io/pod-index"] == "1"
    assert REVISION not in marks


async def test_ordinals_begin_where_they_are_told_to(it: ControllerCluster) -> None:
    await ready(it, 2, ordinals={"start": 5})
    assert names_of(it.pods()) == {"db-5", "db-6"}
    it.patch(SETS, "db", {"spec": {"ordinals": {"start": 6}}})
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-6", "db-7"}


async def test_one_is_believed_only_after_it_was_ready_for_a_while(it: ControllerCluster) -> None:
    it.create(SETS, stateful_set(2, minReadySeconds=30))
    await asyncio.sleep(25)
    assert names_of(it.pods()) == {"db-0"}
    assert (status(it)["readyReplicas"], status(it)["availableReplicas"]) == (1, 0)
    await asyncio.sleep(10)
    assert names_of(it.pods()) == {"db-0", "db-1"}
    await asyncio.sleep(40)
    assert status(it)["availableReplicas"] == 2


async def test_a_set_that_is_deleted_makes_nothing_more(it: ControllerCluster) -> None:
    await ready(it, 2)
    it.api.delete(SETS, "shop", "db", propagation="Foreground")
    it.api.delete(wire.PODS, "shop", "db-1")
    await asyncio.sleep(10)
    assert names_of(it.pods()) == {"db-0"}
    assert status(it)["replicas"] == 1


def with_claims(**policy: str) -> Object:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    made: Object = {"volumeClaimTemplates": [claim]}
    if policy:
        made["persistentVolumeClaimRetentionPolicy"] = policy
    return made


def claims(shop: ControllerCluster) -> dict[str, Object]:
    return {each["metadata"]["name"]: each for each in shop.store.all(CLAIMS)}


async def test_each_has_a_claim_of_its_own_that_stays(it: ControllerCluster) -> None:
    await ready(it, 2, **with_claims())
    assert set(claims(it)) == {"data-db-0", "data-db-1"}
    claim = claims(it)["data-db-1"]
    assert labels(claim) == {"app": "web"}
    assert not owners(claim)
    (volume,) = [
        each for each in it.get(wire.PODS, "db-1")["spec"]["volumes"] if each["name"] == "data"
    ]
    assert volume["persistentVolumeClaim"]["claimName"] == "data-db-1"
    it.patch(SETS, "db", {"spec": {"replicas": 0}})
    await asyncio.sleep(20)
    assert claims(it)["data-db-1"] == claim


async def test_one_whose_claims_have_no_name_waits_for_ever(it: ControllerCluster) -> None:
    """The API server does not look at it before a claim is to be made."""
    nameless = with_claims()
    del nameless["volumeClaimTemplates"][0]["metadata"]
    await ready(it, 1, **nameless)
    assert not claims(it)
    assert not it.pods()


async def test_a_claim_that_is_to_go_belongs_to_whom_it_goes_with(it: ControllerCluster) -> None:
    both = with_claims(whenDeleted="Delete", whenScaled="Delete")
    made = await ready(it, 2, **both)
    (owner,) = owners(claims(it)["data-db-1"])
    assert owner["uid"] == made["metadata"]["uid"]
    last = it.get(wire.PODS, "db-1")
    it.patch(SETS, "db", {"spec": {"replicas": 1}})
    await asyncio.sleep(20)
    (owner,) = owners(claims(it)["data-db-1"])
    assert (owner["kind"], owner["uid"]) == ("Pod", last["metadata"]["uid"])
    # It waits for that claim to go, which nobody here sees to.
    it.patch(SETS, "db", {"spec": {"replicas": 2}})
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-0"}
    it.api.delete(CLAIMS, "shop", "data-db-1")
    it.tell(it.get(wire.PODS, "db-0"), ready=False)
    it.tell(it.get(wire.PODS, "db-0"))
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-0", "db-1"}
    (owner,) = owners(claims(it)["data-db-1"])
    assert owner["uid"] == made["metadata"]["uid"]


async def test_a_pod_waits_while_its_claim_is_being_deleted(it: ControllerCluster) -> None:
    body = {
        "metadata": {"name": "data-db-0", "finalizers": ["kubernetes.io/pvc-protection"]},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    }
    it.create(CLAIMS, body)
    it.api.delete(CLAIMS, "shop", "data-db-0")
    await ready(it, 1, **with_claims())
    assert not it.pods()
    it.patch(CLAIMS, "data-db-0", {"metadata": {"finalizers": None}})
    await asyncio.sleep(20)
    assert names_of(it.pods()) == {"db-0"}
