"""What is kept of released versions."""

from pathlib import Path

import pytest

from tests.scenarios import left_behind

ONE, OTHER = "505d9878-e4ce-4084-9989-427709174c58", "b9540ede-cd39-4bdc-95dc-d7c795affd1d"


@pytest.mark.parametrize(
    ("left", "news"),
    [
        ({"0.1.0": "a"}, ["0.1.0"]),
        ({"0.1.0": "a", "0.1.1": "a"}, ["0.1.0"]),
        ({"0.1.0": "a", "0.1.1": "b"}, ["0.1.0", "0.1.1"]),
        ({"0.1.0": "a", "0.1.1": "b", "0.2.0": "a"}, ["0.1.0", "0.1.1"]),
        ({"0.1.0": f"a_{ONE}", "0.1.1": f"a_{OTHER}"}, ["0.1.0"]),
        ({"0.1.0": f"a {ONE}", "0.1.1": f"a {OTHER}"}, ["0.1.0", "0.1.1"]),
    ],
    ids=["alone", "same", "other", "same as long ago", "another leader", "another UID"],
)
def test_what_an_earlier_version_left_just_so_is_not_played_again(
    left: dict[str, str], news: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, text in left.items():
        folder = tmp_path / version / left_behind.MIGRATIONS
        folder.mkdir(parents=True)
        (folder / "surge.json").write_text(text)
    monkeypatch.setattr(left_behind, "LEFT", tmp_path)
    monkeypatch.setattr(left_behind, "VERSIONS", list(left))
    assert [each for each in left if left_behind.is_news(each, "surge")] == news
