"""Builds the programs that tests run on from the Go module proxy into a per-user cache.

A folder of `pins/` is one Go module: its go.mod and go.sum name the programs and pin everything
that they are built from. `pins/<minor>` is a control plane; another Kubernetes version is one more
folder. Programs are rebuilt only when a pin or the recipe below changes. What Go fetches and
compiles on the way stays in that cache, too: whoever wants to be rid of it deletes one folder.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testbed import golang
from testbed.golang import PINS, TAIL, BuildError, cache_root, say

__all__ = [
    "DEFAULT_MINOR",
    "FOR_TESTS",
    "PINS",
    "POLICIES",
    "BuildError",
    "cache_root",
    "is_built",
    "minors",
    "programs",
    "read_pins",
]

# KUBERNETES=1.35 runs whatever is run on that version.
DEFAULT_MINOR = os.environ.get("KUBERNETES") or "1.36"

POLICIES = f"admissionregistration.k8s.io/{'v1beta1' if DEFAULT_MINOR == '1.35' else 'v1'}"
"""Where that version has policies that change objects: tests afflict copies by them. We ourselves
know of v1 only.
"""

# In this order: the later ones ask for the control plane's versions of most of their modules, so
# that they find them compiled.
FOR_TESTS = (DEFAULT_MINOR, "metrics-server", "prometheus", "vpa", "helm", "prometheus-operator")

# Raise it when the commands below change what they produce.
RECIPE = "1"

# `go install` names a program after the last path element, which does not always say what it is.
_VPA = "k8s.io/autoscaler/vertical-pod-autoscaler"
RENAMED = {
    "go.etcd.io/etcd/server/v3": "etcd",
    f"{_VPA}/pkg/admission-controller": "vpa-admission-controller",
    f"{_VPA}/pkg/updater": "vpa-updater",
    "sigs.k8s.io/karpenter/kwok": "karpenter",
}

MEGABYTE = 1_000_000

_KUBERNETES = "k8s.io/kubernetes"
_UNREACHABLE = (
    "the Go modules could not be fetched; is the Go module proxy reachable (go env GOPROXY)?"
)
_UNBUILDABLE = "the build failed; it needs about 5 GB of disk, and 1 GB of memory per core."


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What one folder of `pins/` asks for."""

    folder: Path
    module: str
    """That most of the programs are from."""
    version: str
    """As tagged, for example v1.36.4: of that module."""
    is_control_plane: bool
    go: tuple[int, ...]
    """The oldest Go that can build it."""
    tags: str
    """Go's build tags, from a comment in go.mod."""
    programs: Mapping[str, str]
    """Each as Go names it, and as it is named here."""
    files: tuple[str, ...]
    """What lies beside them in the end, such as their custom resources: paths in that module, from
    a comment in go.mod.
    """

    @property
    def key(self) -> str:
        digest = hashlib.sha256(RECIPE.encode())
        for name in ("go.mod", "go.sum"):
            digest.update((self.folder / name).read_bytes())
        return f"{self.version}-{golang.machine()}-{digest.hexdigest()[:16]}"

    @property
    def title(self) -> str:
        return f"{'Kubernetes' if self.is_control_plane else self.folder.name} {self.version}"

    @property
    def target(self) -> Path:
        shelf = "controlplane" if self.is_control_plane else self.folder.name
        return cache_root() / shelf / self.key


def read_pins(name: str = DEFAULT_MINOR) -> Pins:
    folder = PINS / name
    if not (folder / "go.mod").is_file():
        known = ", ".join(sorted(path.name for path in PINS.iterdir() if path.is_dir()))
        raise BuildError(f"no pins for {name}; there are: {known}")
    text = (folder / "go.mod").read_text()
    tools = re.search(r"^tool (?:\((.*?)^\)|(\S+)$)", text, re.MULTILINE | re.DOTALL)
    go = re.search(r"^go ([\d.]+)$", text, re.MULTILINE)
    packages = (tools[1] or tools[2]).split() if tools else []
    files = re.search(r"^// Files: (.+)$", text, re.MULTILINE)
    module = _home_of(packages, text, alone=bool(files))
    if not (module and go):
        raise BuildError(f"{folder / 'go.mod'} lacks its tool, require or go lines")
    tags = re.search(r"^// Build tags: (\S+)$", text, re.MULTILINE)
    names = {package: re.sub(r"/v\d+$", "", package).rsplit("/", 1)[1] for package in packages}
    return Pins(
        folder=folder,
        module=module[0],
        version=module[1],
        is_control_plane=module[0] == _KUBERNETES,
        go=tuple(map(int, go[1].split("."))),
        tags=tags[1] if tags else "",
        programs={built: RENAMED.get(package, built) for package, built in names.items()},
        files=tuple(files[1].split()) if files else (),
    )


def _home_of(packages: list[str], text: str, *, alone: bool) -> tuple[str, str] | None:
    """The required module, and its version, that most of these packages are from. One that is
    required alone, for its files, may have none.
    """
    required: list[tuple[str, str]] = re.findall(r"^\t(\S+) (v\S+) //", text, re.MULTILINE)
    if alone and len(required) == 1:
        return required[0]
    counts = {
        module: sum(f"{package}/".startswith(f"{module[0]}/") for package in packages)
        for module in required
    }
    home = max(required, key=lambda module: counts[module], default=None)
    return home if home and counts[home] else None


def minors() -> list[str]:
    """The Kubernetes versions that there are pins for."""
    folders = [path.name for path in PINS.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)]
    return sorted(folders, key=lambda each: [int(part) for part in each.split(".")])


def is_built(name: str) -> bool:
    return read_pins(name).target.is_dir()


def programs(name: str = DEFAULT_MINOR) -> Path:
    """The folder with the built programs; builds them when they are not there yet."""
    pins = read_pins(name)
    if pins.target.is_dir():
        return pins.target
    with _locked(cache_root() / "build.lock"):
        # Another process may have finished it while this one waited for the lock.
        if not pins.target.is_dir():
            _build(pins, pins.target)
    return pins.target


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(pins: Pins, target: Path) -> None:
    started = time.monotonic()
    go = golang.find_go(pins.go)
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}-*"):
        shutil.rmtree(left)  # of a build that was killed; one that runs would hold the lock
    staging = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    try:
        patience = ": about ten minutes once" if pins.is_control_plane else ""
        say(f"building {pins.title} for the tests with {go}{patience}")
        _download(go, pins)
        if pins.programs:
            _compile(go, pins, staging)
        missing = [name for built, name in pins.programs.items() if not (staging / built).is_file()]
        if missing:
            raise BuildError(f"go built no {', '.join(missing)}")
        for built, name in pins.programs.items():
            (staging / built).rename(staging / name)
        _copy_files(pins, staging)
        staging.chmod(0o755)
        staging.rename(target)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    minutes = (time.monotonic() - started) / 60
    built = ", ".join(pins.programs.values()) or "its files"
    say(f"built {built} into {target} in {minutes:.1f} minutes")


def _download(go: Path, pins: Pins) -> None:
    started = time.monotonic()
    archives = _archives(pins)

    def progress(_: Path) -> str:
        sizes = [path.stat().st_size for path in archives if path.is_file()]
        fetched = f"{len(sizes)} of {len(archives)} modules fetched"
        return f"{fetched}, {sum(sizes) / MEGABYTE:.0f} MB, {time.monotonic() - started:.0f} s"

    # Of what only files are taken from, nothing that it needs itself is fetched.
    modules = [] if pins.programs else [pins.module]
    command, env = [str(go), "mod", "download", *modules], golang.environment(go)
    golang.run(command, pins.folder, env, progress, on_failure=_UNREACHABLE)


def _archives(pins: Pins) -> list[Path]:
    """Where Go puts the modules that it fetches; it writes "!a" for "A" in their names."""
    # go.mod says which, go.sum in which version, for go.mod may replace one by another.
    required = re.search(
        r"^require \((.*?)^\)", (pins.folder / "go.mod").read_text(), re.MULTILINE | re.DOTALL
    )
    wanted = set(re.findall(r"^\t(\S+) v", required[1] if required else "", re.MULTILINE))
    lines = [line.split() for line in (pins.folder / "go.sum").read_text().splitlines()]
    names = [
        f"{module}/@v/{version}.zip"
        for module, version, _ in lines
        if module in wanted and not version.endswith("/go.mod")
    ]
    downloads = golang.module_cache() / "cache" / "download"
    return [downloads / _escaped(name) for name in names]


def _escaped(name: str) -> str:
    return re.sub("[A-Z]", lambda letter: f"!{letter[0].lower()}", name)


def _copy_files(pins: Pins, into: Path) -> None:
    module = golang.module_cache() / _escaped(f"{pins.module}@{pins.version}")
    for pattern in pins.files:
        found = sorted(module.glob(pattern))
        if not found:
            raise BuildError(f"{pins.title} has no {pattern}")
        for path in found:
            shutil.copyfile(path, into / path.name)


def _compile(go: Path, pins: Pins, into: Path) -> None:
    env = golang.environment(go) | {"GOBIN": str(into)}
    started = time.monotonic()
    total = _count_packages(go, pins, env)

    def progress(log: Path) -> str:
        # Programs are linked after the last package, so the count is a lower bound.
        compiled = log.read_bytes().count(b"\n")
        return f"{compiled} of {total} packages compiled, {time.monotonic() - started:.0f} s"

    # Without the stamp the API server reports a nonsense version and clients refuse to talk to it.
    version = pins.version.removeprefix("v").split(".")
    stamp = "k8s.io/component-base/version"
    ldflags = (
        f"-s -w -X {stamp}.gitVersion={pins.version}"
        f" -X {stamp}.gitMajor={version[0]} -X {stamp}.gitMinor={version[1]}"
    )
    flags = ["-v", "-mod=readonly", "-trimpath", f"-tags={pins.tags}", "-ldflags", ldflags]
    command = [str(go), "install", *flags, "tool"]
    golang.run(command, pins.folder, env, progress, on_failure=_UNBUILDABLE)


def _count_packages(go: Path, pins: Pins, env: dict[str, str]) -> int:
    command = [str(go), "list", "-deps", f"-tags={pins.tags}", "tool"]
    done = subprocess.run(
        command, check=False, cwd=pins.folder, env=env, capture_output=True, text=True
    )
    if done.returncode:
        raise BuildError(f"go cannot tell what there is to build\n{done.stderr[-TAIL:]}")
    return len(done.stdout.splitlines())
