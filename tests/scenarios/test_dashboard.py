"""The dashboard's API says what the commands say, of the same cluster at the same moment."""

import json

from tests.scenarios.deploying import deploy_web
from tests.scenarios.looking import Page, free_port
from tests.scenarios.looping import controller, election
from tests.scenarios.planning import command, name_of, plans, wait_for_plan
from tests.scenarios.world import World

APPROVE = {"mode": "Approve", "reschedulingInterval": "1s"}


async def test_the_api_agrees_with_the_commands(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    page = Page(world, free_port())
    async with controller(world, **APPROVE, **election(world), **page.settings()) as running:
        plan = await wait_for_plan(world, phase="Waiting")
        name = name_of(plan)
        await page.shows("the plan is there", lambda found: bool(found["name"]), "plan")
        shown = await page.shows("its plan is listed", lambda found: found["total"] == 1, "plans")
        [row] = shown["items"]
        told = json.loads((await command(world, "get", "plans", name, "-o", "json")).out)
        assert row["name"] == told["metadata"]["name"] == name
        assert (row["phase"], row["reason"]) == ("Waiting", "NeedsApproval")
        assert row["may"] == ["approve", "reject"]
        assert row["total"] == told["spec"]["total"]
        one = await page.get("plans", name)
        keys = ("from", "to", "strategy", "reason", "way")
        assert [{key: each["move"][key] for key in keys} for each in one["moves"]] == [
            {key: each[key] for key in keys} for each in told["spec"]["moves"]
        ]
        [move] = told["spec"]["moves"]
        decided = await page.get("plan")
        assert [each["pod"]["uid"] for each in decided["moves"]] == [move["uid"]]
        explained = await page.get("pods", world.name, move["pod"])
        assert (explained["mayMove"], explained["node"], explained["way"]) == (True, full, "surge")
        assert explained["move"]["to"] == empty
        assert [each["name"] for each in explained["nodes"] if each["fits"]] == [empty]
        nodes = await page.get("nodes", full)
        assert {each["name"] for each in nodes["pods"]} >= {move["pod"]}
        assert (await page.get("pods", query=f"q={move['pod']}"))["total"] == 1
        cluster = await page.get("cluster")
        assert set(cluster["nodes"]["name"]) >= {full, empty}
        [mark] = [each for each in cluster["moves"] if each["uid"] == move["uid"]]
        ends = [cluster["nodes"]["name"][mark[end]] for end in ("from", "to")]
        assert (mark["state"], ends) == ("planned", [full, empty])
        await running.stop()


async def test_a_move_appears_and_completes(world: World) -> None:
    full, empty = await deploy_web(world, 3)
    page = Page(world, free_port())
    async with controller(
        world, reschedulingInterval="1s", **election(world), **page.settings()
    ) as running:
        done = await page.shows(
            "a migration has completed",
            lambda found: bool(found["items"]),
            "migrations",
            # Others move pods in the same cluster.
            query=f"phase=Completed&namespace={world.name}",
        )
        *_, row = done["items"]
        assert (row["from"], row["to"], row["way"]) == (full, empty, "Surge")
        one = await page.get("migrations", row["namespace"], row["name"])
        steps = [each["step"] for each in one["steps"]]
        assert steps[-1] == "Done"
        begun = [each["beganAt"] for each in one["steps"]]
        assert begun == sorted(begun)
        [record] = [
            each for each in await world.records() if each["metadata"]["name"] == row["name"]
        ]
        assert row["pod"]["uid"] == record["spec"]["pod"]["uid"]
        history = await page.get("history")
        assert history["moved"] >= 1
        assert history["points"]
        overview = await page.get("overview")
        assert overview["role"] == "leading"
        assert overview["viewer"]["mayAct"] is False
        refused = await page.ask("plans", name_of((await plans(world))[-1]), "undo", method="POST")
        assert refused.status == 403, "it only shows, unless acting is switched on"
        await running.stop()


async def test_settings_say_where_each_value_is_from(world: World) -> None:
    await deploy_web(world, 2)
    page = Page(world, free_port())
    async with controller(
        world, reschedulingInterval="2s", cpuThreshold=77, **election(world), **page.settings()
    ) as running:
        await page.shows("it answers", lambda found: bool(found["items"]), "settings")
        found = {each["path"]: each for each in (await page.get("settings"))["items"]}
        assert (found["cpuThreshold"]["value"], found["cpuThreshold"]["source"]) == (77, "file")
        assert found["memoryThreshold"]["source"] == "default"
        assert found["dashboard.port"]["value"] == page.port
        await running.stop()
