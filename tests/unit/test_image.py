"""The image: its steps are run as they stand, and what they leave runs as nobody in particular,
from a tree that can only be read. There is no image engine here, so no image is made.
"""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler import __version__
from tests.dockerfile import Dockerfile, Stage

# It installs all there is, by whatever the machine is reached by.
pytestmark = pytest.mark.timeout(1200)

ROOT = Path(__file__).parents[2]
NOBODY = 65532


@dataclass(frozen=True, slots=True)
class Image:
    """What one would be."""

    into: Path
    build: Stage
    final: Stage
    libraries: dict[str, str]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As the manifests have it run."""
        [program] = self.final.entrypoint
        found = shutil.which(program, path=self.final.variables["PATH"])
        assert found
        # Who is nobody already cannot become another.
        nobody: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        ran: subprocess.CompletedProcess[str] = subprocess.run(
            [found, *arguments],
            env={**self.final.variables, **self.libraries, "HOME": "/nonexistent", "TMPDIR": "/no"},
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            **(nobody if os.getuid() == 0 else {}),
        )
        return ran


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    # Not that of pytest, into which nobody else may look.
    folder = Path(tempfile.mkdtemp(prefix="kube-rescheduler-image-"))
    folder.chmod(0o755)
    into = folder / "opt/rescheduler"
    places = {name: str(folder / "opt" / name.lower()) for name in ("TOOLS", "PAGE")}
    arguments = {"VERSION": __version__, "REVISION": "0123abc"}
    dockerfile = Dockerfile(ROOT, folder, INTO=str(into), **places, **arguments)
    try:
        _, build, final = dockerfile.run()
        # The last stage has them not.
        for each in ("opt/tools", "opt/page", "source", "page"):
            shutil.rmtree(folder / each)
        _seal(into)
        yield Image(into, build, final, dockerfile.libraries)
    finally:
        _unseal(into)
        shutil.rmtree(folder)


def _seal(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            path.chmod(path.stat().st_mode & ~0o222)


def _unseal(tree: Path) -> None:
    for path in [tree, *tree.rglob("*")]:
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


def test_it_runs_as_nobody_from_a_tree_that_can_only_be_read(image: Image) -> None:
    told = image.run("version")
    assert (told.returncode, told.stderr) == (0, "")
    assert __version__ in told.stdout
    shown = image.run("config", "init")
    assert "kind: ReschedulerConfiguration" in shown.stdout
    assert "and nothing dipped" in image.run("demo", "--seed", "0", "--nodes", "8").stdout


def test_it_has_what_runs_and_nothing_that_builds(image: Image) -> None:
    into = image.into
    programs = {path.name for path in (into / "bin").iterdir()}
    assert {"rescheduler", "kubectl-reschedule", "python"} <= programs
    assert not {"pip", "hatchling", "gcc", "cc"} & programs
    [packages] = into.glob("lib/python3*/site-packages")
    assert not {"pip", "hatchling", "setuptools", "wheel"} & {
        path.name for path in packages.iterdir()
    }
    assert list((packages / "rescheduler").rglob("*.pyc"))
    assert (packages / "rescheduler/serve/dashboard/page/index.html").is_file()
    assert not {"node", "npm"} & programs


def test_its_user_is_that_of_the_manifests(image: Image) -> None:
    build, final = image.build, image.final
    [deployment] = [
        each
        for each in yaml.safe_load_all((ROOT / "manifests/rescheduler/deployment.yaml").read_text())
        if each["kind"] == "Deployment"
    ]
    pod = deployment["spec"]["template"]["spec"]
    user = pod["securityContext"]
    assert final.user == f"{user['runAsUser']}:{user['runAsGroup']}" == f"{NOBODY}:{NOBODY}"
    assert pod["containers"][0]["command"] == final.entrypoint
    assert "slim" in build.image
    assert final.ran == []  # so that nothing of the first stage has to be taken away again


def test_it_says_what_it_is(image: Image) -> None:
    final = image.final
    prefix = "org.opencontainers.image."
    assert final.labels.keys() == {
        f"{prefix}{each}" for each in ("title", "description", "licenses", "version", "revision")
    }
    assert final.labels[f"{prefix}version"] == __version__
    assert final.labels[f"{prefix}revision"] == "0123abc"


def test_everything_is_installed_by_checksum_and_without_a_compiler(
    image: Image,
) -> None:
    installing = [each for each in image.build.ran if " install " in each and ".whl" not in each]
    assert len(installing) == 2
    for each in installing:
        assert "--require-hashes" in each
        assert "--only-binary :all:" in each
