"""`rescheduler get`, `status` and `migrate`, as people type them."""

import json
import re

import yaml

from testbed.builders import deployment
from testbed.scenarios import OWNER
from tests.scenarios.asking import ask
from tests.scenarios.deploying import deploy_web
from tests.scenarios.looping import as_admin, controller, election
from tests.scenarios.pausing import SAYS_PAUSED, pause_by_hand
from tests.scenarios.world import World


async def test_get_prints_records_as_kubectl_does(world: World) -> None:
    await deploy_web(world, 2)
    nothing = await as_admin(world, "get", "migrations", "-n", world.name)
    assert (nothing.code, nothing.out) == (0, "")
    assert nothing.err == f"No resources found in {world.name} namespace."
    assert (await world.run()).code == 0
    [record] = await world.records()
    name = record["metadata"]["name"]
    table = await as_admin(world, "get", "migrations", "-n", world.name)
    head, row = table.lines
    assert head.split() == ["NAME", "POD", "FROM", "TO", "WAY", "PHASE", "STEP", "REASON", "AGE"]
    assert row.split()[0] == name
    assert row.split()[4:8] == ["Surge", "Completed", "Done", "Completed"]
    wide = await as_admin(world, "get", "migrations", "-A", "-o", "wide")
    assert wide.lines[0].split()[:2] == ["NAMESPACE", "NAME"]
    assert wide.lines[0].split()[-2:] == ["MESSAGE", "AGE"]
    names = await as_admin(world, "get", "migrations", "-n", world.name, "-o", "name")
    assert names.out == f"podmigration.rescheduler.io/{name}\n"
    one = await as_admin(world, "get", "migrations", name, "-n", world.name, "-o", "json")
    assert json.loads(one.out)["metadata"]["name"] == name
    in_yaml = await as_admin(world, "get", "migrations", name, "-n", world.name, "-o", "yaml")
    assert yaml.safe_load(in_yaml.out) == json.loads(one.out)
    assert not in_yaml.out.startswith("{")
    every = await as_admin(world, "get", "migrations", "-n", world.name, "-o", "yaml")
    listed = yaml.safe_load(every.out)
    assert (listed["kind"], listed["items"]) == ("List", [json.loads(one.out)])
    unknown = await as_admin(world, "get", "migrations", name + "x", "-n", world.name)
    assert unknown.code == 1
    assert f'did you mean "{name}"?' in unknown.err


async def test_migrate_picks_a_node_waits_and_tells(world: World) -> None:
    full, empty = await deploy_web(world, 2)
    pod = min(each["metadata"]["name"] for each in await world.pods("web"))
    path = str(world.configuration(enabledStrategies=[]))
    async with controller(world, enabledStrategies=[], reschedulingInterval="1s"):
        there = await as_admin(
            world, "migrate", pod, "-n", world.name, "--to", full, "--config", path
        )
        assert there.code == 1
        assert there.err == f"error: {world.name}/{pod} is on {full} already"
        moved = await as_admin(world, "migrate", f"{world.name}/{pod}", "--config", path)
    assert moved.code == 0, moved
    assert moved.lines[0].endswith(f"created: {world.name}/{pod} {full} -> {empty}")
    assert moved.lines[-1].startswith(f"pod/{pod} moved: Completed: ")
    assert (await world.nodes_of("web")).count(empty) == 1


async def test_migrate_takes_a_pod_to_the_node_that_is_named(world: World) -> None:
    """Not to the one that it would choose itself."""
    full, _ = await deploy_web(world, 2)
    [other] = await world.add_nodes(1, cpu="2")
    await world.deploy(deployment("beside", replicas=1), on=other)
    pod = min(each["metadata"]["name"] for each in await world.pods("web"))
    path = str(world.configuration(enabledStrategies=[]))
    flags = ("-n", world.name, "--to", other, "--config", path)
    async with controller(world, enabledStrategies=[], reschedulingInterval="1s"):
        moved = await as_admin(world, "migrate", pod, *flags)
    assert moved.code == 0, moved
    assert moved.lines[0].endswith(f"created: {world.name}/{pod} {full} -> {other}")
    assert moved.lines[-1].startswith(f"pod/{pod} moved: Completed: ")
    assert sorted(await world.nodes_of("web")) == sorted([full, other])


async def test_migrate_refuses_what_planning_refuses_and_what_is_paused(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    path = str(world.configuration(enabledStrategies=[]))
    pod = (await world.pods("web"))[0]["metadata"]["name"]
    flags = ("-n", world.name, "--config", path)
    nobody = await as_admin(world, "migrate", "nobody", *flags)
    assert nobody.err == f"error: there is no pod {world.name}/nobody, or it has ended"
    ballast = (await world.pods("ballast"))[0]["metadata"]["name"]
    stays = await as_admin(world, "migrate", ballast, *flags)
    assert stays.code == 1
    assert "its label scheduler.alpha.kubernetes.io/rescheduling keeps it out" in stays.err
    await world.cordon(empty)
    cordoned = await as_admin(world, "migrate", pod, "--to", empty, *flags)
    assert cordoned.code == 1
    assert f"{empty} does not take it: " in cordoned.err
    await world.uncordon(empty)
    await pause_by_hand(world, "not now")
    paused = await as_admin(world, "migrate", pod, *flags)
    assert paused.code == 1
    assert "paused: not now" in paused.err
    assert await world.records() == []
    queued = await as_admin(world, "migrate", pod, "--no-wait", *flags)
    assert queued.code == 0
    assert "paused: not now; it begins after `rescheduler resume`" in queued.err
    assert len(await world.records()) == 1
    twice = await as_admin(world, "migrate", pod, "--no-wait", *flags)
    assert "is being moved already" in twice.err


async def test_status_says_who_leads_what_came_of_it_and_what_to_do(world: World) -> None:
    _, empty = await deploy_web(world, 2)
    settings = {"enabledStrategies": [], **election(world)}
    path = str(world.configuration(**settings))
    before = await as_admin(world, "status", "--config", path)
    assert before.code == 0, before
    assert "Leader:     nobody" in before.out
    assert "no migration yet, as far as records tell" in before.out
    first, second = await world.pods("web")
    async with controller(world, **settings) as running:
        await running.says("pass ended")
        await ask(world, first, empty)
        await world.wait_for_record(first["metadata"]["name"], phase="Completed")
        await pause_by_hand(world, "not now")
        await running.says(SAYS_PAUSED)
        await ask(world, second, empty)
        told = await as_admin(world, "status", "--config", path)
        document = json.loads((await as_admin(world, "status", "-o", "json", "--config", path)).out)
    leader = running.said("became leader")[0]["identity"]
    assert f"Leader:     {leader}, for " in told.out
    assert "Paused:     paused: not now" in told.out
    assert "1 moved, 0 failed (100 % success, 0 % fell back, 0 retries)" in told.out
    assert "0, 1 waiting" in told.out
    assert told.lines[-1] == "Next:       rescheduler resume"
    assert document["leader"]["holder"] == leader
    assert document["ended"]["successPercent"] == 100
    assert document["waiting"] == 1
    assert document["next"] == "rescheduler resume"


async def test_status_tells_how_uneven_the_cluster_is_and_what_passes_did(world: World) -> None:
    await deploy_web(world, 2)
    assert (await world.run(maxReschedulePods=1)).code == 0
    assert len(await world.records()) == 1
    path = str(world.configuration())
    told = await as_admin(world, "status", "--config", path)
    assert told.code == 0, told
    number = r"\d+\.\d"
    uneven = rf"; imbalance cpu {number}, memory {number}, pods {number} points$"
    [cluster] = [line for line in told.lines if line.startswith("Cluster: ")]
    assert re.search(uneven, cluster), cluster
    [passed] = [line for line in told.lines if line.startswith("Passes: ")]
    assert re.fullmatch(r"Passes:     \d+[smh] ago: 1 of 1 moved", passed)
    document = json.loads((await as_admin(world, "status", "-o", "json", "--config", path)).out)
    assert document["imbalance"]["cpu"] > 0
    [one] = document["passes"]
    assert (one["moves"], one["moved"], one["ended"]) == (1, 1, 1)


async def test_status_says_what_is_wrong_with_a_deployment_that_does_not_lead(
    world: World,
) -> None:
    [node] = await world.add_nodes(1)
    await world.deploy(deployment("rescheduler-scheduler", replicas=1), on=node)
    path = str(world.configuration(**election(world)))
    idle = await as_admin(world, "status", "--config", path)
    assert idle.code == 0, idle
    assert "Leader:     nobody" in idle.lines
    words = (
        f"Stuck:      Deployment {world.name}/rescheduler-scheduler: 1 of 1 Ready, but none holds"
    )
    assert any(line.startswith(words) for line in idle.lines), idle.out
    assert idle.lines[-1].startswith(f"Next:       kubectl -n {world.name} logs -l ")
    await world.scale("rescheduler-scheduler", 0)
    stopped = await as_admin(world, "status", "--config", path)
    assert "rescheduler-scheduler: it is scaled to 0" in stopped.out
    scaling = f"kubectl -n {world.name} scale deployment rescheduler-scheduler --replicas=2"
    assert stopped.lines[-1] == f"Next:       {scaling}"


async def test_status_names_what_strategies_have_given_up(world: World) -> None:
    await deploy_web(world, 1)
    await world.afflict_copies(never_ready="true")
    settings = {"migration": {"readyTimeout": "2s", "retry": {"attempts": 1}}}
    assert (await world.run(**settings)).code == 1
    [record] = await world.records()
    pod, name = record["spec"]["pod"]["name"], record["metadata"]["name"]
    told = await as_admin(world, "status", "--config", str(world.configuration(**settings)))
    words = "failed once, and no strategy tries again: NotReadyInTime: "
    assert f"Stuck:      {world.name}/{pod}: {words}" in told.out
    assert told.lines[-1] == f"Next:       rescheduler retry {name} -n {world.name}"
    patient = await as_admin(world, "status", "--config", str(world.configuration()))
    assert "Stuck:      nothing" in patient.lines


async def test_status_names_a_failed_one_and_the_command_for_it(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await world.afflict_copies(never_ready="true")
    await ask(world, pod, empty)
    settings = {"migration": {"readyTimeout": "2s", "retry": {"attempts": 1}}}
    assert (await world.run(enabledStrategies=[], **settings)).code == 1
    told = await as_admin(world, "status", "--config", str(world.configuration()))
    name = pod["metadata"]["name"]
    assert f"{world.name}/{name}: NotReadyInTime: " in told.out
    assert told.lines[-1] == f"Next:       rescheduler retry {name} -n {world.name}"


async def test_status_leaves_nodes_that_are_not_in_scope_to_others(world: World) -> None:
    ours, theirs = await world.add_nodes(2)
    for node, owner in ((ours, world.name), (theirs, "others")):
        annotations = {"rescheduler.io/maintenance-status": "2 pods left, 2 stay: why"}
        change = {"metadata": {"annotations": annotations, "labels": {OWNER: owner}}}
        await world.api.patch("Node", None, node, change)
    told = await as_admin(world, "status", "--config", str(world.configuration()))
    assert f"Stuck:      node {ours}: 2 pods left, 2 stay: why" in told.lines
    assert told.lines[-1] == f"Next:       rescheduler drain {ours} --dry-run"
    assert theirs not in told.out


async def test_status_counts_who_gave_way_apart_and_calls_nobody_stuck_who_is_gone(
    world: World,
) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    gone = {**pod, "metadata": {**pod["metadata"], "name": "gone", "uid": "of-nobody"}}
    await ask(world, pod, empty)
    await ask(world, gone, empty, strategy="Nobody's")
    await world.run(enabledStrategies=[])
    told = await as_admin(world, "status", "--config", str(world.configuration()))
    counts = "1 moved, 0 failed, 1 gave way (100 % success, 0 % fell back, 0 retries)"
    assert f"Ended:      {counts}" in told.out
    assert f"- by hand: {counts}" in told.out
    assert "Nobody's" not in told.out
    # On a real one other tests may have something stuck at this moment.
    stuck = told.out.split("Stuck:")[1].split("Next:")[0]
    assert world.name not in stuck


async def test_status_says_when_nobody_goes_on_with_what_is_under_way(world: World) -> None:
    _, empty = await deploy_web(world, 1)
    [pod] = await world.pods("web")
    await world.afflict_copies(never_ready="true")
    settings = {"enabledStrategies": [], **election(world)}
    async with controller(world, **settings) as running:
        await running.says("pass ended")
        await ask(world, pod, empty)
        await running.says("migration waits", where=lambda line: line["step"] == "WaitReady")
        assert (await running.stop()).code == 0
    told = await as_admin(world, "status", "--config", str(world.configuration(**settings)))
    assert "Stuck:      1 under way: nobody leads, so nobody goes on with them" in told.out
    assert told.lines[-1] == "Next:       rescheduler run --config FILE"
