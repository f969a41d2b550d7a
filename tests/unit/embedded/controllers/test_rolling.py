"""The arithmetic of rollouts, as the tests of the real controller have it."""

import pytest

from rescheduler.embedded.controllers import portions, rolling, templates
from rescheduler.kube import Object


def deployment(
    replicas: int, surge: int | str = 0, unavailable: int | str = 0, kind: str = "RollingUpdate"
) -> Object:
    rules = {"maxSurge": surge, "maxUnavailable": unavailable}
    return {"spec": {"replicas": replicas, "strategy": {"type": kind, "rollingUpdate": rules}}}


def replica_set(replicas: int, maximum: int | str | None = None) -> Object:
    noted = {} if maximum is None else {rolling.MAXIMUM: str(maximum)}
    return {"metadata": {"annotations": noted}, "spec": {"replicas": replicas}}


@pytest.mark.parametrize(
    ("value", "total", "up", "down"),
    [(3, 10, 3, 3), ("25%", 10, 3, 2), ("0%", 10, 0, 0), ("1%", 1, 1, 0), ("150%", 2, 3, 3)],
)
def test_portions_are_rounded_up_or_down(value: int | str, total: int, up: int, down: int) -> None:
    assert portions.rounded_up(value, total) == up
    assert portions.rounded_down(value, total) == down


@pytest.mark.parametrize("text", ["", "3", "%", "-1%", "1.5%", " 1%"])
def test_what_is_no_portion_is_refused(text: str) -> None:
    with pytest.raises(portions.NoPortion):
        portions.rounded_up(text, 10)


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "extra", "missing"),
    [
        (10, "25%", "25%", 3, 2),
        (1, "25%", "25%", 1, 0),
        (2, 0, "1%", 0, 1),
        (1, "0%", "0%", 0, 1),
        (2, "1%", "25%", 1, 0),
        (3, 1, 0, 1, 0),
        (3, 0, 5, 0, 3),
        (0, 0, 5, 0, 0),
    ],
)
def test_how_many_more_and_how_many_fewer(
    replicas: int, surge: int | str, unavailable: int | str, extra: int, missing: int
) -> None:
    it = deployment(replicas, surge, unavailable)
    assert (rolling.max_surge(it), rolling.max_unavailable(it)) == (extra, missing)


def test_without_rules_a_quarter_of_each() -> None:
    it: Object = {"spec": {"replicas": 10}}
    assert (rolling.max_surge(it), rolling.max_unavailable(it)) == (3, 2)


def test_who_recreates_has_neither() -> None:
    it = deployment(10, 3, 3, "Recreate")
    assert (rolling.max_surge(it), rolling.max_unavailable(it)) == (0, 0)
    assert rolling.grown(it, 0, 10) == 10


@pytest.mark.parametrize(
    ("surge", "new", "every", "grown"),
    # Of ten: room for three more; never beyond ten; and no room at all.
    [(3, 0, 10, 3), (3, 8, 10, 10), (0, 0, 10, 0), (3, 4, 13, 4), (3, 4, 15, 4), ("25%", 0, 8, 5)],
)
def test_the_new_one_grows_as_far_as_the_surge_allows(
    surge: int | str, new: int, every: int, grown: int
) -> None:
    assert rolling.grown(deployment(10, surge), new, every) == grown


@pytest.mark.parametrize(
    ("old", "most", "kept", "may_more"),
    [
        # Of ten that all are available, none goes.
        ([(10, 10)], 5, [10], True),
        ([(10, 8)], 5, [8], True),
        ([(10, 3)], 5, [5], True),
        ([(4, 2), (4, 0)], 5, [2, 1], True),
        ([(0, 0), (4, 3)], 5, [0, 3], True),
        # Scaled down a moment ago: no further.
        ([(4, 2), (8, 10), (4, 0)], 5, [2], False),
        # Nothing more to be taken, so nobody looks.
        ([(8, 3), (8, 10)], 5, [3, 8], True),
    ],
)
def test_unhealthy_ones_go_first(
    old: list[tuple[int, int]], most: int, kept: list[int], *, may_more: bool
) -> None:
    assert rolling.without_unhealthy(old, most) == (kept, may_more)


@pytest.mark.parametrize(
    ("old", "most", "kept"),
    [([10], 2, [8]), ([3, 4], 5, [0, 2]), ([3, 4], 9, [0, 0]), ([3], 0, [3]), ([3], -1, [3])],
)
def test_the_oldest_shrinks_first(old: list[int], most: int, kept: list[int]) -> None:
    assert rolling.shrunk(old, most) == kept


@pytest.mark.parametrize(
    ("replicas", "surge", "old", "noted", "made"),
    [
        # The cases of TestScale: from 10 to 12 or down to 6 amid a rollout.
        (12, 0, [5, 5], 10, [6, 6]),
        (12, 0, [8, 2], 10, [10, 2]),
        (6, 0, [5, 5], 10, [3, 3]),
        (6, 0, [8, 2], 10, [5, 1]),
        (9, 0, [6, 2, 2], 10, [5, 2, 2]),
        (11, 0, [4, 3, 3], 10, [5, 3, 3]),
        # To nothing: all of each.
        (0, 2, [8, 4], 12, [0, 0]),
        # With the surge: 10 + 2 become 20 + 4.
        (20, "20%", [8, 4], 12, [16, 8]),
        # What nobody remembers is taken from the status.
        (20, 0, [5, 5], None, [10, 10]),
        (20, 0, [5, 5], "what", [10, 10]),
    ],
)
def test_scaling_amid_a_rollout_is_shared_out(
    replicas: int, surge: int | str, old: list[int], noted: int | str | None, made: list[int]
) -> None:
    sets = [replica_set(size, noted) for size in old]
    assert rolling.proportional(deployment(replicas, surge, 1), sets, sum(old)) == made
    assert sum(made) == (
        replicas + rolling.max_surge(deployment(replicas, surge, 1)) if replicas else 0
    )


def test_templates_that_mean_the_same_are_the_same() -> None:
    one: Object = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {
            "containers": [{"name": "web", "resources": {"requests": {"cpu": "1000m"}}}],
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        },
    }
    same = {
        "metadata": {"labels": {"pod-template-hash": "abc", "app": "web"}, "annotations": {}},
        "spec": {
            "volumes": [{"emptyDir": {}, "name": "tmp"}],
            "nodeSelector": {},
            "tolerations": [],
            "containers": [{"resources": {"requests": {"cpu": "1"}}, "name": "web"}],
        },
    }
    other = {**one, "spec": {**one["spec"], "volumes": [{"name": "tmp"}]}}
    assert templates.canonical(one) == templates.canonical(same)
    assert templates.hashed(one) == templates.hashed(same)
    assert templates.canonical(one) != templates.canonical(other)
    assert templates.hashed(one) != templates.hashed(one, 1)
    assert set(templates.hashed(one)) <= set("bcdfghjklmnpqrstvwxz2456789")
