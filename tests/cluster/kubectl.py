"""kubectl as an administrator runs it, and what it installs."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from testbed import build
from testbed.api import Object
from testbed.instance import Instance, OwnedInstance

MANIFESTS = Path(__file__).parents[2] / "manifests"
EVERYTHING = MANIFESTS / "rescheduler"
WITHOUT_POLICY = MANIFESTS / "overlays" / "without-admission-policy"
WITHOUT_DEPLOYMENT = MANIFESTS / "overlays" / "without-deployment"
COMPONENTS = MANIFESTS / "components"
READ_ONLY = MANIFESTS / "overlays" / "read-only"
CRD = "customresourcedefinition.apiextensions.k8s.io/podmigrations.rescheduler.io"
PLAN_CRD = "customresourcedefinition.apiextensions.k8s.io/rescheduleplans.rescheduler.io"
POLICY = {
    f"{kind}.admissionregistration.k8s.io/rescheduler-{name}"
    for kind in ("mutatingadmissionpolicy", "mutatingadmissionpolicybinding")
    for name in ("steering", "leaving")
}
BUDGET = "poddisruptionbudget.policy/rescheduler-scheduler"
DEPLOYED = {
    "configmap/rescheduler-config",
    "deployment.apps/rescheduler-scheduler",
    "priorityclass.scheduling.k8s.io/rescheduler-scheduler",
}
LOOKING = {
    CRD,
    PLAN_CRD,
    "serviceaccount/rescheduler-scheduler",
    *(
        f"{kind}.rbac.authorization.k8s.io/rescheduler-scheduler-plans"
        for kind in ("role", "rolebinding")
    ),
    *(
        f"{kind}.rbac.authorization.k8s.io/rescheduler-scheduler"
        for kind in ("clusterrole", "clusterrolebinding")
    ),
}
MOVING = {
    *(
        f"{kind}.rbac.authorization.k8s.io/rescheduler-scheduler-moving"
        for kind in ("clusterrole", "clusterrolebinding")
    ),
    *(
        f"{kind}.rbac.authorization.k8s.io/rescheduler-scheduler"
        for kind in ("role", "rolebinding")
    ),
}

BROUGHT = {
    "extender": {
        "service/rescheduler-extender",
        "secret/rescheduler-extender-tls",
        "role.rbac.authorization.k8s.io/rescheduler-extender",
        "rolebinding.rbac.authorization.k8s.io/rescheduler-extender",
    },
    "dashboard": {
        "service/rescheduler-dashboard",
        "secret/rescheduler-dashboard-tls",
        "role.rbac.authorization.k8s.io/rescheduler-dashboard",
        "rolebinding.rbac.authorization.k8s.io/rescheduler-dashboard",
    },
    "guard": {
        "secret/rescheduler-guard-tls",
        "service/rescheduler-guard",
        "validatingwebhookconfiguration.admissionregistration.k8s.io/rescheduler-guard",
        *(
            f"{kind}.rbac.authorization.k8s.io/rescheduler-guard"
            for kind in ("role", "rolebinding", "clusterrole", "clusterrolebinding")
        ),
    },
    "network-policy": {"networkpolicy.networking.k8s.io/rescheduler-scheduler"},
    "monitoring": {
        "service/rescheduler-metrics",
        "servicemonitor.monitoring.coreos.com/rescheduler-scheduler",
        "prometheusrule.monitoring.coreos.com/rescheduler-scheduler",
    },
}
"""By component."""

WAIT_SECONDS = 60.0


class Kubectl:
    """kubectl as an administrator runs it."""

    def __init__(self, program: Path, instance: Instance, folder: Path) -> None:
        self._start = (str(program), "--kubeconfig", str(instance.admin_kubeconfig))
        self._environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}

    async def __call__(self, *arguments: str, sent: Object | None = None) -> str:
        done = await self.run(*arguments, sent=sent)
        assert done.returncode == 0, done.stderr
        return done.stdout

    async def run(
        self, *arguments: str, sent: Object | None = None
    ) -> subprocess.CompletedProcess[str]:
        return await asyncio.to_thread(
            subprocess.run,
            [*self._start, *arguments],
            input=json.dumps(sent) if sent else "",
            capture_output=True,
            text=True,
            check=False,
            env=self._environment,
            timeout=WAIT_SECONDS,
        )

    async def inventory(self) -> set[str]:
        """All there is in the cluster, but for what comes and goes by itself."""
        kinds = (await self("api-resources", "--verbs=list", "-o", "name")).split()
        passing = ("events", "leases", "ipaddresses")
        lasting = [kind for kind in kinds if not kind.startswith(passing)]
        return set((await self("get", ",".join(lasting), "-A", "-o", "name")).split())


async def until(kube: Kubectl, expected: set[str]) -> None:
    """The API server registers and forgets a custom resource a moment later."""
    found: set[str] = set()
    try:
        async with asyncio.timeout(WAIT_SECONDS):
            while found != expected:
                # Between asking which kinds there are and for all of them, one may go.
                with contextlib.suppress(AssertionError):
                    found = await kube.inventory()
    except TimeoutError:
        raise AssertionError(f"too much or missing: {found ^ expected}") from None


def composed(folder: Path, *components: str) -> str:
    """A kustomization as users write theirs."""
    folder.mkdir()
    document: dict[str, Any] = {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": [os.path.relpath(EVERYTHING, folder)],
        "components": [os.path.relpath(COMPONENTS / each, folder) for each in components],
    }
    (folder / "kustomization.yaml").write_text(yaml.safe_dump(document))
    return str(folder)


@pytest.fixture(scope="module")
def with_operator(kubectl: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Instance]:
    """Has the custom resources of the Prometheus Operator, as it ships them."""
    with OwnedInstance(bare=True) as owned:
        kube = Kubectl(kubectl, owned.instance, tmp_path_factory.mktemp("home"))
        definitions = str(build.programs("prometheus-operator"))
        asyncio.run(_install_operator(kube, definitions))
        yield owned.instance


async def _install_operator(kube: Kubectl, definitions: str) -> None:
    await kube("create", "-f", definitions)
    await kube("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
