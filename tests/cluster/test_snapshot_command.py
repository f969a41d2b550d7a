"""`rescheduler snapshot` on a real control plane: what it saves, shows, and cannot see."""

import json
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from rescheduler.clock import SystemClock
from rescheduler.kube import connect
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import sources
from rescheduler.observe.files import load, take, to_objects
from testbed.api import Api, ApiError, Object
from testbed.builders import budget, deployment, job, pod, pod_spec, service, workload
from testbed.instance import OwnedInstance
from testbed.world import World, install_rights, make_world
from tests.cluster.snapshots import kubectl_get, own, run, save, settle, snapshot


async def live(world: World) -> Snapshot:
    async with connect(str(world.kubeconfig())) as api:
        return (await take(api, SystemClock())).snapshot


# ------------------------------------------------------------------ save and load


async def test_what_is_saved_is_what_is_there(world: World) -> None:
    await world.add_nodes(2)
    claimed = pod_spec() | {
        "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    }
    await world.create(
        service("web"),
        budget("web", minAvailable=1),
        deployment("web", replicas=3),
        workload("StatefulSet", "db", replicas=1, serviceName="db"),
        pod("pending", spec=claimed),
    )
    await settle(world, ("web", "Deployment"), ("db", "StatefulSet"))
    ended, path = await save(world)
    assert ended.code == 0, ended
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    loaded = load(str(path))
    assert ended.out == (
        f"{path} saved: {len(loaded.snapshot.nodes)} nodes, {len(loaded.snapshot.rows)} pods\n"
    )
    # Nothing is missing, and what there is none of is known as such.
    assert ended.err == ""
    assert (loaded.snapshot.gaps, loaded.snapshot.unreadable) == ((), ())
    assert set(loaded.snapshot.objects) == set(sources.BY_NAME) - {"nodes", "pods"}
    kept = own(world, to_objects(loaded.snapshot))
    assert {each["kind"] for each in kept} >= {
        *("Node", "Pod", "Deployment", "ReplicaSet", "StatefulSet"),
        *("Service", "EndpointSlice", "PodDisruptionBudget"),
    }
    assert kept == own(world, to_objects(await live(world)))
    taken = {each["metadata"]["name"]: each for each in kept}
    volumes = taken["pending"]["spec"]["volumes"]
    assert volumes == [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]


async def test_what_kubectl_prints_is_the_same_cluster(world: World, kubectl: Path) -> None:
    await world.add_nodes(2)
    await world.create(
        deployment("web", replicas=3), workload("DaemonSet", "agent"), job("finished")
    )
    await settle(world, ("web", "Deployment"))

    async def agents_run() -> bool:
        found = await world.api.get("DaemonSet", world.name, "agent")
        return bool(found["status"].get("numberReady") == 2)

    await world.wait("the agents run", agents_run)
    printed = await kubectl_get(world, kubectl, "nodes,pods,replicasets,deployments")
    from_kubectl = load(str(printed)).snapshot
    assert from_kubectl.unreadable == ()
    gaps = {gap.source for gap in from_kubectl.gaps}
    assert gaps == set(sources.BY_NAME) - {
        *("nodes", "pods", "replicasets", "deployments", "podmigrations")
    }
    kinds = ("Node", "Pod", "ReplicaSet", "Deployment")
    from_server = own(world, to_objects(await live(world)), *kinds)
    assert own(world, to_objects(from_kubectl), *kinds) == from_server
    assert len([each for each in from_server if each["kind"] == "Pod"]) >= 5
    # And it can be made a file of ours, which is much smaller.
    saved = world.folder / "saved.json"
    ended = await snapshot(world, "save", str(saved), "-f", str(printed), online=False)
    assert ended.code == 0, ended
    assert own(world, to_objects(load(str(saved)).snapshot), *kinds) == from_server
    assert saved.stat().st_size < printed.stat().st_size / 2


@pytest.mark.parametrize("resource", ["nodes", "pods"])
async def test_lists_as_the_server_sends_them(world: World, kubectl: Path, resource: str) -> None:
    await world.add_nodes(1)
    await world.create(deployment("web", replicas=1))
    await settle(world, ("web", "Deployment"))
    files = []
    for each in ("nodes", "pods"):
        admin = ("--kubeconfig", str(world.instance.admin_kubeconfig))
        ended = await run(world, kubectl, "get", "--raw", f"/api/v1/{each}", *admin)
        path = world.folder / f"{each}.json"
        path.write_text(ended.out)
        files.append(str(path))
    kind = {"nodes": "Node", "pods": "Pod"}[resource]
    expected = own(world, to_objects(await live(world)), kind)
    assert len(expected) == 1
    assert own(world, to_objects(load(*files).snapshot), kind) == expected


# ------------------------------------------------------------------ show


async def test_the_figures_of_a_live_cluster(world: World) -> None:
    full, empty = await world.add_nodes(2, cpu="4", memory="8Gi")
    await world.deploy(deployment("web", replicas=3), on=full)
    await world.cordon(empty)
    ended = await snapshot(world, "show")
    assert (ended.code, ended.err) == (0, "")
    table = ended.out.split("\n\n")[0].splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in table}
    assert rows[full] == ["Ready", "1.5/4", "38%", "0.8/8Gi", "9%", "3/110"]
    assert rows[empty] == ["Ready,Cordoned", "0/4", "0%", "0/8Gi", "0%", "0/110"]
    assert "Imbalance:  " in ended.out
    assert "Not seen" not in ended.out
    of_machines = await snapshot(world, "show", "-o", "json")
    nodes = {each["name"]: each for each in json.loads(of_machines.out)["nodes"]}
    asked = {"cpuMillicores": 1500, "memoryBytes": 3 * 256 * 2**20, "pods": 3}
    assert nodes[full]["requested"] == asked
    assert nodes[empty]["cordoned"]


async def test_usage_is_saved_and_shown_where_somebody_measures_it(tmp_path: Path) -> None:
    with OwnedInstance() as owned:
        owned.start("metrics-server")
        await install_rights(owned.instance)
        async with make_world(owned.instance, tmp_path, "usage") as world:
            [name] = await world.add_nodes(1)
            await world.create(pod("busy", cpu_usage="600m", memory_usage="512Mi"))

            async def is_measured() -> bool:
                path = f"/apis/metrics.k8s.io/v1beta1/namespaces/{world.name}/pods/busy"
                try:
                    await world.api.request("GET", path)
                except ApiError:
                    return False  # not served yet, or the pod is not known yet
                return True

            await world.wait("the pod is measured", is_measured)
            ended, path = await save(world)
            assert ended.code == 0, ended
            loaded = load(str(path)).snapshot
            usage = loaded.usage
            assert usage is not None
            assert usage.source == "metrics-server"
            assert usage.node_cpu[0] == pytest.approx(650, rel=0.2)
            [row] = loaded.rows
            assert bool(usage.pod_measured[row])
            assert usage.pod_memory[row] == 512 * 2**20
            shown = await snapshot(world, "show", "-f", str(path), online=False)
            [line] = [each for each in shown.out.splitlines() if each.startswith(name)]
            assert line.split()[-1] == "5%"  # (512Mi + 256Mi) / 16Gi
            assert "Usage:      measured by metrics-server" in shown.out


# ------------------------------------------------------------------ what cannot be seen


@asynccontextmanager
async def with_rights_but_for(world: World, *resources: str) -> AsyncIterator[None]:
    """From here on the command may see all but these."""
    by_group: dict[str, list[str]] = {}
    for each in sources.ALL:
        if each.plural not in resources:
            group = each.group_version.rpartition("/")[0]
            by_group.setdefault(group, []).append(each.plural)
    rules = [
        {"apiGroups": [group], "resources": names, "verbs": ["list", "watch"]}
        for group, names in by_group.items()
    ]
    account = {"kind": "ServiceAccount", "metadata": {"name": "half-blind"}}
    await world.create({"apiVersion": "v1", **account})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": world.name}
    subject = {"kind": "ServiceAccount", "name": "half-blind", "namespace": world.name}
    rbac = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": world.name}}
    await world.api.create({**rbac, "kind": "ClusterRole", "rules": rules})
    binding = {**rbac, "kind": "ClusterRoleBinding"}
    await world.api.create({**binding, "roleRef": reference, "subjects": [subject]})
    path = f"/api/v1/namespaces/{world.name}/serviceaccounts/half-blind/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    world.token = (await world.api.request("POST", path, body=body))["status"]["token"]

    async def may() -> bool:
        query = {"kind": "SelfSubjectAccessReview", "apiVersion": "authorization.k8s.io/v1"}
        allowed = {"verb": "watch", "resource": "csinodes", "group": "storage.k8s.io"}
        ended = await _review(world, {**query, "spec": {"resourceAttributes": allowed}})
        return bool(ended["status"]["allowed"])

    try:
        await world.wait("the rights are in force", may)
        yield
    finally:
        for kind in ("ClusterRoleBinding", "ClusterRole"):
            await world.api.delete(kind, None, world.name)


async def _review(world: World, review: Object) -> Object:
    """Asked as the command would be, by its own token."""
    async with Api(world.instance.url, world.token, world.instance.client_ssl()) as api:
        path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
        return await api.request("POST", path, body=review)


async def test_what_may_not_be_seen_is_told_and_the_rest_is_saved(world: World) -> None:
    await world.add_nodes(1)
    await world.create(deployment("web", replicas=1))
    await settle(world, ("web", "Deployment"))
    async with with_rights_but_for(world, "replicasets", "persistentvolumes"):
        ended, path = await save(world)
        shown = await snapshot(world, "show")
    assert ended.code == 0, ended
    lines = ended.err.splitlines()
    assert [line.split(": ")[:2] for line in lines] == [
        ["not seen", "persistentvolumes"],
        ["not seen", "replicasets"],
    ]
    assert "no permission to list and watch replicasets" in lines[1]
    loaded = load(str(path)).snapshot
    assert [(gap.source, gap.forbidden) for gap in loaded.gaps] == [
        ("persistentvolumes", True),
        ("replicasets", True),
    ]
    kinds = {each["kind"] for each in own(world, to_objects(loaded))}
    assert kinds >= {"Node", "Pod", "Deployment"}
    assert "ReplicaSet" not in kinds
    assert "Not seen:   persistentvolumes: " in shown.out


@pytest.mark.parametrize("resource", ["nodes", "pods"])
async def test_without_nodes_or_pods_there_is_nothing_to_save(world: World, resource: str) -> None:
    async with with_rights_but_for(world, resource):
        ended, path = await save(world)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith(f"error: {resource} cannot be seen: we have no permission")
    assert not path.exists()
    assert len(ended.err.splitlines()) == 1


async def test_a_login_that_is_refused_is_told_in_one_line(world: World) -> None:
    world.token = "of-nobody"  # noqa: S105 - wrong on purpose
    ended = await snapshot(world, "show")
    assert (ended.code, ended.out) == (1, "")
    [line] = ended.err.splitlines()
    assert line.startswith("error: ")
    assert "credentials" in line
