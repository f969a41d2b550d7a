"""Every command in the docs is run by a test; here those that need a cluster, page by page, in the
order in which they stand there, by bash. docs/testing.md has the few that are not run.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed import build
from testbed.api import Api
from testbed.builders import node
from testbed.instance import Instance, OwnedInstance
from tests.cluster.deployed import free_port
from tests.documented import (
    TRANSLATED,
    Command,
    a_clone,
    commands,
    everywhere,
    is_excepted,
    run,
)

SECONDS = 280.0
NODES = ("worker-1", "worker-2", "worker-3", "worker-4")
MAINTENANCE = "scheduler.alpha.kubernetes.io/maintenance"

PLACEHOLDERS = {
    "YOUR/IMAGE": "registry.example/kube-rescheduler",
    "migrate POD -n NAMESPACE": "migrate cache-0 -n shop",
    "seconds=10": "seconds=1",
}
STOPPED = {
    ".venv/bin/rescheduler run --config careful.yaml --kubeconfig ~/.kube/config": 12,
}
"""What runs until it is told to stop: after so many seconds."""

SHOP = """
kubectl create namespace shop
kubectl -n shop create deployment web --image=app:1 --replicas=4
kubectl -n shop rollout status deployment/web --timeout=60s
"""
CACHE = """
kubectl -n shop delete pods -l run=cache-0 --wait
kubectl -n shop run cache-0 --image=app:1
kubectl -n shop wait --for=condition=Ready pod/cache-0 --timeout=60s
"""
INSTALLED = "kubectl apply -k manifests/overlays/without-deployment\n" + SHOP
LEADER = """
rescheduler run > leader.log 2>&1 &
kubectl -n kube-system wait --for=create lease/rescheduler --timeout=60s
"""
GIVEN_BACK = f"kubectl uncordon worker-1\nkubectl label node worker-1 {MAINTENANCE}-\n"

BEFORE = {
    ("README.md", "Run"): SHOP + CACHE,
    ("docs/deployment-guide.md", "By Helm"): "kubectl delete -k manifests/rescheduler\n",
    ("docs/deployment-guide.md", "From planning to moving"): (
        "helm uninstall rescheduler --namespace kube-system --wait\n"
        "kubectl apply -k manifests/overlays/read-only\n"
    ),
    ("docs/operating.md", "In the cluster"): INSTALLED + LEADER,
    ("docs/operating.md", "Status and single moves"): "rescheduler resume\n" + GIVEN_BACK + CACHE,
    ("docs/plans.md", ""): INSTALLED + LEADER,
    ("docs/runbooks.md", ""): INSTALLED + LEADER,
    ("docs/scheduling.md", "With the scheduler that you have"): """
cat > kustomization.yaml <<END
resources: [manifests/rescheduler]
components: [manifests/components/extender]
END
""",
}
"""By page and section: what its reader has done before."""
BEFORE_COMMAND = {
    # It was moved before, which gave it another name.
    ".venv/bin/rescheduler explain pod shop/cache-0": CACHE,
    ".venv/bin/rescheduler migrate POD -n NAMESPACE": GIVEN_BACK + CACHE + LEADER,
    ".venv/bin/rescheduler cleanup --all": "kill $(jobs -p) || true\nwait\n",
    "curl -s localhost:8081/readyz?verbose": (
        "curl -sf --retry 60 --retry-delay 1 --retry-all-errors localhost:8081/readyz\n"
    ),
}

AFTER = f"""
set +e
kill $(jobs -p)
wait
rescheduler cleanup --all
helm uninstall rescheduler --namespace kube-system
kubectl delete namespace shop quick-test --ignore-not-found
kubectl delete -f manifests/rescheduler/scheduler.yaml --ignore-not-found
kubectl delete -k . --ignore-not-found
kubectl delete -k manifests/rescheduler --ignore-not-found
kubectl uncordon worker-1 worker-2 worker-3 worker-4
kubectl label node worker-1 {MAINTENANCE}-
"""

PAGES = sorted(
    {
        each.page
        for each in everywhere()
        # Translations have the same commands, as tests/unit/test_documented_commands.py sees.
        if each.needs_cluster and not is_excepted(each) and TRANSLATED not in each.page
    }
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Instance]:
    """Of its own: what is installed acts on all of it."""
    with OwnedInstance() as owned:
        asyncio.run(_add_nodes(owned.instance))
        yield owned.instance


async def _add_nodes(instance: Instance) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        for name in NODES:
            await api.create(node(name))


class Shell:
    """A home with a kubeconfig, and a clone of the repository."""

    def __init__(self, folder: Path, instance: Instance, kubectl: Path) -> None:
        self._folder = a_clone(folder)
        (folder / ".kube").mkdir()
        (folder / ".kube/config").write_text(instance.admin_kubeconfig.read_text())
        self._ports = {"8081": free_port(), "6060": free_port()}
        self._environment = {
            "PATH": f"{kubectl.parent} {build.programs('helm')}",
            "KUBE_EDITOR": "true",
            "RESCHEDULER_SERVING_PORT": str(self._ports["8081"]),
            "RESCHEDULER_SERVING_DEBUG_PORT": str(self._ports["6060"]),
        }

    def run(self, script: str) -> tuple[int, str]:
        for ours, its in self._ports.items():
            script = script.replace(f"localhost:{ours}", f"localhost:{its}")
        ended = run(script, self._folder, self._environment, SECONDS)
        return ended.returncode, ended.stdout + ended.stderr


@pytest.fixture
def shell(cluster: Instance, kubectl: Path, tmp_path: Path) -> Iterator[Shell]:
    shell = Shell(tmp_path, cluster, kubectl)
    yield shell
    shell.run(AFTER)


@pytest.mark.parametrize("page", PAGES)
def test_all_of_a_page(page: str, shell: Shell) -> None:
    code, printed = shell.run(script_of(page))
    assert code == 0, printed[-3000:]
    assert "@@ the end" in printed


def script_of(page: str) -> str:
    lines = []
    section = None
    for command in commands(page):
        if is_excepted(command) or command.text.startswith(("make ", "source ")):
            continue
        if command.section != section:
            section = command.section
            lines.append(BEFORE.get((page, section), ""))
        lines += [
            BEFORE_COMMAND.get(command.text, ""),
            f"echo '@@ {_line(command)}'",
            _as_run(command),
        ]
    return "\n".join([*lines, "echo '@@ the end'", "kill $(jobs -p) || true"])


def _line(command: Command) -> str:
    return command.text.partition("\n")[0].replace("'", "")


def _as_run(command: Command) -> str:
    text = command.text
    for placeholder, real in PLACEHOLDERS.items():
        text = text.replace(placeholder, real)
    if seconds := STOPPED.get(command.text):
        text = f"timeout --foreground --preserve-status -s TERM {seconds} {text}"
    return text
