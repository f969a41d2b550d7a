"""A version is cut by one command, or not at all."""

from datetime import date

import pytest
from packaging.version import Version

from tools import versioning
from tools.versioning import CannotCutError, cut, wanted

TODAY = date(2026, 11, 20)
CHANGELOG = """# Changelog

What an upgrade asks of you stands first.

## Unreleased

### Added

- One thing.

## 0.0.1 - 2026-01-01

- Another.
"""


def test_what_was_unreleased_is_released_and_the_next_has_its_place() -> None:
    made = cut(CHANGELOG, Version("0.1.0"), TODAY)
    assert made == CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n## 0.1.0 - 2026-11-20\n")


def test_the_changelog_of_today_can_be_cut() -> None:
    """Also on the day after a release, when it has nothing new yet."""
    today = versioning.CHANGELOG.read_text()
    some = today.replace("## Unreleased\n", "## Unreleased\n\n### Added\n\n- Something.\n", 1)
    made = cut(some, Version("99.0"), TODAY)
    assert "## Unreleased\n\n## 99.0 - 2026-11-20\n\n### " in made


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("# Changelog\n", "no line '## Unreleased'"),
        ("## Unreleased\n\n## 0.0.1\n\n- x\n", "nothing under Unreleased"),
    ],
)
def test_what_cannot_be_cut_is_told(text: str, told: str) -> None:
    with pytest.raises(CannotCutError, match=told):
        cut(text, Version("0.1.0"), TODAY)


@pytest.mark.parametrize("after", ["0.0.2", "0.1.0", "0.2.0.dev0", "1.0"])
def test_it_goes_forward(after: str) -> None:
    """From what is released: nobody has what is only being developed."""
    assert wanted(after, "0.1.0.dev0", CHANGELOG) == Version(after)


@pytest.mark.parametrize("before", ["0.1.0.dev0", "0.0.1", "0.0.1.dev3", "0.0.0", "new"])
def test_and_only_forward(before: str) -> None:
    with pytest.raises(CannotCutError, match=before):
        wanted(before, "0.1.0.dev0", CHANGELOG)


def test_not_behind_what_is_cut_today() -> None:
    with pytest.raises(CannotCutError, match="the version of today"):
        wanted("0.0.2", "0.1.0", CHANGELOG)
