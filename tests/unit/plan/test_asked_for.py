"""PodMigrations that name no target: the plan has one for each, or says why there is none."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.config import Configuration, Forced, Scope
from rescheduler.model import names, selectors
from rescheduler.model.cluster import Node, Owner, Pod
from rescheduler.model.moves import Denial, Plan, Way
from rescheduler.model.podmigration import Reason
from rescheduler.model.snapshot import Gap
from rescheduler.plan.desk import Desk, Search
from rescheduler.plan.planning import musts, plan_at
from rescheduler.wire import POD_MIGRATIONS, STATEFUL_SETS
from tests.unit.plan.support.small_clusters import apart, desk, in_maintenance, node, pod

NOTHING_ELSE = replace(Configuration(), enabled_strategies=())


def asking(who: Pod, **spec: Any) -> dict[str, Any]:  # noqa: ANN401 - as the API has it
    metadata = {
        "namespace": who.namespace,
        "name": spec.pop("name", f"away-{who.name}"),
        "uid": f"record-{who.name}",
        "creationTimestamp": "2027-01-15T08:00:00Z",
    }
    return {
        "metadata": metadata,
        "spec": {
            "pod": {"name": who.name, "uid": who.uid},
            "source": who.node,
            "asked": True,
            "reason": "kubectl drain evicts it",
            **spec,
        },
    }


def scene(
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    records: Iterable[dict[str, Any]],
    configuration: Configuration = NOTHING_ELSE,
    **others: Iterable[dict[str, Any]],
) -> Desk:
    more = {STATEFUL_SETS: others.get("stateful_sets", ())}
    return desk(nodes, pods, configuration, others={POD_MIGRATIONS: records, **more})


def targets(decided: Plan) -> dict[str, str]:
    return {each.pod: each.target for each in decided.moves}


def denials(decided: Plan) -> dict[str, Denial]:
    return {each.record: each for each in decided.denials}


def test_the_least_loaded_other_node_is_chosen_though_no_strategy_is_enabled() -> None:
    web = pod("web", "a")
    at = scene([node("a"), node("b"), node("c")], [web, pod("x", "b")], [asking(web)])
    decided = plan_at(at)
    [move] = decided.moves
    assert (move.pod, move.source, move.target) == ("web", "a", "c")
    assert (move.strategy, move.asked, move.way) == ("Manual", True, Way.SURGE)
    assert move.reason.startswith("kubectl drain evicts it; c then has cpu at")
    assert decided.denials == ()
    [report] = decided.reports
    assert report.summary == "1 PodMigration asks for a target: 1 get one, 0 do not"


def test_nobody_asks_and_nothing_is_said() -> None:
    web = pod("web", "a")
    ended = {**asking(web), "status": {"phase": "Failed", "reason": "NoTarget"}}
    named = asking(web, target="b")
    for records in ([], [ended], [named]):
        decided = plan_at(scene([node("a"), node("b")], [web], records))
        assert (decided.moves, decided.denials, decided.reports) == ((), (), ())


@pytest.mark.parametrize("is_cordoned", [True, False])
def test_never_the_node_that_it_is_on_cordoned_or_not(is_cordoned: bool) -> None:  # noqa: FBT001
    web = pod("web", "a")
    source = replace(node("a"), unschedulable=is_cordoned)
    [move] = plan_at(scene([source, node("b", cpu=1500)], [web], [asking(web)])).moves
    assert move.target == "b"
    decided = plan_at(scene([source], [web], [asking(web)]))
    denial = denials(decided)["away-web"]
    assert (denial.reason, denial.message) == (Reason.NO_TARGET, "there is no other node")
    assert (denial.namespace, denial.record_uid) == ("shop", "record-web")


def test_a_refusal_names_the_rules_that_keep_it() -> None:
    web = pod("web", "a", affinity=apart("x"))
    small, cordoned = node("b", cpu=500), replace(node("c"), unschedulable=True)
    beside = [pod("x", "d"), web]
    decided = plan_at(scene([node("a"), small, cordoned, node("d")], beside, [asking(web)]))
    [refusal] = decided.refusals
    message = denials(decided)["away-web"].message
    assert refusal.reasons == (message,)
    for words in ("no node takes it: ", "not enough cpu", "cordoned", "anti-affinity"):
        assert words in message


def daemon() -> Pod:
    return replace(pod("web", "a"), owner=Owner(kind="DaemonSet", name="web", uid="d"))


def mirror() -> Pod:
    return replace(pod("web", "a"), annotations={names.MIRROR_POD: "x"}, owner=None)


def opted_out() -> Pod:
    return pod("web", "a", labels={names.RESCHEDULING: "disabled"})


@pytest.mark.parametrize(
    ("who", "words"),
    [(daemon(), "DaemonSet"), (mirror(), "static"), (opted_out(), "keeps it out: take it off")],
    ids=["DaemonSet", "static", "opted out"],
)
def test_who_must_not_move_is_told_so(who: Pod, words: str) -> None:
    decided = plan_at(scene([node("a"), node("b")], [who], [asking(who)]))
    assert decided.moves == ()
    denial = denials(decided)["away-web"]
    assert denial.reason is Reason.NOT_MOVABLE
    assert words in denial.message


def test_one_that_is_elsewhere_or_ending_is_put_off() -> None:
    moved, ending = pod("moved", "b"), replace(pod("ending", "a"), terminating=True)
    records = [asking(moved, source="a"), asking(ending)]
    found = denials(plan_at(scene([node("a"), node("b")], [moved, ending], records)))
    assert (found["away-moved"].reason, found["away-moved"].message) == (
        Reason.NOT_NOW,
        "it is not on a",
    )
    assert (found["away-ending"].reason, found["away-ending"].is_gone) == (Reason.NOT_NOW, False)


def test_of_one_that_is_not_seen_whoever_acts_looks_again() -> None:
    gone, web = pod("gone", "a"), pod("web", "a")
    namesake = asking(replace(web, uid="another"), name="namesake")
    found = denials(plan_at(scene([node("a"), node("b")], [web], [asking(gone), namesake])))
    assert {each.is_gone for each in found.values()} == {True}
    assert {each.reason for each in found.values()} == {Reason.NOT_NOW}
    assert {each.message for each in found.values()} == {"the pod is gone"}
    assert found.keys() == {"away-gone", "namesake"}


SET = {
    "metadata": {"namespace": "shop", "name": "db", "uid": "set-uid"},
    "spec": {"replicas": 1},
    "status": {"replicas": 1, "readyReplicas": 1, "currentRevision": "r", "updateRevision": "r"},
}
DB = replace(pod("db-0", "a"), owner=Owner(kind="StatefulSet", name="db", uid="set-uid"))


def test_one_that_is_recreated_moves_if_the_record_says_that_it_may() -> None:
    nodes = [node("a"), node("b")]
    kept = plan_at(scene(nodes, [DB], [asking(DB)], stateful_sets=[SET]))
    assert kept.moves == ()
    denial = denials(kept)["away-db-0"]
    assert denial.reason is Reason.NOT_MOVABLE
    assert "would recreate it, and spec.mayRecreate is not true" in denial.message
    allowed = asking(DB, mayRecreate=True)
    [move] = plan_at(scene(nodes, [DB], [allowed], stateful_sets=[SET])).moves
    assert (move.way, move.target) == (Way.RECREATE, "b")


def test_what_the_configuration_keeps_goes_by_force_only() -> None:
    web = pod("web", "a")
    configuration = replace(NOTHING_ELSE, excluded_namespaces=("shop",))
    nodes = [node("a"), node("b")]
    kept = plan_at(scene(nodes, [web], [asking(web)], configuration))
    assert "its namespace is in excludedNamespaces" in denials(kept)["away-web"].message
    forced = asking(web, forced=True)
    assert targets(plan_at(scene(nodes, [web], [forced], configuration))) == {"web": "b"}


def test_what_is_in_flight_and_max_reschedule_pods_hold_nobody_who_asked() -> None:
    pods = [pod(name, "a") for name in "uvwx"]
    waiting = [asking(each) for each in pods[:3]]
    unasked = {**asking(pods[3], target="b", asked=False), "status": {"phase": "InProgress"}}
    one_at_most = replace(Configuration(), max_reschedule_pods=1)
    at = scene([node("a"), node("b", cpu=8000)], pods, [*waiting, unasked], one_at_most)
    decided = plan_at(at)
    assert targets(decided) == {"u": "b", "v": "b", "w": "b"}
    assert (at.in_flight, at.left) == (1, 0)


@pytest.mark.parametrize(("spec", "counts"), [({}, 0), ({"asked": True}, 0), ({"asked": False}, 1)])
def test_a_move_by_hand_uses_up_nothing_of_max_reschedule_pods(
    spec: dict[str, Any], counts: int
) -> None:
    """By hand it is, too, where its record does not say who wants it."""
    moved = pod("u", "a")
    record = asking(moved, target="b") | {"status": {"phase": "InProgress"}}
    del record["spec"]["asked"]
    record["spec"] |= spec
    at = scene([node("a"), node("b")], [moved, pod("v", "a")], [record], NOTHING_ELSE)
    assert at.in_flight == counts


def test_they_come_before_maintenance_and_each_is_planned_once() -> None:
    asked, other = pod("asked", "a", cpu=3000), pod("other", "a", cpu=3000)
    nodes = [in_maintenance(node("a")), node("b")]
    enabled = replace(Configuration(), enabled_strategies=("NodeMaintenance",))
    decided = plan_at(scene(nodes, [asked, other], [asking(asked)], enabled))
    assert targets(decided) == {"asked": "b"}
    assert decided.denials == ()
    assert [each.strategy for each in decided.reports] == ["Manual", "NodeMaintenance"]
    alone = plan_at(scene(nodes, [asked, other], [], enabled))
    assert len(alone.moves) == 1


def test_several_of_a_workload_are_placed_as_if_those_before_were_done() -> None:
    pods = [pod(f"web-{n}", "a", labels={"app": "web"}, affinity=apart("web")) for n in (1, 2, 3)]
    records = [asking(each) for each in pods]
    decided = plan_at(scene([node("a"), node("b"), node("c")], pods, records))
    assert sorted(targets(decided).values()) == ["b", "c"]
    [denial] = decided.denials
    assert denial.reason is Reason.NO_TARGET


def test_as_many_as_possible_get_one() -> None:
    """In the order in which they asked, only the first would have a place."""
    large = pod("a-large", "a", cpu=2000)
    small = [pod(f"small-{n}", "a", cpu=2000, nodeSelector={"disk": "ssd"}) for n in (1, 2)]
    nodes = [node("a"), node("b", disk="ssd"), node("c", cpu=2000)]
    records = [asking(each) for each in (large, *small)]
    decided = plan_at(scene(nodes, [large, *small], records))
    assert targets(decided) == {"a-large": "c", "small-1": "b", "small-2": "b"}


def test_a_pod_that_another_record_moves_waits_for_it() -> None:
    web = pod("web", "a")
    other = {**asking(web, target="b", name="other"), "status": {"phase": "InProgress"}}
    decided = plan_at(scene([node("a"), node("b")], [web], [asking(web), other]))
    assert (decided.moves, decided.denials) == ((), ())
    twice = plan_at(scene([node("a"), node("b")], [web], [asking(web), asking(web, name="more")]))
    assert len(twice.moves) == 1
    assert twice.denials == ()


def test_one_of_a_group_goes_alone_as_one_that_names_its_target_does() -> None:
    group = {names.GROUPS[0]: "pair"}
    pods = [pod(name, "a", labels=group) for name in ("one", "two")]
    at = scene([node("a"), node("b")], pods, [asking(pods[0])])
    assert targets(plan_at(at)) == {"one": "b"}


def test_other_namespaces_are_not_ours_to_decide() -> None:
    web = pod("web", "a")
    elsewhere = replace(NOTHING_ELSE, scope=Scope(namespaces=("other",)))
    decided = plan_at(scene([node("a"), node("b")], [web], [asking(web)], elsewhere))
    assert (decided.moves, decided.denials) == ((), ())
    selector = selectors.parse("pool=ours")
    nodes = [node("a"), node("b", pool="ours")]
    of_nodes = replace(NOTHING_ELSE, scope=Scope(node_selector=selector))
    denial = denials(plan_at(scene(nodes, [web], [asking(web)], of_nodes)))["away-web"]
    assert denial.message == "its source a is not in scope.nodeSelector"


def test_whoever_moves_by_command_chooses_for_its_own_pods() -> None:
    web, other = pod("web", "a"), pod("other", "c")
    nodes = [in_maintenance(node("a")), node("b"), node("c")]
    by_command = replace(Configuration(), enabled_strategies=("NodeMaintenance",), forced=Forced())
    decided = plan_at(scene(nodes, [web, other], [asking(web), asking(other)], by_command))
    assert [each.pod for each in decided.moves] == ["web"]
    assert decided.denials == ()


@pytest.mark.parametrize("kind", sorted(musts(())))
def test_what_has_to_be_seen_is_waited_for_and_nobody_is_denied(kind: str) -> None:
    web = pod("web", "a")
    at = scene([node("a")], [web], [asking(web)])
    gaps = (Gap(source=kind, reason="forbidden"),)
    blind = Desk(replace(at.snapshot, gaps=gaps), NOTHING_ELSE)
    decided = plan_at(blind)
    assert (decided.moves, decided.denials) == ((), ())
    [report] = decided.reports
    assert report.blind


def test_whom_a_search_did_not_reach_the_next_plan_decides() -> None:
    pods = [pod(f"web-{n}", "a") for n in range(5)]
    at = scene([node("a"), node("b", cpu=64000)], pods, [asking(each) for each in pods])
    short = Desk(at.snapshot, NOTHING_ELSE, search=Search(steps=3))
    decided = plan_at(short)
    assert len(decided.moves) < 5
    assert decided.denials == ()


def test_a_flood_is_decided_in_parts_and_holds_up_no_other_namespace() -> None:
    tiny = {"cpu": 1, "memory": 1, "pods": 1}
    flood = [replace(pod(f"flood/web-{n:04}", "a"), requests=tiny) for n in range(1_200)]
    late = replace(pod("quiet/late", "a"), requests=tiny)
    records = [asking(each) for each in flood]
    records.append(asking(late))
    records[-1]["metadata"]["creationTimestamp"] = "2027-01-15T09:00:00Z"
    nodes = [node("a", pods=2_000), node("b", pods=2_000)]
    decided = plan_at(scene(nodes, [*flood, late], records))
    assert len(decided.moves) == 1_000
    assert "late" in targets(decided)
    assert decided.denials == ()


def test_a_failure_for_want_of_a_target_keeps_nobody_from_being_planned() -> None:
    web = pod("web", "a")
    failed = {
        **asking(web),
        "status": {
            "phase": "Failed",
            "reason": "NoTarget",
            "completionTime": "2027-01-15T08:00:00Z",
        },
    }
    enabled = replace(Configuration(), enabled_strategies=("NodeMaintenance",))
    at = scene([in_maintenance(node("a")), node("b")], [web], [failed], enabled)
    assert targets(plan_at(at)) == {"web": "b"}
