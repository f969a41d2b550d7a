"""The collector of what is wrong with how a command is called."""

import pytest

from rescheduler.cli.wrong_flags import Problems, WrongFlags, time_limit
from rescheduler.errors import ReschedulerError


def failing() -> str:
    raise ReschedulerError("cluster.json: there is no such file")


def test_flags_come_first_and_files_behind_them() -> None:
    problems = Problems()
    assert problems.read(failing) is None
    problems.refuse_below_zero("--seed", -1)
    known = ("LoadBalancing", "TopologySpread")
    problems.refuse_unknown("--strategy", "LoadBalancng", known)
    with pytest.raises(WrongFlags) as told:
        problems.raise_if_any()
    assert str(told.value).splitlines() == [
        "--seed: -1 is below 0",
        '--strategy: unknown name "LoadBalancng"; did you mean LoadBalancing? known: '
        + ", ".join(known),
        "cluster.json: there is no such file",
    ]


def test_files_alone_are_no_wrong_usage() -> None:
    problems = Problems()
    problems.read(failing)
    with pytest.raises(ReschedulerError, match="no such file") as one:
        problems.raise_if_any()
    problems.read(failing)
    with pytest.raises(ReschedulerError, match=r"(?s)no such file.*no such file") as several:
        problems.raise_if_any()
    assert not isinstance(one.value, WrongFlags)
    assert not isinstance(several.value, WrongFlags)


def test_what_is_right_is_handed_on() -> None:
    problems = Problems()
    assert problems.read(lambda: 5) == 5
    problems.refuse_below_zero("--steps", 0)
    problems.refuse_below_zero("--steps", None)
    problems.refuse_unknown("--strategy", "a", ("a", "b"))
    assert problems.duration("--time-limit", "1m30s") == 90
    assert not problems
    problems.raise_if_any()


@pytest.mark.parametrize(("text", "seconds"), [("0", None), ("90s", 90.0)])
def test_a_limit_of_none_is_no_limit(text: str, seconds: float | None) -> None:
    assert time_limit("--timeout", text) == seconds


@pytest.mark.parametrize(
    ("text", "told"), [("-1s", "is below 0; 0 means no limit"), ("soon", "is not a duration")]
)
def test_a_limit_that_is_none(text: str, told: str) -> None:
    with pytest.raises(WrongFlags, match=f'--timeout: "{text}" {told}'):
        time_limit("--timeout", text)
