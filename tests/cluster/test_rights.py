"""The process needs exactly what manifests/rescheduler/rbac.yaml grants."""

import asyncio
import sys
from pathlib import Path

import pytest
import yaml

from testbed.api import Object
from testbed.builders import pod, pod_spec, workload
from testbed.faultproxy import Match, conflict, fail
from testbed.installing import RBAC
from testbed.world import World
from tests.scenarios.deploying import deploy_web

ACCOUNT = "system:serviceaccount:kube-system:rescheduler-scheduler"
MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"

# Of pods only where nodes have figures: tests/cluster/test_usage.py does it with these rights.
WITH_METRICS_SERVER = {"list pods.metrics.k8s.io"}


def granted(path: Path) -> set[str]:
    documents = list(yaml.safe_load_all(path.read_text()))
    return {
        f"{verb} {_named(resource, group)}"
        for document in documents
        for rule in document.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def _named(resource: str, group: str) -> str:
    """As the audit log has it: the group belongs to the resource, not to what is below it."""
    name, slash, below = resource.partition("/")
    return (f"{name}.{group}" if group else name) + slash + below


# ------------------------------------------------------------------ all of them, and no others


async def test_every_right_is_used_and_none_is_missing(world: World) -> None:
    """Moves of every kind, one that is taken back, a maintenance and a look at everything use all
    of them, on a server of today and on one that has no WatchList.
    """
    await deploy_web(world, 4)
    async with world.auditor() as auditor:
        await _move_a_pod(world)
        await _maintain_a_node(world)
        await _take_a_copy_back(world)
        await _look_at_everything(world)
        async with world.faults() as proxy:
            asked = Match(verb="watch", predicate=lambda each: "sendInitial" in each.target)
            refused = proxy.on(asked, fail(400, message="sendInitialEvents is not known"))
            await _look_at_everything(world)
            assert refused.fired
        audit = await world.audit(auditor)
    assert [request for request in audit.requests if request.code == 403] == []
    assert audit.permissions_used() == granted(RBAC) - WITH_METRICS_SERVER


async def _move_a_pod(world: World) -> None:
    """As the leader, and reading a record and a plan anew that others wrote meanwhile."""
    election = {"leaderElect": True, "resourceNamespace": world.name}
    async with world.faults() as proxy:
        status = Match(verb="patch", resource="podmigrations", subresource="status")
        refused = proxy.on(status, conflict(), times=1)
        plan = Match(verb="patch", resource="rescheduleplans", subresource="status")
        proxy.on(plan, conflict(), times=1)
        moved = await world.run(leaderElection=election)
        assert refused.fired
    assert moved.code == 0, moved


async def _take_a_copy_back(world: World) -> None:
    """And delete the records and the plans of what is over."""
    await world.afflict_copies(crashes="true")
    taken_back = await world.run(migration={"retention": {"maxAge": "0s"}}, plans={"keep": 0})
    assert taken_back.code == 1, taken_back


async def _maintain_a_node(world: World) -> None:
    """Of which a pod of a StatefulSet has to be steered and guarded, and a bare pod copied."""
    [site] = await world.add_nodes(1)
    await world.deploy(workload("StatefulSet", "numbered", replicas=2), on=site)
    await world.create(pod("alone", spec={**pod_spec(), "nodeName": site}))
    await world.wait("alone is there", lambda: _is_on(world, "alone"))
    await _label(world, site, "true")
    await _run_until_empty(world, site)
    await _label(world, site, None)
    done = await world.run(enabledStrategies=["NodeMaintenance"])
    assert done.code == 0, done
    assert "unschedulable" not in (await world.api.get("Node", None, site))["spec"]


async def _run_until_empty(world: World, node: str) -> None:
    for _ in range(3):  # as many as there are pods
        done = await world.run(enabledStrategies=["NodeMaintenance"])
        assert done.code == 0, done
        pods = await world.api.list("Pod", world.name)
        if node not in [each["spec"].get("nodeName") for each in pods]:
            return
    raise AssertionError(f"{node} is not empty: {done}")


async def _is_on(world: World, app: str) -> bool:
    return len(await world.nodes_of(app)) == 1


async def _label(world: World, node: str, value: str | None) -> None:
    change: Object = {"metadata": {"labels": {MAINTENANCE: value}}}
    await world.api.patch("Node", None, node, change)


async def _look_at_everything(world: World) -> None:
    file = str(world.folder / "cluster.json.gz")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "rescheduler", "snapshot", "save", file),
        *("--kubeconfig", str(world.kubeconfig())),
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert b"permission" not in said


# ------------------------------------------------------------------ as the API server sees it


@pytest.mark.parametrize(
    ("verb", "group", "resource", "namespace", "name", "allowed"),
    [
        ("update", "coordination.k8s.io", "leases", "kube-system", "rescheduler", True),
        ("create", "coordination.k8s.io", "leases", "kube-system", "", True),
        ("update", "coordination.k8s.io", "leases", "kube-system", "kube-scheduler", False),
        ("update", "coordination.k8s.io", "leases", "default", "rescheduler", False),
        ("patch", "rescheduler.io", "podmigrations", "default", "", True),
        ("patch", "apps", "deployments", "default", "", False),
        ("patch", "policy", "poddisruptionbudgets", "default", "", False),
        ("get", "", "secrets", "default", "", False),
    ],
)
async def test_what_the_process_may_do(  # noqa: PLR0913 - one column each
    world: World, verb: str, group: str, resource: str, namespace: str, name: str, *, allowed: bool
) -> None:
    attributes = {
        "verb": verb,
        "group": group,
        "resource": resource,
        "namespace": namespace,
        "name": name,
    }
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {"user": ACCOUNT, "resourceAttributes": attributes},
    }
    path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    answer = await world.api.request("POST", path, body=review)
    assert answer["status"]["allowed"] is allowed
