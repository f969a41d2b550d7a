"""A test that was not run, or may fail, fails the run: see tests/conftest.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFTEST = ROOT / "tests" / "conftest.py"
PASSES = "def test_passes():\n    pass\n"
HEAD = f"import pytest\n\n{PASSES}\n"
NOT_RUN = {
    "skip": HEAD + "def test_other():\n    pytest.skip('not now')\n",
    "mark": HEAD + "@pytest.mark.skip\ndef test_other():\n    pass\n",
    "fixture": HEAD
    + "@pytest.fixture\ndef absent():\n    pytest.skip('not here')\n\n"
    + "def test_other(absent):\n    pass\n",
    "xfail": HEAD + "@pytest.mark.xfail\ndef test_other():\n    raise ValueError\n",
    "xpass": HEAD + "@pytest.mark.xfail(strict=False)\ndef test_other():\n    pass\n",
    "module": "import pytest\n\npytest.skip('not at all', allow_module_level=True)\n",
    "import": "import pytest\n\npytest.importorskip('no_such_module')\n",
}


def run(folder: Path, workers: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-p", "xdist", "-n", workers]
    # Or it would think of itself as a worker of the run that this test is part of.
    environment = {key: value for key, value in os.environ.items() if "PYTEST" not in key}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # all others, to save their time
    environment["PYTHONPATH"] = str(ROOT)  # where the conftest finds its parts
    return subprocess.run(
        [*command, str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    (tmp_path / "test_good.py").write_text(PASSES)
    return tmp_path


@pytest.mark.parametrize("workers", ["0", "2"])
def test_a_run_in_which_all_passed_is_good(folder: Path, workers: str) -> None:
    done = run(folder, workers)
    assert done.returncode == pytest.ExitCode.OK, done.stdout
    assert "counts as a failure" not in done.stdout


@pytest.mark.parametrize(
    ("kind", "workers"),
    [*((kind, "0") for kind in NOT_RUN), *((kind, "2") for kind in ("skip", "xfail", "module"))],
)
def test_a_run_with_a_test_that_did_not_have_to_pass_is_bad(
    folder: Path, kind: str, workers: str
) -> None:
    (folder / "test_other.py").write_text(NOT_RUN[kind])
    done = run(folder, workers)
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout
    [line] = [line for line in done.stdout.splitlines() if "counts as a failure" in line]
    assert "test_other" in line
