"""A machine that has no Chromium, and cannot have one, says so in one sentence."""

from pathlib import Path

import pytest

from testbed import browser
from testbed.golang import BuildError


@pytest.fixture
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are looked for; nothing is in the cache, either."""
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return programs


@pytest.mark.usefixtures("empty")
def test_without_debian_there_is_none() -> None:
    with pytest.raises(BuildError, match=r"put one on PATH as chromium \(here is no apt-get"):
        browser.provide()
    with pytest.raises(BuildError, match="there is no Chromium here yet: make browser"):
        browser.program()


def test_one_that_does_not_start_is_none(empty: Path) -> None:
    broken = empty / "chromium"
    broken.write_text("#!/bin/sh\necho libnss3.so: cannot open >&2\nexit 127\n")
    broken.chmod(0o755)
    assert browser.program() == broken
    with pytest.raises(BuildError, match=r"does not start: libnss3.so: cannot open"):
        browser.provide()


def test_what_cannot_be_fetched_leaves_nothing_half_done(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    apt = empty / "apt-get"
    apt.write_text("#!/bin/sh\necho E: Failed to fetch >&2\nexit 100\n")
    apt.chmod(0o755)
    with pytest.raises(BuildError, match=r"apt-get -qq failed: E: Failed to fetch"):
        browser.provide()
    assert [each for each in (tmp_path / "cache").rglob("*") if not each.name.startswith(".")] == [
        tmp_path / "cache/kube-rescheduler"
    ]
