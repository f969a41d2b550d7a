"""The control plane itself: real, on its own, and gone without a trace in the end."""

import asyncio
import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest

from testbed import build
from testbed.api import Api, ApiError, Object
from testbed.audit import is_ready, is_usable
from testbed.auditor import read_requests
from testbed.builders import deployment, node, pod_spec, workload
from testbed.instance import Instance, InstanceError, OwnedInstance
from testbed.marks import has_mark
from testbed.supervisor import FOLDER_PREFIX, MARK
from testbed.world import World

ROOT = Path(build.__file__).parent.parent
PATIENCE_SECONDS = 90.0

# An owner in a process of its own: says where its instance is, and stays until it is ended.
OWNER = """
import signal
from testbed.instance import OwnedInstance
with OwnedInstance() as owned:
    print(owned.instance.to_json(), flush=True)
    signal.pause()
"""


def await_that(what: str, condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {PATIENCE_SECONDS:.0f} s in vain until {what}"
        time.sleep(0.1)


def commands(mark: str) -> list[str]:
    """The command lines of the running processes that hold the mark. Ended ones have none."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it ended meanwhile
        if mark in line:
            found.append(line)
    return found


def has_process(instance: Instance) -> bool:
    mine = any(has_mark(pid, str(instance.folder)) for pid in instance.pids.values())
    return mine or has_mark(instance.supervisor, MARK) or bool(commands(str(instance.folder)))


def is_gone(instance: Instance) -> bool:
    return not has_process(instance) and not instance.folder.exists()


def client(instance: Instance, token: str = "") -> Api:
    return Api(instance.url, token or instance.tokens["admin"], instance.client_ssl())


def config_map(name: str) -> Object:
    return {"kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}}


@contextmanager
def owner_process(folder: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Runs `OWNER` in a process group of its own; its temporary files go to the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def instance_of(process: subprocess.Popen[str]) -> Instance:
    assert process.stdout is not None
    instance = Instance.from_json(process.stdout.readline())
    assert has_process(instance)
    return instance


def programs_with(folder: Path, program: str, script: str) -> Path:
    """The real programs, but for one."""
    folder.mkdir()
    for real in build.programs().iterdir():
        if real.name != program:
            (folder / real.name).symlink_to(real)
    if script:
        (folder / program).write_text(script)
        (folder / program).chmod(0o755)
    return folder


# ------------------------------------------------------------------ real


async def test_two_instances_side_by_side_know_nothing_of_each_other(instance: Instance) -> None:
    with OwnedInstance() as owned:
        other = owned.instance
        assert other.url != instance.url
        assert other.folder != instance.folder
        assert instance.folder.is_dir()  # the start of another has not cleaned it away
        async with client(instance) as here, client(other) as there:
            await there.create(config_map("only-there"))
            assert await there.find("ConfigMap", "default", "only-there")
            assert await here.find("ConfigMap", "default", "only-there") is None
        async with client(other, instance.tokens["admin"]) as stranger:
            with pytest.raises(ApiError, match="401"):
                await stranger.list("Node")
    assert is_gone(other)
    assert not is_gone(instance)


async def test_a_client_without_the_authority_refuses_the_server(instance: Instance) -> None:
    context = ssl.create_default_context()
    async with Api(instance.url, instance.tokens["admin"], context) as api:
        with pytest.raises(aiohttp.ClientConnectorCertificateError):
            await api.list("Node")


async def test_a_wrong_token_is_refused(instance: Instance) -> None:
    async with client(instance, "wrong") as api:
        with pytest.raises(ApiError, match="401"):
            await api.list("Node")


def test_the_programs_are_of_the_pinned_version(instance: Instance, kubectl: Path) -> None:
    pinned = build.read_pins().version
    options = ["--kubeconfig", str(instance.admin_kubeconfig), "--output=json"]
    versions = json.loads(subprocess.check_output([str(kubectl), "version", *options]))
    for side in ("clientVersion", "serverVersion"):
        assert versions[side]["gitVersion"] == pinned
        major, minor = versions[side]["major"], versions[side]["minor"]
        assert f"v{major}.{minor}" == pinned.rsplit(".", 1)[0]


async def test_the_service_account_may_do_what_its_role_says_and_no_more(world: World) -> None:
    [name] = await world.add_nodes(1)
    async with client(world.instance, world.token) as api:
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        user = (await api.request("POST", path, body=review))["status"]["userInfo"]
        assert user["username"] == "system:serviceaccount:kube-system:rescheduler-scheduler"
        assert user["extra"]["authentication.kubernetes.io/credential-id"] == [world.credential]

        assert await api.list("Pod") is not None
        assert await api.list("Node", selector=f"kubernetes.io/hostname={name}")
        for method, path in (
            ("GET", "/api/v1/secrets"),
            ("GET", f"/api/v1/namespaces/{world.name}/secrets"),
            ("DELETE", f"/api/v1/nodes/{name}"),
            ("DELETE", f"/apis/apps/v1/namespaces/{world.name}/deployments/web"),
            ("DELETE", f"/api/v1/namespaces/{world.name}"),
        ):
            with pytest.raises(ApiError, match="403"):
                await api.request(method, path)
    assert await world.api.find("Node", None, name)


async def test_the_audit_log_names_each_request_and_whose_token_it_was(world: World) -> None:
    pod = {"kind": "Pod", "metadata": {"name": "mine", "namespace": world.name}, "spec": pod_spec()}
    async with client(world.instance, world.token) as api:
        await api.create(pod)
        await api.list("Pod", world.name)
        with pytest.raises(ApiError, match="403"):
            await api.delete("Namespace", None, world.name)
    await world.api.delete("Pod", world.name, "mine")  # by somebody else

    async def is_complete() -> bool:
        return len(read_requests(world.instance.audit_log, world.credential)) >= 3

    await world.wait("the log is written", is_complete)
    logged = read_requests(world.instance.audit_log, world.credential)
    assert {(each.permission, each.namespace, each.code) for each in logged} == {
        ("create pods", world.name, 201),
        ("list pods", world.name, 200),
        ("delete namespaces", world.name, 403),
    }
    assert read_requests(world.instance.audit_log, "JTI=somebody-else") == []


async def test_a_kubelet_ends_a_pod_once(world: World) -> None:
    # It does so by name: a second time would be the end of the next pod of a StatefulSet.
    [node_name] = await world.add_nodes(1)
    stateful = workload("StatefulSet", "web", replicas=5)
    stateful["spec"]["podManagementPolicy"] = "Parallel"
    await world.deploy(stateful, on=node_name)
    old = {pod["metadata"]["uid"] for pod in await world.pods("web")}
    names = [f"web-{index}" for index in range(5)]
    await asyncio.gather(*(world.api.delete("Pod", world.name, name) for name in names))

    async def are_replaced() -> bool:
        pods = await world.pods("web")
        return sum(is_ready(pod) and pod["metadata"]["uid"] not in old for pod in pods) == 5

    def ended() -> list[str]:
        logged = map(json.loads, world.instance.audit_log.read_text().splitlines())
        return sorted(
            entry["objectRef"]["name"]
            for entry in logged
            if entry["user"]["username"] == "testbed:kubelets"
            and entry["objectRef"]["namespace"] == world.name
        )

    async def is_complete() -> bool:
        return len(ended()) >= len(names)

    await world.wait("all are replaced", are_replaced)
    await world.wait("the log is written", is_complete)
    assert ended() == names


# ------------------------------------------------------------------ programs that fail


async def test_the_data_outlives_a_killed_api_server_and_a_killed_etcd() -> None:
    with OwnedInstance() as owned:
        async with client(owned.instance) as api:
            await api.create(config_map("kept"))
            before = owned.instance.pids
            owned.kill("kube-apiserver")
            with pytest.raises(aiohttp.ClientConnectionError):
                await api.list("Node")
            owned.start("kube-apiserver")
            assert await api.find("ConfigMap", "default", "kept")
            assert owned.instance.pids["kube-apiserver"] != before["kube-apiserver"]
            assert owned.instance.pids["etcd"] == before["etcd"]

            await owned.restart("etcd")
            await owned.restart("kube-apiserver")
            assert await api.find("ConfigMap", "default", "kept")

        with pytest.raises(InstanceError, match="kube-apiserver is running"):
            owned.start("kube-apiserver")
        with pytest.raises(InstanceError, match="kube-nonsense"):
            owned.start("kube-nonsense")
        owned.kill("kwok")
        with pytest.raises(InstanceError, match="kwok"):
            owned.kill("kwok")
        last = owned.instance
    assert is_gone(last)


async def test_without_the_controller_manager_no_pods_are_made() -> None:
    async def until(condition: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not await condition():  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def is_node_usable() -> bool:
        return is_usable(await api.get("Node", None, "one"))

    async def has_ready(count: int) -> bool:
        pods = await api.list("Pod", "default")
        return len(pods) == count and all(is_ready(pod) for pod in pods)

    with OwnedInstance() as owned:
        async with client(owned.instance) as api:
            await api.create(node("one"))
            await until(is_node_usable)
            owned.kill("kube-controller-manager")
            web = deployment("web", replicas=2)
            web["metadata"]["namespace"] = "default"
            await api.create(web)
            # A pod that needs no controller runs, so the others had the time.
            single = {"name": "single", "namespace": "default"}
            await api.create({"kind": "Pod", "metadata": single, "spec": pod_spec()})
            await until(lambda: has_ready(1))
            assert await api.list("ReplicaSet", "default") == []
            owned.start("kube-controller-manager")
            await until(lambda: has_ready(3))


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("#!/bin/sh\necho no such luck >&2\nexit 3\n", "kube-apiserver ended.*\n.*no such luck"),
        ("", "kube-apiserver cannot be run: .*No such file"),
        ("no script at all", "kube-apiserver cannot be run: .*Exec format"),
    ],
)
def test_a_program_that_cannot_start_is_reported_and_nothing_is_left(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = programs_with(tmp_path / "programs", "kube-apiserver", script)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(build, "programs", lambda _: broken)
    monkeypatch.setenv("TMPDIR", str(temporary))
    with pytest.raises(InstanceError, match=message), OwnedInstance():
        pass
    assert list(temporary.iterdir()) == []
    assert commands(str(tmp_path)) == []


def test_a_port_that_somebody_else_took_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = tmp_path / "tried"
    real = build.programs() / "etcd"
    script = f"""#!/bin/sh
if mkdir {tried}; then echo 'listen tcp 127.0.0.1:1: bind: address already in use'; exit 1; fi
exec {real} "$@"
"""
    folder = programs_with(tmp_path / "programs", "etcd", script)
    monkeypatch.setattr(build, "programs", lambda _: folder)
    with OwnedInstance() as owned:
        assert tried.is_dir()
        assert has_process(owned.instance)
    assert is_gone(owned.instance)


# ------------------------------------------------------------------ nothing left behind


class MishapError(Exception):
    pass


def test_it_ends_with_an_exception() -> None:
    with pytest.raises(MishapError), OwnedInstance() as owned:  # noqa: PT012
        instance = owned.instance
        assert has_process(instance)
        raise MishapError
    assert is_gone(instance)


def test_it_ends_when_its_owner_is_killed(tmp_path: Path) -> None:
    # A proxy of the developer's must not come between, either.
    with owner_process(tmp_path, https_proxy="http://127.0.0.1:9") as process:
        instance = instance_of(process)
        process.kill()
        process.wait()
        await_that("everything is gone", lambda: is_gone(instance))
    assert list(tmp_path.iterdir()) == []


def test_it_ends_when_its_owner_is_interrupted(tmp_path: Path) -> None:
    with owner_process(tmp_path) as process:
        instance = instance_of(process)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert errors.strip().endswith("KeyboardInterrupt")
        assert is_gone(instance)
    assert list(tmp_path.iterdir()) == []


def test_it_ends_when_its_owner_is_killed_while_it_starts(tmp_path: Path) -> None:
    # An etcd that never answers, so that the start takes as long as we like.
    stuck = f"#!{sys.executable}\nimport signal\nsignal.pause()\n"
    folder = programs_with(tmp_path / "programs", "etcd", stuck)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    start = f"""
import sys
from pathlib import Path
from testbed.instance import start_supervisor, read_answer
import os
read_answer(start_supervisor(Path({str(folder)!r}), os.getpid()))
"""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen([sys.executable, "-c", start], cwd=ROOT, env=environment) as process:
        await_that("it starts", lambda: commands(str(temporary)))
        process.kill()
    await_that("no process is left", lambda: not commands(str(tmp_path)))
    await_that("no file is left", lambda: not list(temporary.iterdir()))


def test_it_outlives_who_started_it_for_another_and_ends_with_that_one() -> None:
    """As a test worker starts it for the whole run."""
    start = """
import sys
from testbed import build
from testbed.instance import start_supervisor, read_answer
print(read_answer(start_supervisor(build.programs(), int(sys.argv[1]))).to_json())
"""
    with subprocess.Popen(["/bin/sleep", "1000"]) as owner:
        command = [sys.executable, "-W", "ignore", "-c", start, str(owner.pid)]
        # It ends before the instance does; the answer proves that the instance still serves.
        instance = Instance.from_json(subprocess.check_output(command, cwd=ROOT, text=True))
        kubectl = [
            str(build.programs() / "kubectl"),
            "--kubeconfig",
            str(instance.admin_kubeconfig),
        ]
        for _ in range(5):
            ready = subprocess.check_output([*kubectl, "get", "--raw=/readyz"])
            assert ready == b"ok"
        assert has_mark(instance.supervisor, MARK)
        owner.kill()
        await_that("everything is gone", lambda: is_gone(instance))


def test_its_programs_die_with_a_killed_supervisor_and_the_next_start_cleans_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    with OwnedInstance() as owned:
        instance = owned.instance
        os.kill(instance.supervisor, signal.SIGKILL)
        await_that("every process is gone", lambda: not has_process(instance))
        with pytest.raises(InstanceError, match="ended unexpectedly"):
            owned.kill("kwok")
    assert instance.folder.is_dir()
    # One whose pid is somebody else's by now goes as well.
    (temporary / f"{FOLDER_PREFIX}{os.getpid()}-abc").mkdir()
    broken = programs_with(tmp_path / "programs", "etcd", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(build, "programs", lambda _: broken)
    with pytest.raises(InstanceError), OwnedInstance():
        pass
    assert list(temporary.iterdir()) == []


# ------------------------------------------------------------------ python -m testbed


class Command:
    """`python -m testbed`, with a temporary folder of its own, so with a cluster of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        # Its output is read to the end, so nothing that goes on running may hold on to it.
        return subprocess.run(
            [sys.executable, "-m", "testbed", *arguments],
            check=False,
            cwd=ROOT,
            env={**os.environ, "TMPDIR": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )

    @property
    def instance(self) -> Instance:
        [state] = self.folder.glob("*.json")
        assert state.stat().st_mode & 0o777 == 0o600  # it holds tokens
        return Instance.from_json(state.read_text())


@pytest.fixture
def testbed(tmp_path: Path) -> Iterator[Command]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = Command(folder)
    yield command
    command("down")


def test_a_cluster_for_people_comes_up_and_goes_down(
    testbed: Command, kubectl: Path, tmp_path: Path
) -> None:
    up = testbed("up", "--nodes", "5")
    assert up.returncode == 0, up.stderr
    assert up.stdout.startswith("export KUBECONFIG=")
    config = up.stdout.strip().removeprefix("export KUBECONFIG=")
    environment = {"KUBECONFIG": config, "KUBECACHEDIR": str(tmp_path), "PATH": os.environ["PATH"]}
    command = [str(kubectl), "get", "nodes", "--no-headers"]
    lines = subprocess.check_output(command, env=environment, text=True).splitlines()
    assert [line.split()[1] for line in lines] == ["Ready"] * 5

    again = testbed("up", "--nodes", "5")
    assert again.returncode == 1
    assert f"a cluster is running: export KUBECONFIG={config}" in again.stderr

    instance = testbed.instance
    assert has_process(instance)
    assert testbed("down").returncode == 0
    assert is_gone(instance)
    assert list(testbed.folder.iterdir()) == []
    once_more = testbed("down")
    assert once_more.returncode == 0
    assert "no cluster is running" in once_more.stderr


def test_down_cleans_up_after_a_killed_supervisor(testbed: Command) -> None:
    assert testbed("up", "--nodes", "1").returncode == 0
    instance = testbed.instance
    os.kill(instance.supervisor, signal.SIGKILL)
    assert testbed("down").returncode == 0
    assert is_gone(instance)
    assert list(testbed.folder.iterdir()) == []


def test_down_leaves_a_stranger_alone_that_has_the_pid_by_now(testbed: Command) -> None:
    folder = testbed.folder / f"{FOLDER_PREFIX}1-x"
    folder.mkdir()
    with subprocess.Popen(["/bin/sleep", "1000"]) as stranger:
        state = testbed.folder / f"kube-rescheduler-cluster-{os.getuid()}.json"
        pids = {"etcd": stranger.pid}
        known = Instance(supervisor=stranger.pid, folder=folder, url="", tokens={}, pids=pids)
        state.write_text(known.to_json())
        assert testbed("down").returncode == 0
        assert stranger.poll() is None
        stranger.kill()
    assert list(testbed.folder.iterdir()) == []
