"""The setting `windows`: what is wrong with one is told by its field, with the way out."""

import pytest

from rescheduler.config import ConfigurationError
from rescheduler.model.windows import DAYS, Window
from tests.unit.config import samples


def test_what_is_left_out_has_its_default() -> None:
    found = samples.parsed(samples.own(windows=[{}, {"hours": "6:05-24:00"}, {"days": ["Sun"]}]))
    assert found.windows == (Window(), Window(begin=365), Window(days=("Sun",)))


def test_days_are_in_the_order_of_the_week() -> None:
    found = samples.parsed(samples.own(windows=[{"days": list(reversed(DAYS))}]))
    assert found.windows == (Window(),)


@pytest.mark.parametrize(
    ("window", "field", "words"),
    [
        ("nights", "windows", "a list of days, hours and zone"),
        ([None], "windows[0]", "a mapping with days, hours and zone"),
        ([{"hour": "1:00-2:00"}], "windows[0].hour", 'did you mean "hours"?'),
        ([{"days": []}], "windows[0].days", "leave it out to mean every day"),
        ([{"days": ["Mo"]}], "windows[0].days[0]", 'did you mean "Mon"?'),
        ([{"hours": "22-6"}], "windows[0].hours", 'expected hours such as "22:00-06:00"'),
        ([{"hours": "22:00-25:00"}], "windows[0].hours", "expected hours such as"),
        ([{"hours": "24:00-06:00"}], "windows[0].hours", "expected hours such as"),
        ([{"hours": "06:00-06:00"}], "windows[0].hours", 'write "00:00-24:00"'),
        ([{"zone": "Europe/Berlim"}], "windows[0].zone", 'did you mean "Europe/Berlin"?'),
        ([{"zone": "../etc/passwd"}], "windows[0].zone", "is no time zone"),
        ([{"zone": 1}], "windows[0].zone", "expected a string"),
        ([{}, {"zone": "here"}], "windows[1].zone", "is no time zone"),
    ],
)
def test_refused(window: object, field: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        samples.parsed(samples.own(windows=window))
    assert f"{field}: " in str(refusal.value)
    assert words in str(refusal.value)


def test_where_there_are_no_zones_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rescheduler.config.windows.available_timezones", set)
    with pytest.raises(ConfigurationError, match=r"windows\[0\]\.zone: .* pip install tzdata"):
        samples.parsed(samples.own(windows=[{"zone": "Nowhere/Here"}]))
