"""`make generate` writes what is made from other files; `make check` says what it would write."""

from pathlib import Path

import pytest

from tools import generate


def test_all_of_it_is_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    assert generate.main() == 0


def test_a_check_names_what_is_not_and_writes_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As when a setting has come that docs/configuration.md does not have."""
    stale, right = tmp_path / "page.md", tmp_path / "right.md"
    stale.write_text("old")
    right.write_text("right")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    monkeypatch.setattr(generate, "files", lambda: {right: "right", stale: "new"})
    monkeypatch.setattr("sys.argv", ["generate", "--check"])
    with pytest.raises(SystemExit, match=r"page\.md is not up to date: make generate"):
        generate.main()
    assert stale.read_text() == "old"
    monkeypatch.setattr("sys.argv", ["generate"])
    assert generate.main() == 0
    assert stale.read_text() == "new"
