"""`rescheduler drain`: one node, emptied while its services go on."""

import signal
from datetime import datetime, timedelta

from testbed.api import Object
from testbed.builders import behaviour, budget, deployment, pod, pod_spec, workload
from testbed.faultproxy import Match, fail, kill
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.judging import assert_nobody_noticed
from tests.scenarios.looping import Ended, as_admin, controller, election, ended
from tests.scenarios.world import World

ANNOTATION = "rescheduler.io/cordoned"
STATUS = "rescheduler.io/maintenance-status"


def settings(world: World) -> dict[str, object]:
    return {**election(world), "inFlight": {"perNode": 0, "perWorkload": 5}}


async def drain(world: World, node: str, *flags: str, **more: object) -> Ended:
    path = str(world.configuration(**{**settings(world), **more}))
    return await as_admin(world, "drain", node, "--config", path, *flags)


def is_ending(found: Object) -> bool:
    return "deletionTimestamp" in found["metadata"]


async def node_of(world: World, node: str) -> Object:
    return await world.api.get("Node", None, node)


async def set_free(world: World, *more: Object, replicas: int = 3) -> tuple[str, str]:
    """A web on the first of two nodes, and nothing else there."""
    full, empty = await world.add_nodes(2)
    await world.create(*more)
    await world.deploy(deployment("web", replicas=replicas), on=full)
    return full, empty


async def pods_on(world: World, node: str) -> list[str]:
    pods = await world.api.list("Pod", world.name)
    return [each["metadata"]["name"] for each in pods if each["spec"].get("nodeName") == node]


async def has_told(world: World, node: str, words: str) -> bool:
    """On the node, which it does before it waits."""
    annotations = (await node_of(world, node))["metadata"].get("annotations") or {}
    return words in annotations.get(STATUS, "")


async def test_empties_the_node_line_by_line_and_leaves_it_cordoned(world: World) -> None:
    full, empty = await set_free(world, budget("web", maxUnavailable=0))
    async with world.auditor() as auditor:
        run = await drain(world, full)
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert run.lines[0] == f"node/{full} cordoned"
    assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
    moved = run.lines[1:-1]
    assert len(moved) == 3
    for number, line in enumerate(moved, 1):
        assert line.startswith("pod/web-")
        assert f" moved ({number} of 3) in namespace {world.name}: {full} -> {empty}" in line
    assert await world.nodes_of("web") == [empty] * 3
    node = await node_of(world, full)
    assert node["spec"]["unschedulable"] is True
    assert node["metadata"]["annotations"][ANNOTATION] == "drain"
    assert_nobody_noticed(audit)


async def test_a_second_time_there_is_nothing_to_do(world: World) -> None:
    full, _ = await set_free(world, replicas=1)
    await drain(world, full)
    again = await drain(world, full)
    assert again.code == 0, again
    assert again.lines == [f"node/{full} already cordoned", f"node/{full} drained: 0 pods moved"]


async def test_says_who_stays_and_why(world: World) -> None:
    full, empty = await deploy_web(world, 1)
    run = await drain(world, full)
    assert run.code == 1
    assert await world.nodes_of("web") == [empty]
    told = run.err.splitlines()
    assert told[0] == f'error: 2 pods stay on node "{full}", 1 moved:'
    assert all(line.startswith(f"  {world.name}/ballast-") for line in told[1:3])
    assert "rescheduling" in told[1]
    assert told[-1] == f"the node stays cordoned; to have it back: kubectl uncordon {full}"


async def test_a_dry_run_tells_the_same_and_changes_nothing(world: World) -> None:
    full, empty = await deploy_web(world, 1)
    async with world.auditor() as auditor:
        run = await drain(world, full, "--dry-run")
        audit = await world.audit(auditor)
    assert run.code == 0, run
    assert run.lines[0] == f"node/{full} cordoned (dry run)"
    assert f" moved (dry run) in namespace {world.name}: {full} -> {empty}" in run.lines[1]
    assert run.lines[2].startswith(f"stays: {world.name}/ballast-")
    assert "unschedulable" not in (await node_of(world, full))["spec"]
    assert await world.records() == []
    assert audit.changed_objects() == []


async def test_where_somebody_leads_it_only_asks_and_follows(world: World) -> None:
    full, empty = await set_free(world)
    async with controller(world, enabledStrategies=[], **settings(world)) as leader:
        await leader.says("pass ended")
        run = await drain(world, full)
        holder = leader.said("became leader")[0]["identity"]
    assert run.code == 0, run
    assert run.lines[0] == f"{holder} is the leader, and carries the moves out"
    assert run.lines[-1] == f"node/{full} drained: 3 pods moved", run
    assert await world.nodes_of("web") == [empty] * 3
    assert {each["status"]["holder"] for each in await world.records()} == {holder}


async def test_interrupted_it_says_what_is_left_and_goes_on_when_asked_again(world: World) -> None:
    full, empty = await set_free(world)
    await world.afflict_copies(ready_after="3s")
    path = str(world.configuration(**settings(world)))
    async with world.auditor() as auditor:
        process = await world.start_as_admin("drain", full, "--config", path)
        await world.wait_for_copy("web")
        process.send_signal(signal.SIGINT)
        first = await ended(process)
        second = await drain(world, full)
        audit = await world.audit(auditor)
    assert first.code == 130
    assert first.err.startswith(
        "interrupted; 0 of 3 pods moved, and what is under way goes on with"
    )
    assert f"`rescheduler drain {full}`" in first.err
    assert second.code == 0, second
    assert await world.nodes_of("web") == [empty] * 3
    assert_nobody_noticed(audit)


async def test_interrupted_it_lets_what_is_nearly_done_end(world: World) -> None:
    full, empty = await world.add_nodes(2)
    slow = deployment("web", replicas=1, annotations=behaviour(exit_after_seconds="5"))
    await world.deploy(slow, on=full)

    async def is_ending() -> bool:
        return any(pod["metadata"].get("deletionTimestamp") for pod in await world.pods("web"))

    path = str(world.configuration(**settings(world)))
    process = await world.start_as_admin("drain", full, "--config", path)
    await world.wait("the original ends", is_ending)
    process.send_signal(signal.SIGINT)
    run = await ended(process)
    assert run.code == 130, run
    assert run.lines[1].startswith("stopping: what is nearly done has 20 s to end")
    assert " moved (1 of 1) in namespace " in run.lines[2]
    assert run.err.startswith("interrupted; 1 of 1 pod moved; the node stays cordoned")
    [record] = await world.records()
    assert record["status"]["phase"] == "Completed"
    assert await world.nodes_of("web") == [empty]


async def test_out_of_time_it_says_what_is_left(world: World) -> None:
    full, _ = await set_free(world, replicas=1)
    await world.afflict_copies(never_ready="true")
    run = await drain(world, full, "--timeout", "12s")
    assert run.code == 1
    assert run.err.startswith("error: not done in time; 0 of 1 pod moved, and what is under way")
    assert f"the node stays cordoned, until kubectl uncordon {full}" in run.err


async def test_records_of_namespaces_that_are_not_ours_are_not_waited_for(world: World) -> None:
    full, empty = await set_free(world, replicas=1)
    pod = {"metadata": {"name": world.name, "uid": world.name}, "spec": {"nodeName": full}}
    others = await ask(world, pod, empty, namespace="default")
    try:
        run = await drain(world, full, "--timeout", "60s")
    finally:
        await world.api.delete("PodMigration", "default", others["metadata"]["name"])
    assert run.code == 0, run
    assert run.lines[-1] == f"node/{full} drained: 1 pod moved"


async def test_what_others_ask_for_elsewhere_is_not_begun(world: World) -> None:
    full, empty = await set_free(world, replicas=1)
    await world.cordon(full)
    await world.deploy(deployment("other", replicas=1), on=empty)
    [pod] = await world.pods("other")
    await ask(world, pod, (await world.add_nodes(1))[0])
    run = await drain(world, full)
    assert run.code == 0, run
    assert run.lines[-1] == f"node/{full} drained: 1 pod moved"
    theirs = next(each for each in await world.records() if each["spec"]["source"] == empty)
    assert (theirs.get("status") or {}).get("phase", "Pending") == "Pending"
    assert await world.nodes_of("other") == [empty]


async def test_what_others_ask_for_on_the_node_is_carried_out_too(world: World) -> None:
    full, empty = await set_free(world, replicas=1)
    [pod] = await world.pods("web")
    await ask(world, pod, empty)
    run = await drain(world, full)
    assert run.code == 0, run
    assert [each["status"]["phase"] for each in await world.records()] == ["Completed"]
    assert await world.nodes_of("web") == [empty]


async def test_the_rest_of_a_group_that_has_begun_is_begun_however_late(world: World) -> None:
    """Another leader had begun the one on the node; whose the other pod is cannot be heard yet."""
    elsewhere, full, empty = await world.add_nodes(3)
    await world.deploy(deployment("web", replicas=1), on=elsewhere)
    await world.deploy(deployment("db", replicas=1), on=full)
    [web], [db] = await world.pods("web"), await world.pods("db")
    for each in (db, web):
        await ask(world, each, empty, group={"id": "shop", "size": 2})
    begins = Match(
        verb="patch", resource="podmigrations", subresource="status", name=db["metadata"]["name"]
    )
    async with world.faults() as proxy:
        process = await world.start(enabledStrategies=[])
        proxy.on(begins, kill(process, when="after"), times=1)
        await process.finish()
    async with world.faults() as proxy:
        asked = Match(verb="get", resource="pods", name=web["metadata"]["name"])
        rule = proxy.on(asked, fail(403), times=1)
        run = await drain(world, full)
    assert rule.fired
    assert run.code == 0, run
    assert [each["status"]["phase"] for each in await world.records()] == ["Completed"] * 2


# ---------------------------------------------------------------------- waiting


async def test_pods_that_are_terminating_are_waited_for(world: World) -> None:
    full, _ = await world.add_nodes(2)
    slow = pod_spec() | {"terminationGracePeriodSeconds": 8}
    await world.place(lambda: pod("slow", spec=slow, ignores_sigterm="true"), on=full)
    await world.delete_pod("slow")
    assert await pods_on(world, full) == ["slow"]
    run = await drain(world, full)
    assert run.code == 0, run
    assert run.lines[1] == "waiting for 1 pod: it is on its way out"
    assert run.lines[-1] == f"node/{full} drained: 0 pods moved"
    assert await pods_on(world, full) == []


async def test_pods_that_a_finalizer_keeps_are_among_who_stays(world: World) -> None:
    full, _ = await world.add_nodes(2)
    kept = pod("kept")
    kept["metadata"]["finalizers"] = ["example.com/keep"]
    await world.place(lambda: kept, on=full)
    await world.delete_pod("kept")
    try:
        run = await drain(world, full, "--timeout", "15s")
        assert await pods_on(world, full) == ["kept"]
    finally:
        gone = {"metadata": {"finalizers": None}}
        await world.api.patch("Pod", world.name, "kept", gone)
    assert run.code == 1, run
    assert run.err.startswith("error: not done in time; ")
    assert f"  {world.name}/kept: it is on its way out" in run.err.splitlines()


async def test_a_budget_that_allows_nothing_for_now_is_waited_for(world: World) -> None:
    full, empty = await world.add_nodes(2)
    await world.create(budget("num", maxUnavailable=0))
    numbered = workload("StatefulSet", "num", replicas=2, serviceName="num")
    await world.deploy(numbered, on=full)
    path = str(world.configuration(**settings(world)))
    process = await world.start_as_admin("drain", full, "--config", path)
    await world.wait("it waits", lambda: has_told(world, full, "2 of 2 healthy"))
    allowed = {"spec": {"maxUnavailable": 1}}
    await world.api.patch("PodDisruptionBudget", world.name, "num", allowed)
    run = await ended(process)
    assert run.code == 0, run
    assert run.lines[1].startswith("waiting for 2 pods: its PodDisruptionBudget num: 2 of 2")
    assert run.lines[-1] == f"node/{full} drained: 2 pods moved"
    assert await world.nodes_of("num") == [empty] * 2


async def test_a_rollout_is_waited_for(world: World) -> None:
    full, empty = await world.add_nodes(2)
    slow = behaviour(ready_after="3s")
    await world.deploy(deployment("web", replicas=3, annotations=slow), on=full)
    await world.roll_out("web", "app:2")
    run = await drain(world, full)
    assert run.code == 0, run
    assert await pods_on(world, full) == []
    assert await world.nodes_of("web") == [empty] * 3


async def test_a_quota_with_room_for_one_more_is_waited_for(world: World) -> None:
    """Originals count until they are gone: copies are refused meanwhile, and made later."""
    full, empty = await world.add_nodes(2)
    slow = deployment("web", replicas=4, annotations=behaviour(exit_after_seconds="3"))
    await world.deploy(slow, on=full)
    limit = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": "5"}}}
    await world.create({"apiVersion": "v1", "kind": "ResourceQuota", **limit})

    async def is_counted() -> bool:
        quota = await world.api.get("ResourceQuota", world.name, "pods")
        return bool((quota.get("status") or {}).get("used") == {"pods": "4"})

    await world.wait("the quota is counted", is_counted)
    run = await drain(world, full)
    assert run.code == 0, run
    assert run.lines[-1] == f"node/{full} drained: 4 pods moved"
    assert await world.nodes_of("web") == [empty] * 4


async def test_what_the_api_server_always_refuses_is_not_tried_for_ever(world: World) -> None:
    full, _ = await set_free(world, replicas=1)
    async with world.faults() as proxy:
        proxy.on(Match(verb="create", resource="podmigrations"), fail(403))
        run = await drain(world, full)
    assert run.code == 1, run
    assert "not moved" in run.lines[1]
    assert run.err.startswith(f'error: 1 pod stays on node "{full}", 0 moved:')


async def test_a_pause_after_too_many_failures_is_told(world: World) -> None:
    full, _ = await set_free(world)
    await world.afflict_copies(never_ready="true")
    failing = {"failures": 1, "pause": "3s"}
    migration = {"readyTimeout": "3s", "retry": {"attempts": 1}, "circuitBreaker": failing}
    run = await drain(world, full, migration=migration, inFlight={"perWorkload": 1})
    assert run.code == 1, run
    assert any(each.startswith("no other move begins for ") for each in run.lines), run


async def test_out_of_time_while_it_waits_it_says_for_what(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.create(budget("num", maxUnavailable=0))
    numbered = workload("StatefulSet", "num", replicas=1, serviceName="num")
    await world.deploy(numbered, on=full)
    run = await drain(world, full, "--timeout", "15s")
    assert run.code == 1, run
    told = run.err.splitlines()
    assert told[0].startswith("error: not done in time; 0 of 0 pods moved; the node stays cordoned")
    assert told[1].startswith(f"  {world.name}/num-0: its PodDisruptionBudget num: 1 of 1 healthy")


async def test_interrupted_while_it_waits_it_ends_in_order(world: World) -> None:
    full, _ = await world.add_nodes(2)
    await world.create(budget("num", maxUnavailable=0))
    numbered = workload("StatefulSet", "num", replicas=1, serviceName="num")
    await world.deploy(numbered, on=full)
    path = str(world.configuration(**settings(world)))
    process = await world.start_as_admin("drain", full, "--config", path)
    await world.wait("it waits", lambda: has_told(world, full, "1 of 1 healthy"))
    process.send_signal(signal.SIGINT)
    run = await ended(process)
    assert run.code == 130, run
    assert run.err.startswith("interrupted; 0 of 0 pods moved; the node stays cordoned")


async def test_what_failed_in_an_earlier_drain_is_tried_again_at_once(world: World) -> None:
    full, empty = await set_free(world, replicas=2)
    # Rests for an hour, and only once: by that alone the second drain would move nothing.
    migration = {"readyTimeout": "5s", "retry": {"attempts": 1, "backOff": "1h"}}
    await world.afflict_copies(never_ready="true")
    first = await drain(world, full, migration=migration)
    assert first.code == 1, first
    assert await world.nodes_of("web") == [full] * 2
    await world.heal_copies()
    second = await drain(world, full, migration=migration)
    assert second.code == 0, second
    assert second.lines[-1] == f"node/{full} drained: 2 pods moved"
    assert await world.nodes_of("web") == [empty] * 2


async def test_when_whoever_leads_is_gone_it_makes_the_moves_itself(world: World) -> None:
    full, empty = await set_free(world)
    await world.afflict_copies(ready_after="5s")
    path = str(world.configuration(**settings(world)))
    async with controller(world, enabledStrategies=[], **settings(world)) as leader:
        await leader.says("pass ended")
        process = await world.start_as_admin("drain", full, "--config", path)
        await world.wait_for_copy("web")
        leader.kill()
        run = await ended(process)
        holder = leader.said("became leader")[0]["identity"]
    assert run.code == 0, run
    assert run.lines[0] == f"{holder} is the leader, and carries the moves out"
    assert f"{holder} is no longer the leader: the moves are made here" in run.lines
    assert run.lines[-1] == f"node/{full} drained: 3 pods moved"
    assert await world.nodes_of("web") == [empty] * 3


async def test_one_of_two_drains_carries_out_what_both_ask_for(world: World) -> None:
    first, second, _ = await world.add_nodes(3)
    await world.create(budget("num", maxUnavailable=0))
    numbered = workload("StatefulSet", "num", replicas=1, serviceName="num")
    await world.deploy(numbered, on=first)
    await world.deploy(deployment("web", replicas=2), on=second)
    path = str(world.configuration(**settings(world)))
    leading = await world.start_as_admin("drain", first, "--config", path)
    await world.wait("it waits", lambda: has_told(world, first, "1 of 1 healthy"))
    following = await drain(world, second)
    assert following.code == 0, following
    assert " is the leader, and carries the moves out" in following.lines[0]
    assert await pods_on(world, second) == []
    assert not leading.has_ended
    allowed = {"spec": {"maxUnavailable": 1}}
    await world.api.patch("PodDisruptionBudget", world.name, "num", allowed)
    assert (await ended(leading)).code == 0
    assert await pods_on(world, first) == []


async def test_a_node_that_is_not_there_is_named(world: World) -> None:
    [node] = await world.add_nodes(1)
    run = await drain(world, node + "0")
    assert (run.code, run.out) == (1, "")
    assert run.err == f'error: nodes "{node}0" not found; did you mean "{node}"?'


async def test_a_node_out_of_scope_is_not_touched(world: World) -> None:
    ours, other = await world.add_nodes(2)
    scope = {"nodeSelector": f"kubernetes.io/hostname={ours}"}
    run = await drain(world, other, scope=scope)
    assert run.code == 1
    assert f'node "{other}" is not in scope.nodeSelector' in run.err
    assert "unschedulable" not in (await node_of(world, other))["spec"]


async def test_a_bare_pod_that_fails_one_probe_is_not_given_for_a_copy_that_does_not_serve(
    world: World,
) -> None:
    full, _ = await world.add_nodes(2)
    await world.place(lambda: pod("alone"), on=full)
    [alone] = await world.pods("alone")
    started = datetime.fromisoformat(alone["status"]["startTime"])
    await world.afflict_copies(never_ready="true")
    path = str(world.configuration(**settings(world), migration={"readyTimeout": "15s"}))
    running = await world.start_as_admin("drain", full, "--config", path, "--timeout", "5s")
    await world.wait_for_record("alone", step="WaitReady")
    later = max(world.clock.now(), started + timedelta(seconds=2))
    await world.set_ready("alone", ready=False, at=later)
    run = await ended(running)
    assert run.code == 1
    left = [each["metadata"]["uid"] for each in await world.pods("alone") if not is_ending(each)]
    assert alone["metadata"]["uid"] in left


async def test_a_quota_counts_originals_until_they_are_gone(world: World) -> None:
    """So there is room for the next copy when the one before has made some, and not earlier."""
    full, empty = await world.add_nodes(2)
    slow = behaviour(exit_after_seconds="5")
    await world.deploy(deployment("web", replicas=3, annotations=slow), on=full)
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "few"}}
    await world.create({**quota, "spec": {"hard": {"pods": "4"}}})

    async def is_counted() -> bool:
        found = await world.api.get("ResourceQuota", world.name, "few")
        return bool((found.get("status") or {}).get("used", {}).get("pods") == "3")

    await world.wait("the quota is counted", is_counted)
    run = await drain(world, full)
    assert run.code == 0, run
    assert await world.nodes_of("web") == [empty] * 3
    assert all(each["status"]["phase"] == "Completed" for each in await world.records())
