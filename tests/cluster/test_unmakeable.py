"""What not even its owner could make anew by now is not evicted: it stays, told in the words of who
refuses it, and nobody else's move waits for it.

Of the two kinds of workload and the two refusals, each run draws two of the four pairs;
SCENARIO_MATRIX=all takes all.
"""

from typing import Any

import pytest

from testbed.api import Object
from testbed.builders import deployment, pod, pod_spec, service, workload
from testbed.world import World
from tests.cluster.injecting import nobody_answering
from tests.scenarios.drawing import drawn
from tests.scenarios.judging import assert_nothing_of_ours_is_left
from tests.scenarios.looping import Ended, as_admin, election

BRIEF: dict[str, Any] = {"migration": {"steerTimeout": "2s", "readyTimeout": "10s"}}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


async def drain(world: World, node: str, timeout: str = "4m") -> Ended:  # noqa: ASYNC109
    path = str(world.configuration(**election(world), **BRIEF))
    return await as_admin(world, "drain", node, "--config", path, "--timeout", timeout)


async def _forbid(world: World) -> None:
    await world.api.patch("Namespace", None, world.name, {"metadata": {"labels": RESTRICTED}})


async def _remove_account(world: World) -> None:
    path = f"/api/v1/namespaces/{world.name}/serviceaccounts/web"
    await world.api.request("DELETE", path)


def _web(kind: str, spec: Object) -> Object:
    if kind == "Deployment":
        return deployment("web", replicas=3, spec=spec)
    return workload(kind, "web", replicas=3, serviceName="web", spec=spec)


@pytest.mark.parametrize(
    ("change", "words", "kind"),
    drawn(
        [
            pytest.param(change, words, kind, id=f"{name}-{kind}")
            for name, change, words in (
                ("pod-security", _forbid, 'violates PodSecurity "restricted:latest"'),
                ("service-account", _remove_account, 'serviceaccount "web" not found'),
            )
            for kind in ("Deployment", "StatefulSet")
        ],
        matrix="SCENARIO",
        share=1 / 2,
    ),
)
async def test_it_stays_and_is_told(world: World, change: Any, words: str, kind: str) -> None:  # noqa: ANN401
    full, empty = await world.add_nodes(2)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "web"}}
    await world.create(service("web"), account)
    await world.deploy(_web(kind, pod_spec() | {"serviceAccountName": "web"}), on=full)
    await change(world)
    async with world.auditor() as auditor:
        run = await drain(world, full)
        audit = await world.audit(auditor)
    assert run.code == 1, run
    stay = [line for line in run.err.splitlines() if f"{world.name}/web-" in line]
    assert len(stay) == 3
    assert all(words in line for line in stay), run
    assert "too many" not in run.out
    assert await world.nodes_of("web") == [full] * 3
    assert empty not in await world.nodes_of("web")
    assert audit.replicas_missing() == [] == audit.endpoints_missing()
    assert audit.pods_removed() == audit.pods_made() == []
    await assert_nothing_of_ours_is_left(world)


async def test_a_bare_pod_is_not_tried_for_ever(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.place(lambda: pod("alone"), on=full)
    await _forbid(world)
    run = await drain(world, full, "0")
    assert run.code == 1, run
    assert "alone: CopyRefused: " in run.err
    assert await world.nodes_of("alone") == [full]
    assert len(await world.records()) == 1


async def test_a_webhook_that_is_down_is_told(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(_web("Deployment", pod_spec()), on=full)
    async with nobody_answering(world), world.auditor() as auditor:
        run = await drain(world, full, "40s")
        audit = await world.audit(auditor)
    assert run.code == 1, run
    assert "failed calling webhook" in run.err
    assert await world.nodes_of("web") == [full] * 3
    assert audit.replicas_missing() == [] == audit.endpoints_missing()
    assert audit.pods_removed() == audit.pods_made() == []
