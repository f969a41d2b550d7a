"""A node with every kind of pod that there is."""

from testbed.api import Object
from testbed.audit import is_ready
from testbed.builders import behaviour, budget, deployment, job, pod, pod_spec, service, workload
from testbed.scenarios import OWNER, Scene
from tests.scenarios.judging import HISTORY

SYSTEM = "kube-system"
UNREADY = frozenset({"never", "crashing", "pulling", "alone-pulling"})


def spec(**more: object) -> Object:
    return pod_spec(cpu="50m", memory="32Mi") | more


def without_image() -> Object:
    made = spec()
    made["containers"][0]["image"] = "registry.invalid/app:1"
    return made


def volumes(**source: object) -> Object:
    return spec(volumes=[{"name": "local", **source}])


def opted_out() -> Object:
    made = deployment("opted-out", replicas=1, spec=spec())
    made["spec"]["template"]["metadata"]["labels"][HISTORY + "rescheduling"] = "disabled"
    return made


def of_the_world() -> list[Object]:
    """In its own namespace."""
    return [
        service("web"),
        budget("web", maxUnavailable=0),
        deployment("web", replicas=2, spec=spec()),
        deployment("scratch", replicas=2, spec=volumes(emptyDir={})),
        deployment("hosted", replicas=1, spec=volumes(hostPath={"path": "/data"})),
        deployment("critical", replicas=1, spec=spec(priorityClassName="system-cluster-critical")),
        deployment("never", replicas=1, spec=spec(), annotations=behaviour(never_ready="true")),
        deployment("crashing", replicas=1, spec=spec(), annotations=behaviour(crashes="true")),
        deployment("pulling", replicas=1, spec=without_image()),
        workload("StatefulSet", "numbered", spec=spec(), replicas=1, serviceName="numbered"),
        workload("DaemonSet", "everywhere", spec=spec()),
        opted_out(),
        pod("alone", spec=spec()),
        pod("alone-scratch", spec=volumes(emptyDir={})),
        pod("alone-pulling", spec=without_image()),
        job("task", spec=spec()),
    ]


def of_the_system(world: Scene) -> Object:
    toleration = {"key": OWNER, "operator": "Equal", "value": world.name}
    confined = spec(tolerations=[toleration], nodeSelector={OWNER: world.name})
    made = deployment("dns", replicas=2, spec=confined)
    made["metadata"]["namespace"] = SYSTEM
    return made


async def deploy_every_kind(world: Scene) -> str:
    """The node that has one of each, beside two that have room for all."""
    full, *others = await world.add_nodes(3)
    for node in others:
        await world.cordon(node)
    manifests = of_the_world()
    await world.create(*manifests)
    await world.api.create(of_the_system(world))
    apps = {each["metadata"]["name"] for each in manifests} | {"dns"}

    async def are_there() -> bool:
        found = await on(world, full)
        ready = {app_of(each) for each in found if is_ready(each)}
        return {app_of(each) for each in found} == apps and apps - ready == UNREADY

    await world.wait("every kind is there", are_there)
    for node in others:
        await world.uncordon(node)
    return full


def app_of(found: Object) -> str:
    name: str = found["metadata"]["labels"]["app"]
    return name


async def on(world: Scene, node: str) -> list[Object]:
    found = [*await world.api.list("Pod", world.name), *await world.api.list("Pod", SYSTEM)]
    return [each for each in found if each["spec"].get("nodeName") == node]


async def apps_on(world: Scene, node: str) -> set[str]:
    return {app_of(each) for each in await on(world, node)}
