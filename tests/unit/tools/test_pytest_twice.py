"""What failed among others is run once more, alone: `tools/pytest_twice.py`."""

import subprocess
import sys
from pathlib import Path

import pytest

_TOOL = Path(__file__).parents[3] / "tools" / "pytest_twice.py"
_BUSY = """
import pathlib
def test_busy():
    seen = pathlib.Path("seen")
    again = seen.exists()
    seen.touch()
    assert again
def test_well():
    pathlib.Path("well").open("a").write("x")
"""
_BROKEN = "def test_broken(): assert False\n"
_MANY = "import pytest\n@pytest.mark.parametrize('n', range(9))\ndef test_many(n): assert n < 0\n"


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, str(_TOOL), "test_it.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_what_passes_alone_is_named_and_fails_nothing(tmp_path: Path) -> None:
    ended = run(tmp_path, _BUSY)
    assert ended.returncode == 0, ended
    assert (
        "passed when run alone, and failed among others:\n  test_it.py::test_busy" in ended.stdout
    )
    assert (tmp_path / "well").read_text() == "x"


@pytest.mark.parametrize(("text", "times"), [(_BROKEN, 2), (_MANY, 1), ("import nothing\n", 1)])
def test_what_is_broken_fails(tmp_path: Path, text: str, times: int) -> None:
    ended = run(tmp_path, text)
    assert ended.returncode != 0
    assert ended.stdout.count("test session starts") == times
