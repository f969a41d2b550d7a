from dataclasses import replace

import pytest

from rescheduler import schedule
from rescheduler.schedule import Filtered, Newcomer, NodeTable, Rules, Steering
from tests.unit.schedule.tables import MI, RULES, nothing, of_kind, pod, table

STRICT = replace(RULES, is_strict=True)


def filtered(
    known: NodeTable, asking: Newcomer | None = None, rules: Rules = RULES, *more: str
) -> Filtered:
    names = [*known.names, *more]
    return schedule.filtered(known, rules, asking or pod(), names, nothing(known))


# ---------------------------------------------------------------------- S41, in its own figures

FULL = (5 * 400.0, 5 * 800.0)
TWO_CORES = (2000.0, 4096.0 * MI)
ONE_MORE = pod(cpu=200, memory=400)


def test_beside_an_empty_node_the_full_one_is_refused() -> None:
    known = table({"full": FULL, "empty": (0, 0)}, capacity=TWO_CORES)
    found = filtered(known, ONE_MORE)
    assert list(found.passed) == ["empty"]
    assert found.refused == {
        "full": "cpu requests 110.0 % with this pod, above cpuThreshold 80, "
        "memory requests 107.4 % with this pod, above memoryThreshold 80"
    }


def test_alone_it_passes_unless_strict() -> None:
    known = table({"full": FULL}, capacity=TWO_CORES)
    lenient = filtered(known, ONE_MORE)
    assert list(lenient.passed) == ["full"]
    assert lenient.is_lenient
    assert not lenient.refused
    strict = filtered(known, ONE_MORE, STRICT)
    assert list(strict.passed) == []
    assert "full" in strict.refused


# ---------------------------------------------------------------------- thresholds


def test_just_at_the_threshold_passes() -> None:
    known = table({"a": (700, 700), "b": (701, 0), "c": (0, 701)})
    assert list(filtered(known).passed) == ["a"]


def test_what_is_unknown_passes() -> None:
    known = table({"known": (900, 0), "unknown": (float("nan"), float("nan"))})
    found = filtered(known, None, RULES, "new")
    assert list(found.passed) == ["unknown", "new"]


def test_what_came_since_counts() -> None:
    known = table({"a": (600, 0), "b": (0, 0)})
    placed = nothing(known)
    placed[0] = (101, 0)
    found = schedule.filtered(known, RULES, pod(), known.names, placed)
    assert list(found.passed) == ["b"]


# ---------------------------------------------------------------------- maintenance


@pytest.mark.parametrize("rules", [RULES, STRICT])
def test_maintenance_is_refused_always(rules: Rules) -> None:
    known = table({"a": (0, 0), "b": (990, 0)}, in_maintenance=("a",))
    found = filtered(known, None, rules)
    assert dict(found.closed) == {"a": "it is in maintenance"}
    assert list(found.passed) == ([] if rules.is_strict else ["b"])


def test_all_in_maintenance() -> None:
    known = table({"a": (0, 0), "b": (0, 0)}, in_maintenance=("a", "b"))
    found = filtered(known)
    assert list(found.passed) == []
    assert not found.is_lenient


def test_being_emptied_is_refused_as_long_as_there_are_others() -> None:
    known = table({"a": (0, 0), "b": (0, 0)}, being_emptied=("a",))
    found = filtered(known)
    assert list(found.passed) == ["b"]
    assert found.refused == {"a": "it is being emptied"}
    only = table({"a": (0, 0)}, being_emptied=("a",))
    assert list(filtered(only).passed) == ["a"]


# ---------------------------------------------------------------------- promises and migrations


def test_promised_room_is_left_free() -> None:
    usage = {"a": (100, 0), "b": (100, 0)}
    known = table(usage, requested={"a": (800, 0), "b": (800, 0)}, promised={"a": (150, 0)})
    found = filtered(known)
    assert list(found.passed) == ["b"]
    assert found.refused == {"a": "its room is promised to a migration in flight"}


def steered(*, keeps_name: bool = False) -> Steering:
    return Steering(pod="web-1", keeps_name=keeps_name, source="b", target="a")


def test_but_not_from_whom_it_is_promised_to() -> None:
    known = table(
        {"a": (790, 0), "b": (0, 0)},
        promised={"a": (100, 0)},
        steering={"owner": [steered(keeps_name=True)]},
    )
    assert list(filtered(known).passed) == ["a", "b"]
    assert list(filtered(known, pod("web-2")).passed) == ["b"]
    assert list(filtered(known, pod(owner_uid="another")).passed) == ["b"]


@pytest.mark.parametrize("kind", ["belongs_to_its_node", "is_copy"])
def test_who_has_no_choice_is_not_refused(kind: str) -> None:
    known = table({"a": (990, 0), "b": (0, 0)}, in_maintenance=("b",))
    assert list(filtered(known, of_kind(kind)).passed) == ["a", "b"]
