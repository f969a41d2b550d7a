"""What stands in the way of real nodes on a machine is told in one sentence."""

import os
from pathlib import Path

import pytest

from testbed import __main__ as command
from testbed.realnodes import cgroups, requirements


def test_nothing_stands_in_the_way_here() -> None:
    assert requirements.what_stands_in_the_way() == ""
    assert requirements.missing_packages() == []


def test_who_is_not_root_is_told_so_and_the_status_says_that_there_can_be_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as ended:
        command.build_nodes()
    assert ended.value.code == command.CANNOT
    [sentence] = capsys.readouterr().err.splitlines()
    assert sentence.startswith("real nodes need root")


def test_a_machine_without_the_cgroups_is_told_which(monkeypatch: pytest.MonkeyPatch) -> None:
    known = cgroups.controllers()
    del known["memory"]
    monkeypatch.setattr(requirements, "controllers", lambda: known)
    assert "has no memory there" in requirements.what_stands_in_the_way()


def test_a_kernel_without_overlayfs_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = tmp_path / "filesystems"
    known.write_text("nodev\ttmpfs\n\text4\n")
    monkeypatch.setattr(requirements, "_FILESYSTEMS", known)
    told = requirements.what_stands_in_the_way()
    assert told == "real nodes need a kernel with overlayfs, and this one has none"


def test_what_the_kernel_refuses_is_told_in_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requirements, "_TRY", "import sys; sys.exit('bridges: not supported')")
    told = requirements.what_stands_in_the_way()
    assert told == "real nodes: the kernel refuses bridges: not supported"


@pytest.mark.parametrize("status", [0, 100])
def test_what_debian_has_is_installed_by_our_own_command(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in for apt-get, for nothing is missing here."""
    told, program = tmp_path / "told", tmp_path / "apt-get"
    program.write_text(f"#!/bin/sh\necho $* >> {told}\necho no such luck >&2\nexit {status}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setitem(requirements._FILES, "runc", ())  # noqa: SLF001
    assert requirements.missing_packages() == ["runc"]
    problem = requirements.install_missing()
    update, *install = told.read_text().splitlines()
    assert update.endswith("update")
    if status:
        assert problem == "apt-get -qq update failed: no such luck"
        assert install == []
    else:
        assert problem == ""
        assert install == ["-qq install -y --no-install-recommends runc"]
