"""Three days on the embedded cluster, by the product itself: what it saves to have learnt."""

import pytest

from rescheduler.config import Configuration, LearnedPatience, UsageSettings
from rescheduler.simulation.contending import Contender, Day, simulate
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.generating import generate
from rescheduler.simulation.scenarios import BUILT_IN
from rescheduler.simulation.summaries import Summary, summarised


def played(hours: float, *, learns: bool) -> Summary:
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
        described=generate(nodes=10, pods=150, seed=101),
        scenario=BUILT_IN["commuting"],
        seed=101,
        hours=hours,
    )
    return summarised(simulate(Contender(name="it", configuration=configuration), day))


@pytest.mark.timeout(600)
def test_what_commutes_is_moved_less_and_no_node_is_hotter() -> None:
    without, learnt = (played(72, learns=each) for each in (False, True))
    assert without.moved > 60
    assert learnt.moved < 0.9 * without.moved
    assert learnt.hot_minutes <= without.hot_minutes
    assert learnt.deviation[0].mean <= without.deviation[0].mean
    assert learnt.dips[Cause.MOVE] == 0


def test_before_anything_is_learnt_all_is_the_same() -> None:
    without, learnt = (played(8, learns=each) for each in (False, True))
    assert without.moved > 0
    assert learnt == without
