"""Pods of all kinds of owners: who is moved, who is not, and that they are told apart (S31)."""

from typing import Any

import pytest

from testbed.api import Object
from testbed.builders import budget, deployment, job, pod, pod_spec, service, workload
from testbed.scenarios import Scene
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import HISTORY, assert_exactly_one_moved

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


async def test_moves_a_pod_of_a_replica_set_that_no_deployment_has(world: Scene) -> None:
    """By the label that the Service does not select by: its ReplicaSet has no hash."""
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    alone = workload("ReplicaSet", "web", labels={"track": "stable"}, replicas=4)
    await world.deploy(alone, on=full)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    [made] = audit.pods_made()
    labels = [
        {key: seen.object["metadata"]["labels"].get(key) for key in ("app", "track")}
        for seen in audit.history
        if seen.kind == "Pod" and seen.object and seen.object["metadata"]["name"] == made
    ]
    assert labels[0] == {"app": "web", "track": None}
    assert labels[-1] == {"app": "web", "track": "stable"}


async def test_refuses_where_the_only_label_is_what_a_budget_selects_by(world: Scene) -> None:
    full, _ = await world.add_nodes(2)
    await world.create(budget("web", maxUnavailable=1))
    await world.deploy(workload("ReplicaSet", "web", replicas=4), on=full)
    before = _uids(await world.pods("web"))
    run, audit = await world.audited_run()
    assert run.code == 0, run
    # Moving it would recreate it, which nobody has asked for.
    assert {"pods.recreate" in line["because"] for line in run.said("pod stays")} == {True}
    assert audit.writes() == []
    assert _uids(await world.pods("web")) == before


def _spread(**more: Any) -> Object:  # noqa: ANN401 - further fields of the constraint
    """Of the web, as evenly as four pods on one of two nodes can be."""
    constraint = {
        "maxSkew": 4,
        "topologyKey": "kubernetes.io/hostname",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }
    return pod_spec() | {"topologySpreadConstraints": [constraint]}


@pytest.mark.parametrize(
    "web",
    [
        pytest.param(workload("ReplicaSet", "web", spec=_spread(), replicas=4), id="by-the-label"),
        pytest.param(
            deployment("web", spec=_spread(matchLabelKeys=["pod-template-hash"]), replicas=4),
            id="by-the-hash",
        ),
    ],
)
async def test_moves_a_pod_whose_siblings_alone_go_by_what_a_copy_lacks(
    world: Scene, web: Object
) -> None:
    full, empty = await world.add_nodes(2)
    await world.deploy(web, on=full)
    run, audit = await world.audited_run()
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)


async def test_a_moved_pod_lets_the_next_revision_come_as_its_siblings_do(world: Scene) -> None:
    """Apart from its own revision only, which it could not name yet as it was created."""
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
        "matchLabelKeys": ["pod-template-hash"],
    }
    apart = {"podAntiAffinity": {REQUIRED: [term]}}
    full, empty = await deploy_web(world, 1, spec=pod_spec() | {"affinity": apart})
    [pod] = await world.pods("web")
    run = await world.run()
    assert run.code == 0, run
    assert await world.nodes_of("web") == [empty]
    [moved] = await world.pods("web")
    asked, now_asked = (
        each["spec"]["affinity"]["podAntiAffinity"][REQUIRED][0]["labelSelector"]
        for each in (pod, moved)
    )
    assert now_asked == asked
    await world.cordon(full)
    await world.roll_out("web", "app:2")
    await world.wait("web is rolled out", lambda: world.is_complete("web"))


async def test_refuses_where_a_network_policy_selects_by_the_only_label(world: Scene) -> None:
    full, _ = await world.add_nodes(2)
    await world.create(
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": {"name": "closed"},
            "spec": {"podSelector": {"matchLabels": {"app": "web"}}, "policyTypes": ["Ingress"]},
        }
    )
    await world.deploy(workload("ReplicaSet", "web", replicas=4), on=full)
    before = _uids(await world.pods("web"))
    run = await world.run()
    assert run.code == 0, run
    told = "NetworkPolicy closed selects by app"
    assert [line for line in run.said("pod stays") if told in line["because"]]
    assert _uids(await world.pods("web")) == before


async def test_refuses_where_others_go_by_the_only_label(world: Scene) -> None:
    """While a copy lacks it, the scheduler could put them beside it, where they would not be."""
    full, _ = await world.add_nodes(2)
    term = {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    apart = {"podAntiAffinity": {REQUIRED: [term]}}
    await world.deploy(workload("ReplicaSet", "web", replicas=4), on=full)
    await world.create(deployment("shy", replicas=1, spec=pod_spec() | {"affinity": apart}))
    await world.wait("shy is complete", lambda: world.is_complete("shy"))
    before = _uids(await world.pods("web"))
    run = await world.run()
    assert run.code == 0, run
    told = "anti-affinity of another workload selects by app"
    assert [line for line in run.said("pod stays") if told in line["because"]]
    assert _uids(await world.pods("web")) == before


async def test_who_has_the_same_labels_and_another_owner_is_another(world: Scene) -> None:
    """Plan and migration agree: nothing is tried in vain."""
    full, _ = await world.add_nodes(2)
    canary = deployment("canary", replicas=1, spec=_spread(maxSkew=5))
    labels = {"app": "web", "track": "canary"}
    canary["spec"]["selector"]["matchLabels"] = labels
    canary["spec"]["template"]["metadata"]["labels"] = labels | {
        HISTORY + "rescheduling": "disabled"
    }
    web = workload("ReplicaSet", "web", spec=_spread(maxSkew=5), replicas=4)
    await world.deploy(web, on=full)
    await world.create(canary)

    async def are_there() -> bool:
        return len(await world.nodes_of("web")) == 5

    await world.wait("the canary is there", are_there)
    run = await world.run()
    assert run.code == 0, run
    told = "topology spread of another workload selects by app"
    assert [line for line in run.said("pod stays") if told in line["because"]]
    assert await world.records() == []


async def test_touches_no_pod_of_a_kind_that_it_cannot_move_and_says_why(world: Scene) -> None:
    full, empty = await world.add_nodes(2)
    small = pod_spec(cpu="200m") | {"nodeSelector": {"kubernetes.io/hostname": full}}
    reasons = {
        "alone": "it is a bare pod, and pods.barePods is WhenAsked",
        "numbered": "pods.recreate",
        "everywhere": "it belongs to a DaemonSet",
        "task": "pods.jobs",
    }
    await world.create(
        pod("alone", spec=dict(small)),
        workload("StatefulSet", "numbered", spec=dict(small), replicas=1, serviceName="numbered"),
        workload("DaemonSet", "everywhere", spec=dict(small)),
        job("task", spec=dict(small)),
        service("web"),
    )
    await world.deploy(deployment("web", replicas=2), on=full)

    async def are_there() -> bool:
        return all([await world.nodes_of(app) == [full] for app in reasons])

    await world.wait("all are Ready", are_there)
    others = {app: (await world.pods(app))[0] for app in reasons}
    run, audit = await world.audited_run()
    assert run.code == 0, run
    await assert_exactly_one_moved(world, audit, app="web", to=empty)
    stays = {line["pod"]: line["because"] for line in run.said("pod stays")}
    for app, reason in reasons.items():
        name = others[app]["metadata"]["name"]
        assert reason in stays[f"{world.name}/{name}"]
        assert name not in {write.name for write in audit.writes()}
        assert await world.pods(app) == [others[app]]


def _uids(pods: list[Object]) -> set[str]:
    return {pod["metadata"]["uid"] for pod in pods}
