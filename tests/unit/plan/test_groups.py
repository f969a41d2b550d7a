"""Pods that belong together: who they are, and that they move all or not at all."""

from dataclasses import replace

import pytest

from rescheduler.config import Configuration, PodRules
from rescheduler.model.cluster import Pod
from rescheduler.plan.groups import Groups
from tests.unit.plan.support.small_clusters import node, pod
from tests.unit.plan.support.snapshots import snapshot

GROUP = "scheduling.x-k8s.io/pod-group"


def groups_of(pods: list[Pod], configuration: Configuration | None = None) -> dict[str, list[str]]:
    """By name of a group, its members as each of them sees it."""
    state = snapshot([node("a")], pods)
    groups = Groups(state, configuration or Configuration())
    found: dict[str, list[str]] = {}
    for row in state.rows.tolist():
        members = groups.members(row)
        assert row in members
        assert bool(groups.name(row)) == (len(members) > 1)
        if groups.name(row):
            seen = [state.pods.names[member] for member in members]
            assert found.setdefault(groups.name(row), seen) == seen
    return found


@pytest.mark.parametrize(
    "label",
    [
        "scheduling.x-k8s.io/pod-group",
        "pod-group.scheduling.sigs.k8s.io",
        "pod-group.scheduling.sigs.k8s.io/name",
        "kueue.x-k8s.io/pod-group-name",
    ],
)
def test_labels_of_the_coscheduling_plugin_and_of_kueue_make_a_group(label: str) -> None:
    pods = [pod(name, "a", labels={label: "gang"}) for name in ("c", "a", "b")]
    found = groups_of([*pods, pod("alone", "a")])
    assert found == {"shop/gang": ["shop/a", "shop/b", "shop/c"]}


def test_the_native_field_makes_a_group() -> None:
    pods = [pod(name, "a", schedulingGroup={"podGroupName": "gang"}) for name in ("a", "b")]
    found = groups_of([*pods, pod("alone", "a", schedulingGroup={})])
    assert found == {"shop/gang": ["shop/a", "shop/b"]}


def test_a_configured_label_makes_a_group() -> None:
    configuration = Configuration(pods=PodRules(group_label="team.example/unit"))
    pods = [pod(name, "a", labels={"team.example/unit": "u1"}) for name in ("a", "b")]
    assert groups_of(pods) == {}
    assert groups_of(pods, configuration) == {"shop/u1": ["shop/a", "shop/b"]}


def test_a_configured_label_may_be_one_that_every_run_of_a_job_has_another_value_of() -> None:
    configuration = Configuration(pods=PodRules(group_label="batch.kubernetes.io/job-name"))
    jobs = {"a": "j1", "b": "j1", "c": "j2", "d": "j2", "e": "j3"}
    pods = [
        pod(name, "a", labels={"app": "x", "batch.kubernetes.io/job-name": job})
        for name, job in jobs.items()
    ]
    assert groups_of(pods, configuration) == {
        "shop/j1": ["shop/a", "shop/b"],
        "shop/j2": ["shop/c", "shop/d"],
    }


def test_the_configured_label_comes_before_the_known_ones() -> None:
    configuration = Configuration(pods=PodRules(group_label="mine"))
    pods = [
        pod("a", "a", labels={GROUP: "x", "mine": "m"}),
        pod("b", "a", labels={GROUP: "x", "mine": "m"}),
        pod("c", "a", labels={GROUP: "x"}),
    ]
    assert groups_of(pods, configuration) == {"shop/m": ["shop/a", "shop/b"]}


def test_groups_of_the_same_name_in_two_namespaces_are_two() -> None:
    pods = [
        pod(f"{namespace}/{name}", "a", labels={GROUP: "gang"})
        for namespace in ("one", "two")
        for name in ("a", "b")
    ]
    assert groups_of(pods) == {"one/gang": ["one/a", "one/b"], "two/gang": ["two/a", "two/b"]}


def test_an_empty_name_is_no_group() -> None:
    assert groups_of([pod(name, "a", labels={GROUP: ""}) for name in ("a", "b")]) == {}


def test_who_is_alone_in_its_group_moves_alone() -> None:
    assert groups_of([pod("a", "a", labels={GROUP: "gang"})]) == {}


def test_a_member_that_waits_for_a_node_belongs_to_it() -> None:
    waiting = replace(pod("b", "", labels={GROUP: "gang"}), phase="Pending", ready=False)
    found = groups_of([pod("a", "a", labels={GROUP: "gang"}), waiting])
    assert found == {"shop/gang": ["shop/a", "shop/b"]}
