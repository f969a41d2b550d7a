"""The whole demo, on a small cluster, with an audience that takes notes."""

import asyncio
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from rescheduler.embedded import virtual_time
from rescheduler.model import names
from rescheduler.model.moves import Plan
from rescheduler.simulation.demo import Demo, Ending
from rescheduler.simulation.scenes import Chapter, MoveLook, MoveScene, NodeLook, Scene
from rescheduler.wire import DEPLOYMENTS, NODES, POD_MIGRATIONS, PODS

NODES_OF_IT = 8
WIDTH = 80


@dataclass
class Notes:
    chapters: list[Chapter] = field(default_factory=list)
    scenes: list[Scene] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    moves: list[MoveScene] = field(default_factory=list)
    acts: dict[int, Callable[[], None]] = field(default_factory=dict)
    """By chapter: what somebody does when it begins."""

    def begins(self, chapter: Chapter) -> None:
        self.chapters.append(chapter)
        self.acts.get(chapter.number, lambda: None)()

    def sees(self, scene: Scene) -> None:
        self.scenes.append(scene)

    def sees_plan(self, decided: Plan, about: str) -> None:
        assert about.startswith(f"{NODES_OF_IT} nodes, ")
        self.plans.append(decided)

    def hears(self, move: MoveScene) -> None:
        self.moves.append(move)


@dataclass
class Played:
    notes: Notes
    demo: Demo
    ending: Ending


def play(
    *,
    keep: bool = False,
    at: dict[int, Callable[[Demo, asyncio.Event], None]] | None = None,
) -> Played:
    async def playing() -> Played:
        notes, stop = Notes(), asyncio.Event()
        demo = Demo(notes, nodes=NODES_OF_IT, seed=0, speed=0.0)
        for number, act in (at or {}).items():
            notes.acts[number] = lambda act=act: act(demo, stop)  # type: ignore[misc]
        return Played(notes, demo, await demo.play(stop, keep=keep))

    return virtual_time.run(playing())


@pytest.fixture(scope="module")
def played() -> Played:
    return play()


def test_all_goes_well(played: Played) -> None:
    ending = played.ending
    assert ending.is_whole
    assert ending.is_well
    assert ending.failed == ()
    assert ending.dips == ()


def test_it_is_told_in_five_chapters_that_fit_on_a_small_terminal(played: Played) -> None:
    assert [each.number for each in played.notes.chapters] == [1, 2, 3, 4, 5]
    for chapter in played.notes.chapters:
        assert len(textwrap.wrap(f"{chapter.number} {chapter.sentence}", WIDTH - 2)) <= 2


def test_what_was_uneven_is_even_at_the_end(played: Played) -> None:
    before, after = played.notes.scenes
    assert before == played.ending.before
    assert before.imbalance["cpu"] > 70
    assert after.imbalance["cpu"] < 25
    assert any(node.used["cpu"] > 75 for node in before.nodes)
    assert any(node.used["cpu"] < 5 for node in before.nodes)


def test_what_the_plan_shows_is_what_is_moved(played: Played) -> None:
    [plan] = played.notes.plans
    moved = {each.pod for each in played.notes.moves if each.look is MoveLook.MOVED}
    assert plan.moves
    assert {move.full_name for move in plan.moves} <= moved


def test_every_move_has_its_reason(played: Played) -> None:
    balanced = [each for each in played.notes.moves if each.strategy == "LoadBalancing"]
    emptied = [each for each in played.notes.moves if each.strategy == "NodeMaintenance"]
    assert all("gap" in each.reason for each in balanced)
    assert all("is in maintenance" in each.reason for each in emptied)


def test_the_node_in_maintenance_is_emptied_and_given_back(played: Played) -> None:
    moved = [each for each in played.notes.moves if each.strategy == "NodeMaintenance"]
    assert {each.source for each in moved} == {played.ending.emptied}
    assert played.ending.left_on_it == 0
    _, after = played.notes.scenes
    [node] = [each for each in after.nodes if each.name == played.ending.emptied]
    assert node.look is NodeLook.PLAIN


def test_the_node_that_somebody_drains_is_empty_and_its_pods_were_moved_first(
    played: Played,
) -> None:
    ending, (_, after) = played.ending, played.notes.scenes
    [node] = [each for each in after.nodes if each.look is NodeLook.CORDONED]
    assert node.name == ending.drained != ending.emptied
    assert node.movable == 0
    assert len(node.pods) == 1
    assert ending.drain_seconds is not None
    moved = [each for each in played.notes.moves if each.look is MoveLook.MOVED]
    evicted = [each for each in moved if each.strategy == "Manual"]
    assert {each.reason for each in evicted} == {f"kubernetes-admin evicts it from {node.name}"}
    assert len(evicted) > 3


def test_pods_of_stateful_sets_leave_by_a_steered_eviction(played: Played) -> None:
    steered = [each for each in played.notes.moves if each.is_recreated]
    assert played.ending.recreated == len(steered) >= 1
    assert all(each.pod.startswith("data/") for each in steered)


def test_whoever_takes_a_pod_away_is_seen() -> None:
    def take_one_away(demo: Demo, _: asyncio.Event) -> None:
        api = demo.cluster.api
        victim = next(
            pod for pod in api.store.all(PODS) if pod["metadata"]["namespace"] != "kube-system"
        )
        api.delete(PODS, victim["metadata"]["namespace"], victim["metadata"]["name"])

    ending = play(at={3: take_one_away}).ending
    assert len(ending.dips) == 1
    assert "1 of" in str(ending.dips[0])
    assert not ending.is_well


def test_told_to_stop_it_ends_what_is_under_way() -> None:
    stopped = play(at={4: lambda _, stop: stop.set()})
    assert not stopped.ending.is_whole
    assert stopped.ending.dips == ()
    store = stopped.demo.cluster.store
    left = [
        each
        for each in store.all(POD_MIGRATIONS)
        if each["status"].get("phase") not in ("Completed", "Failed")
    ]
    assert left == []
    wanted = sum(each["spec"]["replicas"] for each in store.all(DEPLOYMENTS))
    ready = sum(each["status"].get("readyReplicas", 0) for each in store.all(DEPLOYMENTS))
    assert ready == wanted


def test_told_to_stop_before_it_has_begun_it_has_nothing_to_tell() -> None:
    ending = play(at={1: lambda _, stop: stop.set()}).ending
    assert ending.before is None
    assert not ending.is_whole
    assert ending.is_well


def test_kept_it_goes_on_with_load_that_changes() -> None:
    def stop_later(_: Demo, stop: asyncio.Event) -> None:
        asyncio.get_running_loop().call_later(3600, stop.set)

    kept = play(keep=True, at={6: stop_later})
    assert kept.ending.is_whole
    assert kept.ending.dips == ()
    assert kept.ending.virtual_seconds > 3600
    for name in (kept.ending.emptied, kept.ending.drained):
        node = kept.demo.cluster.store.find(NODES, None, name)
        assert node is not None
        assert names.MAINTENANCE not in node["metadata"]["labels"]
        assert not node["spec"].get("unschedulable")
