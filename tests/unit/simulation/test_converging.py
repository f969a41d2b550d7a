"""With the default configuration clusters of every size come to rest below their thresholds, and no
pod is sent round. Each run draws some of the small clusters; CONVERGING_MATRIX=all takes
all, the large ones too.
"""

import os

import pytest

from bench.converging import HEAD, Shape, converge, day, line, shapes_of
from rescheduler.config import Configuration
from tests.scenarios.drawing import drawn

_SMALL = 50
"""Nodes; larger clusters take minutes."""
ALL = os.environ.get("CONVERGING_MATRIX") == "all"
SHAPES = drawn(
    [each for each in shapes_of() if ALL or each.nodes <= _SMALL],
    matrix="CONVERGING",
    share=1 / 3,
    also_embedded=True,
)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_cluster_comes_below_its_threshold_and_stays_there(shape: Shape) -> None:
    outcome = converge(shape)
    print(f"\n{HEAD}\n{line(outcome)}")  # noqa: T201 - shown with -s
    assert outcome.before > Configuration().imbalance_threshold_percent
    assert outcome.problems == []
    assert outcome.passes > 0


def test_over_a_day_of_noise_no_pod_is_moved_twice_within_an_hour() -> None:
    outcome = day(nodes=6, pods=80, seed=1)
    print(f"\n{outcome.passes} passes, {outcome.moves} moves")  # noqa: T201 - shown with -s
    assert outcome.passes > 2800
    assert outcome.moves > 10
    assert outcome.returned == []


def test_clusters_are_of_all_sizes_by_requests_and_by_usage() -> None:
    shapes = shapes_of()
    assert len(shapes) == 20
    assert (min(each.nodes for each in shapes), max(each.nodes for each in shapes)) == (6, 200)
    cores = {size for each in shapes for size in each.cores}
    assert (min(cores), max(cores)) == (4, 96)
    assert sum(each.by_usage for each in shapes) == 10
