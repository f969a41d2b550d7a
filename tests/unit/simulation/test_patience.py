"""Three days on the embedded cluster, by the product itself: what it saves to have learnt."""

import pytest

from rescheduler.config import Configuration, LearnedPatience, UsageSettings
from rescheduler.simulation.contending import Contender, Day, simulate
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.generating import generate
from rescheduler.simulation.scenarios import HOUR, Pattern, Scenario
from rescheduler.simulation.summaries import Summary, summarised

COMMUTING = Scenario(
    name="commuting",
    patterns=(
        Pattern(share=45, peak_seconds=13 * HOUR, high_seconds=10 * HOUR, low=0.3, high=1.7),
        Pattern(share=20, peak_seconds=20 * HOUR, high_seconds=6 * HOUR, low=0.5, high=1.9),
        Pattern(share=25, peak_seconds=3 * HOUR, high_seconds=6 * HOUR, low=0.5, high=2.0),
        Pattern(share=10),
    ),
)


def played(scenario: Scenario, hours: float, *, learns: bool) -> Summary:
    configuration = Configuration(
        enabled_strategies=("LoadBalancing",),
        rescheduling_interval_seconds=900.0,
        usage=UsageSettings(
            interval_seconds=240.0,
            window_seconds=1200.0,
            max_age_seconds=600.0,
            learned_patience=LearnedPatience(enabled=learns),
        ),
    )
    day = Day(
        described=generate(nodes=10, pods=150, seed=101), scenario=scenario, seed=101, hours=hours
    )
    return summarised(simulate(Contender(name="it", configuration=configuration), day))


@pytest.mark.timeout(600)
def test_what_commutes_is_moved_less_and_no_node_is_hotter() -> None:
    without, learnt = (played(COMMUTING, 72, learns=each) for each in (False, True))
    assert without.moved > 60
    assert learnt.moved < 0.9 * without.moved
    assert learnt.hot_minutes <= without.hot_minutes
    assert learnt.deviation[0].mean <= without.deviation[0].mean
    assert learnt.dips[Cause.MOVE] == 0


def test_before_anything_is_learnt_all_is_the_same() -> None:
    without, learnt = (played(COMMUTING, 8, learns=each) for each in (False, True))
    assert without.moved > 0
    assert learnt == without
