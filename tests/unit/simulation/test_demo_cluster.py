from collections import Counter

import pytest

from rescheduler.simulation.demo_cluster import FEWEST_NODES, History, history
from rescheduler.simulation.described import WORKLOAD

WITH_PODS = ("deployments", "statefulsets", "daemonsets")


def kinds(story: History) -> Counter[str]:
    return Counter(
        made.resource.plural for stage in story.stages for made in (*stage.nodes, *stage.objects)
    )


def test_the_same_seed_gives_the_same_cluster_and_another_one_another() -> None:
    assert history(30, 7) == history(30, 7)
    assert history(30, 7) != history(30, 8)


@pytest.mark.parametrize("nodes", [FEWEST_NODES, 30, 200])
def test_it_has_as_many_nodes_as_asked_for_of_which_some_are_new(nodes: int) -> None:
    story = history(nodes, 0)
    assert kinds(story)["nodes"] == nodes
    names = [made.name for stage in story.stages for made in stage.nodes]
    assert len(set(names)) == nodes
    *_, newest = story.stages
    assert newest.nodes
    assert newest.objects == ()


def test_there_is_everything_that_makes_moving_hard() -> None:
    found = kinds(history(30, 0))
    assert found["deployments"] > 30
    assert found["statefulsets"] == 6
    assert found["daemonsets"] == 1
    budgets = [
        made.body["spec"]
        for stage in history(30, 0).stages
        for made in stage.objects
        if made.resource.plural == "poddisruptionbudgets"
    ]
    assert sum(each["maxUnavailable"] == 0 for each in budgets) > 20
    assert 350 <= sum(stage.pods for stage in history(30, 0).stages) <= 450


def test_the_load_of_every_pod_is_known() -> None:
    story = history(30, 3)
    templates = [
        made.body["spec"]["template"]
        for stage in story.stages
        for made in stage.objects
        if made.resource.plural in WITH_PODS
    ]
    named = [each["metadata"]["annotations"][WORKLOAD] for each in templates]
    assert len(set(named)) == len(named)
    assert set(named) == set(story.loads)
