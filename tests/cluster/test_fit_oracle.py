"""Whether a pod fits a node, by our word and by that of the real kube-scheduler.

What we call a fit must be one: `Placement` may be stricter than the scheduler, never laxer. By
default the run is short enough for every change; FIT_VERDICTS asks for more (`make fit-oracle
N=100000`), and FIT_SEED for others. With -s, the table of what was seen is printed.
"""

import os
from pathlib import Path

import pytest

from tests.cluster.fit_oracle import asking
from tests.cluster.fit_oracle.comparing import USES, Score, our_reasons, reproduction
from tests.unit.plan.support import random_worlds

SEED = os.environ.get("FIT_SEED", "2026")
VERDICTS = int(os.environ.get("FIT_VERDICTS", "2000"))
WORLDS = 100
"""At once, in one control plane."""
ROUNDS = 20
SECONDS = 150 + VERDICTS / 5
"""How long it may take at most: no measure of anything."""
SHOWN = 5


@pytest.mark.timeout(SECONDS)
async def test_what_we_call_a_fit_is_one_for_the_scheduler(tmp_path: Path) -> None:
    score = Score()
    for first in range(0, -(-VERDICTS // ROUNDS), WORLDS):
        worlds = [random_worlds.world(SEED, first + number) for number in range(WORLDS)]
        score.add(await asking.cases(worlds, ROUNDS, our_reasons, tmp_path))
        print(f"{score.verdicts} verdicts, {len(score.wrong)} wrong", flush=True)  # noqa: T201
    print(score.table())  # noqa: T201 - for who asks with -s
    told = [f"{what}: {reproduction(what, case, tmp_path)}" for what, case in score.wrong[:SHOWN]]
    assert not score.wrong, f"{len(score.wrong)} of {score.verdicts}:\n" + "\n".join(told)
    for rule in USES:
        assert score.accepted[rule] > 0, f"{rule}: never seen to accept\n{score.table()}"
        assert score.refused_alone[rule] > 0, f"{rule}: never alone\n{score.table()}"
