from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from rescheduler.embedded.virtual_time import START
from rescheduler.simulation import chances
from rescheduler.simulation.described import WORKLOAD, BaseLoad, Described, Json
from rescheduler.simulation.loads import ScenarioLoads
from rescheduler.simulation.scenarios import BUILT_IN, HOUR, Pattern, Scenario, Surge

GIBI = 2.0**30


def pod(workload: str, number: int = 0) -> Json:
    namespace, name = workload.split("/")
    metadata = {"namespace": namespace, "name": f"{name}-{number}", "uid": f"{workload}-{number}"}
    return {"metadata": metadata | {"annotations": {WORKLOAD: workload}}, "spec": {}}


def loads(scenario: Scenario, *workloads: str, uneven: float = 0.0) -> ScenarioLoads:
    bases = {each: BaseLoad(cores=1.0, memory=GIBI, uneven=uneven) for each in workloads}
    described = Described(objects=(), loads=bases)
    return ScenarioLoads(described, scenario, seed=1, start=START)


def at(hours: float) -> timedelta:
    return timedelta(hours=hours)


def test_the_same_is_told_of_one_pod_and_of_many_and_again() -> None:
    names = [f"shop/w-{number}" for number in range(20)]
    pods = [pod(name, number) for name in names for number in range(3)]
    first, second = (loads(BUILT_IN["day"], *names, uneven=0.2) for _ in range(2))
    when = START + at(13.21)
    cpu, memory = first.of_many(pods, when)
    # In another order, and at other times before: nothing of that matters.
    second.of_many(pods[::-1], START + at(2))
    for number, each in enumerate(pods):
        assert second.of(each, when) == (cpu[number], memory[number])
    again = first.of_many(pods, when)
    assert np.array_equal(again[0], cpu)


def test_more_pods_than_it_had_room_for_are_told_as_well() -> None:
    source = loads(BUILT_IN["steady"], "shop/web")
    pods = [pod("shop/web", number) for number in range(3000)]
    cpu, memory = source.of_many(pods, START)
    assert np.all((cpu > 0.9) & (cpu < 1.1))
    assert np.all((memory > 0.9 * GIBI) & (memory < 1.1 * GIBI))


def test_office_hours_are_high_by_day_and_low_at_night() -> None:
    office = Pattern(
        peak_seconds=13 * HOUR, high_seconds=10 * HOUR, low=0.3, high=2.0, scatter_seconds=0
    )
    source = loads(Scenario(name="office", patterns=(office,)), "shop/web")
    by_hour = [source.of(pod("shop/web"), START + at(hour))[0] for hour in range(24)]
    assert min(by_hour[10:16]) > 1.4
    assert max(by_hour[0:5]) < 0.7


def test_a_pattern_that_names_workloads_is_theirs_alone() -> None:
    patterns = (Pattern(names=("shop/*",), low=3.0, high=3.0), Pattern())
    source = loads(Scenario(name="named", patterns=patterns), "shop/web", "data/etl")
    assert source.of(pod("shop/web"), START)[0] > 2
    assert source.of(pod("data/etl"), START)[0] < 1.2


def test_shares_are_dealt_to_about_as_many() -> None:
    names = [f"shop/w-{number}" for number in range(400)]
    patterns = (Pattern(share=3, low=5.0, high=5.0), Pattern(share=1))
    source = loads(Scenario(name="shared", patterns=patterns), *names)
    cpu, _ = source.of_many([pod(name) for name in names], START)
    assert 0.68 < np.mean(cpu > 2) < 0.82


def test_a_surge_comes_at_its_time_and_goes() -> None:
    surge = Surge(at_seconds=14 * HOUR, for_seconds=HOUR, factor=3.0, names=("shop/web",))
    source = loads(Scenario(name="spike", surges=(surge,)), "shop/web", "shop/other")
    before, high, after = (
        source.of(pod("shop/web"), START + at(hour))[0] for hour in (13.9, 14.5, 15.5)
    )
    assert high / before > 2.4
    assert after == pytest.approx(before, rel=0.2)
    assert source.of(pod("shop/other"), START + at(14.5))[0] < 1.2


def test_growth_counts_from_the_beginning() -> None:
    source = loads(Scenario(name="growth", growth=1.0), "shop/web")
    cpu, memory = source.of(pod("shop/web"), START + at(24))
    assert cpu == pytest.approx(2, rel=0.1)
    assert memory == pytest.approx(2 * GIBI, rel=0.1)


def test_days_are_alike_unless_their_peaks_wander() -> None:
    pattern = Pattern(peak_seconds=12 * HOUR, high_seconds=6 * HOUR, low=0.2, high=2.0)
    same = Scenario(name="same", patterns=(pattern,))
    hours = [24 * day + hour for day in range(3) for hour in range(24)]

    def highest(scenario: Scenario) -> list[int]:
        """The hour of each day at which the workload is busiest."""
        source = loads(scenario, "shop/web")
        used = [source.of(pod("shop/web"), START + at(hour))[0] for hour in hours]
        return [int(np.argmax(used[24 * day : 24 * day + 24])) for day in range(3)]

    days = highest(same)
    assert max(days) - min(days) <= 2  # luck moves it a little
    other = highest(replace(same, wander_seconds=12 * HOUR))
    assert max(other) - min(other) > 2
    assert other == highest(replace(same, wander_seconds=12 * HOUR))


def test_a_pod_of_nobody_uses_little() -> None:
    source = loads(BUILT_IN["day"], "shop/web")
    stranger = {"metadata": {"namespace": "a", "name": "b", "uid": "c"}, "spec": {}}
    cpu, memory = source.of(stranger, START)
    assert 0 < cpu < 0.05
    assert 0 < memory < 0.1 * GIBI


def test_what_a_pod_used_beside_its_like_it_uses_still() -> None:
    described = Described(
        objects=(),
        loads={"shop/web": BaseLoad(1.0, GIBI)},
        beside={"shop/web-0": (2.0, 0.5)},
    )
    source = ScenarioLoads(described, BUILT_IN["steady"], seed=1, start=START)
    cpu, memory = source.of(pod("shop/web"), START)
    assert cpu == pytest.approx(2, rel=0.1)
    assert memory == pytest.approx(GIBI / 2, rel=0.1)


def test_luck_is_even_and_of_names() -> None:
    drawn = [chances.fraction(1, "of", str(number)) for number in range(2000)]
    assert 0.47 < np.mean(drawn) < 0.53
    assert chances.fraction(1, "a", "b") != chances.fraction(1, "ab")
    normals = [chances.normal(1, str(number)) for number in range(2000)]
    assert abs(np.mean(normals)) < 0.1
    assert 0.9 < np.std(normals) < 1.1
    noise = chances.noise(np.array([chances.number(1, str(n)) for n in range(2000)], np.uint64), 7)
    assert -1 <= noise.min() < -0.9
    assert 0.9 < noise.max() < 1
    assert abs(noise.mean()) < 0.05
