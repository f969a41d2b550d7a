"""Several pods of one ReplicaSet are moved at once, in any order of looks, writes and controllers:
never fewer are Ready than there were, and each migration says how it ended.
"""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Self

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding.actions import Wait
from rescheduler.model.podmigration import Reason, Step
from tests.unit.migrate.deciding.surge.surge_scenes import DISTURBANCES, Disturbance
from tests.unit.migrate.driving import FAULTS, SECONDS_LATE, Drive, Event, is_adoption
from tests.unit.migrate.toy_cluster import SETTINGS, TARGET, ToyCluster, in_progress, is_marked
from tests.unit.migrate.toy_objects import controller_of, is_active, is_ready, name_of

MANY_TURNS = 2000


@dataclass
class Together:
    """Whose turn it is, a migration's or the controllers', is left to chance."""

    cluster: ToyCluster
    chance: random.Random
    controllers_rest: float = 0.5
    """How often the controllers miss their turn."""
    watches_late: float = 0.3
    drives: list[Drive] = field(default_factory=list)
    least: int = 1_000_000
    """The fewest pods that were Ready at any time, copies among them."""
    happens: dict[int, Callable[[ToyCluster], None]] = field(default_factory=dict)
    """By turn."""

    def begin(self, *events: list[Event]) -> Self:
        for which, _ in enumerate(self.cluster.intents):
            drive = Drive(
                self.cluster,
                events[which] if which < len(events) else (),
                which=which,
                is_behind=lambda: self.chance.random() < self.watches_late,
            )
            drive.start()
            self.drives.append(drive)
        return self

    def to_the_end(self) -> Self:
        for turn in range(MANY_TURNS):
            if turn in self.happens:
                self.happens[turn](self.cluster)
            going = [drive for drive in self.drives if drive.is_unfinished]
            if not going and not any(drive.late for drive in self.drives):
                break
            self._turn(self.chance.choice([None, *going]))
            self._count()
        else:
            raise AssertionError(
                [drive.actions[-1] for drive in self.drives if drive.is_unfinished]
            )
        self.cluster.controllers_sleep = False
        for _ in range(SECONDS_LATE + 9):
            self.cluster.tick()
            self._count()
        return self

    def _turn(self, drive: Drive | None) -> None:
        if drive is None:
            self.cluster.controllers_sleep = self.chance.random() < self.controllers_rest
            for each in self.drives[:1]:
                each.tick(1)
            for each in self.drives[1:]:
                each.arrive()
        elif drive.look() in ("died", "ended") and drive.is_unfinished:
            drive.start()

    def _count(self) -> None:
        ready = sum(is_ready(pod) and is_active(pod) for pod in self.cluster.pods.values())
        self.least = min(self.least, ready)


def chance(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - nobody has to guess it


def problems(together: Together) -> Iterator[str]:
    """What is not as it should be once all has come to rest."""
    yield from left_over(together)
    cluster = together.cluster
    for drive in together.drives:
        original = drive.intent.uid in cluster.pods
        copy = next((pod for pod in cluster.pods.values() if name_of(pod) == drive.intent.copy), {})
        is_there = bool(copy) and is_active(copy) and copy["spec"]["nodeName"] == TARGET
        outcome = drive.outcome
        if outcome.moved and original:
            yield f"says that it is moved, and is still there: {outcome}"
        if outcome.moved and not is_there:
            yield f"says that it is moved, and has no successor: {outcome}"


def left_over(together: Together) -> Iterator[str]:
    cluster = together.cluster
    active = [pod for pod in cluster.pods.values() if is_active(pod)]
    aside = [pod for pod in active if pod["metadata"]["labels"]["app"] == "aside"]
    owned = [pod for pod in active if controller_of(pod) in cluster.replica_sets]
    if len(owned) != cluster.wanted:
        yield f"{len(owned)} pods, {cluster.wanted} wanted"
    if strays := [name_of(pod) for pod in active if pod not in owned and pod not in aside]:
        yield f"pods that nobody owns: {strays}"
    if left := [name_of(pod) for pod in in_progress(cluster.pods)]:
        yield f"in the middle: {left}"
    if marked := [name_of(pod) for pod in active if is_marked(pod)]:
        yield f"marked: {marked}"
    for drive in together.drives:
        yield from drive.wrongs


PATIENT = replace(SETTINGS, ready_timeout_seconds=300, budget_timeout_seconds=100)
"""However seldom the controllers get their turn."""
shapes = st.builds(
    lambda moving, more, bare: ToyCluster(
        replicas=moving + more, moving=moving, bare=bare, settings=PATIENT
    ),
    st.integers(2, 3),
    st.integers(0, 2),
    st.booleans(),
)
calm = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@calm
@given(shapes, st.integers(0, 10**9), st.sampled_from([0.0, 0.5, 0.9]))
def test_all_are_moved_and_no_pod_is_missed(
    cluster: ToyCluster, seed: int, controllers_rest: float
) -> None:
    together = Together(cluster, chance(seed), controllers_rest).begin().to_the_end()
    assert list(problems(together)) == []
    assert [drive.outcome.reason for drive in together.drives] == ["Completed"] * cluster.moving
    assert together.least >= cluster.replicas
    assert cluster.made == cluster.replicas + cluster.moving, "its ReplicaSet made another pod"


beside_stuck = st.builds(
    lambda moving, stuck, bare: ToyCluster(
        replicas=moving + stuck,
        moving=moving,
        stuck=stuck,
        asked=True,
        bare=bare,
        settings=PATIENT,
    ),
    st.integers(2, 3),
    st.integers(1, 2),
    st.booleans(),
)


@calm
@given(beside_stuck, st.integers(0, 10**9), st.sampled_from([0.0, 0.5, 0.9]))
def test_all_are_moved_beside_some_that_never_are_ready(
    cluster: ToyCluster, seed: int, controllers_rest: float
) -> None:
    together = Together(cluster, chance(seed), controllers_rest).begin().to_the_end()
    assert list(problems(together)) == []
    assert [drive.outcome.reason for drive in together.drives] == ["Completed"] * cluster.moving
    assert together.least >= cluster.replicas - cluster.stuck


@calm
@given(shapes, st.integers(0, 10**9), st.integers(0, 2))
def test_under_a_budget_that_lets_nobody_go(cluster: ToyCluster, seed: int, spare: int) -> None:
    cluster.add_budget("all", min_available=cluster.replicas - min(spare, cluster.replicas - 1))
    together = Together(cluster, chance(seed)).begin().to_the_end()
    assert list(problems(together)) == []
    assert together.least >= cluster.replicas


faults = st.lists(
    st.builds(Event, look=st.integers(0, 14), fault=st.sampled_from(FAULTS)), max_size=3
)


@calm
@given(shapes, st.integers(0, 10**9), st.lists(faults, min_size=2, max_size=3))
def test_whatever_happens_to_their_writes(
    cluster: ToyCluster, seed: int, happening: list[list[Event]]
) -> None:
    together = Together(cluster, chance(seed)).begin(*happening).to_the_end()
    assert list(problems(together)) == []
    assert together.least >= cluster.replicas


@calm
@given(
    shapes,
    st.integers(0, 10**9),
    st.dictionaries(
        st.integers(0, 60), st.sampled_from(list(DISTURBANCES.values())), min_size=1, max_size=2
    ),
)
def test_whatever_users_and_nodes_do(
    cluster: ToyCluster, seed: int, happening: dict[int, Disturbance]
) -> None:
    together = Together(cluster, chance(seed), happens=happening).begin().to_the_end()
    assert list(left_over(together)) == []


def test_a_sibling_that_is_removed_instead_is_seen_and_the_number_is_right() -> None:
    """It turns unready in the very moment in which the copy is adopted, of an original that did not
    leave its Services first.
    """

    def turn_unready(cluster: ToyCluster) -> None:
        cluster.turn_unready(cluster.siblings[0]["metadata"]["uid"], for_seconds=60)

    cluster = ToyCluster(settings=replace(SETTINGS, linger_seconds=0))
    events = [Event(look, turn_unready, "after the adoption") for look in range(12)]
    drive = Drive(cluster, events, ticks_after_a_write=1).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.SIBLING_REMOVED)
    assert drive.outcome.message == (
        f"its ReplicaSet kept it and removed another pod for {drive.intent.copy}"
    )
    assert cluster.original
    assert not is_marked(cluster.original)
    assert sum(map(is_active, cluster.pods.values())) == cluster.replicas


def go_on(cluster: ToyCluster, *drives: Drive) -> None:
    """For a second, each as far as it comes, or until its ReplicaSet is to act."""
    for drive in drives:
        while (
            drive.is_unfinished and drive.look() == "acted" and not is_adoption(drive.actions[-1])
        ):
            pass
    cluster.tick()


def test_one_need_not_wait_until_the_original_of_another_is_gone() -> None:
    cluster = ToyCluster(moving=2, settings=PATIENT)
    first, second = Together(cluster, chance(0), watches_late=0.0).begin().drives
    while not all(each.intent.uid in cluster.left for each in (first, second)):
        go_on(cluster, first, second)
    cluster.controllers_sleep = True
    while not all(any(map(is_adoption, each.actions)) for each in (first, second)):
        go_on(cluster, first, second)
    assert sum(map(is_active, cluster.pods.values())) == cluster.replicas + 2
    # Which of the two originals goes first, the ReplicaSet decides: an eviction might be one more.
    assert first.look() == "waited"
    assert cluster.evicted == []


LINGERING = replace(PATIENT, linger_seconds=12)


def given_back_at_its_adoption(uid: str) -> list[Event]:
    def act(cluster: ToyCluster) -> None:
        cluster.give_back(uid)

    return [Event(look, act, "after the adoption") for look in range(MANY_TURNS)]


@calm
@given(st.integers(2, 3), st.integers(0, 1), st.integers(0, 10**9))
def test_whichever_is_removed_has_finished_what_it_had(moving: int, more: int, seed: int) -> None:
    """Each is given back by its kubelet just when its copy is adopted, so that its ReplicaSet
    removes whoever is not Ready then.
    """
    cluster = ToyCluster(replicas=moving + more, moving=moving, settings=LINGERING)
    given = [given_back_at_its_adoption(each.uid) for each in cluster.intents]
    together = Together(cluster, chance(seed), controllers_rest=0.1).begin(*given).to_the_end()
    assert list(problems(together)) == []
    assert [drive.outcome.reason for drive in together.drives] == ["Completed"] * moving
    assert cluster.left
    assert cluster.cut_short == []
    assert together.least >= cluster.replicas


@pytest.mark.parametrize("later", range(0, 24, 2))
def test_one_that_begins_later_is_not_removed_for_it(later: int) -> None:
    """Nor is it waited for longer than for one more linger."""
    cluster = ToyCluster(moving=2, settings=LINGERING)
    given = [given_back_at_its_adoption(each.uid) for each in cluster.intents]
    together = Together(cluster, chance(0), watches_late=0.0).begin(*given)
    first, second = together.drives
    while first.intent.uid not in cluster.left:
        go_on(cluster, first)
    began = cluster.time
    while first.is_unfinished or second.is_unfinished:
        both = [first, second] if cluster.time >= began + later else [first]
        go_on(cluster, *both)
        took = cluster.time - began
        assert took < later + 4 * LINGERING.linger_seconds, [first.actions[-1], second.actions[-1]]
    assert list(problems(together)) == []
    assert cluster.cut_short == []


def test_after_a_crash_each_counts_anew_and_the_other_knows() -> None:
    """Both are at their hand-over by their records, and one was given back meanwhile."""
    cluster = ToyCluster(moving=2, settings=LINGERING)
    together = Together(cluster, chance(0), watches_late=0.0).begin()
    first, second = together.drives
    while Step.LEAVE not in second.steps:
        go_on(cluster, first, second)
    while Step.HAND_OVER not in second.steps:
        second.look()
        cluster.tick()
    cluster.give_back(second.intent.uid)
    cluster.left.clear()
    for drive in (first, second):
        drive.events = given_back_at_its_adoption(drive.intent.uid)
    second.start()
    for _ in range(4):
        # It has been out all the time, and so nearly as long as it should.
        go_on(cluster, first)
    while first.is_unfinished or second.is_unfinished:
        go_on(cluster, first, second)
    assert list(problems(together)) == []
    assert cluster.cut_short == []


def test_a_sibling_that_is_moved_and_whose_copy_is_not_ready_is_waited_for() -> None:
    cluster = ToyCluster(moving=2, settings=PATIENT)
    first, second = Together(cluster, chance(0)).begin().drives
    while first.status.step != Step.HAND_OVER:
        assert first.look() != "ended"
        cluster.tick()
    copy = cluster.copy
    assert copy
    cluster.turn_unready(copy["metadata"]["uid"], for_seconds=30)
    for _ in range(20):
        assert second.look() != "ended"
        cluster.tick()
    last = second.actions[-1]
    assert isinstance(last, Wait)
    assert last.reason == f"the copy of its sibling {first.intent.pod} is not Ready"
