"""How the programs are started that other clusters run beside us, and what each needs to be there.

Each has a user of its own, so that the audit log tells who did what. What they may do is not at
stake here, so each may do everything.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
Options = Mapping[str, Any]

PINS: Mapping[str, str] = {
    "vpa-admission-controller": "vpa",
    "vpa-updater": "vpa",
    "rollouts-controller": "argo-rollouts",
    "descheduler": "descheduler",
    "karpenter": "karpenter",
}
"""Program -> the folder of pins/ that it is built from."""

PLAIN = ("vpa-updater", "rollouts-controller", "karpenter")
"""They speak HTTP without TLS."""

WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
REGISTERS_ITSELF: Mapping[str, str] = {"vpa-admission-controller": f"{WEBHOOKS}/vpa-webhook-config"}
"""Program -> what is there once it is asked, which it is not yet when its port is open."""

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def custom_resources(programs: Path) -> dict[str, Object]:
    """Those that lie beside the programs: path -> definition."""
    return {
        f"{_DEFINITIONS}/{each['metadata']['name']}": each
        for path in sorted(programs.glob("*.yaml"))
        for each in yaml.safe_load_all(path.read_text())
        if each and each["kind"] == "CustomResourceDefinition"
    }


def served_paths(definition: Object) -> Iterator[str]:
    """Where its objects can be read once the API server knows it."""
    spec = definition["spec"]
    for version in spec["versions"]:
        if version["served"]:
            yield f"/apis/{spec['group']}/{version['name']}/{spec['names']['plural']}"


def environment(program: str, folder: Path) -> dict[str, str]:
    # It has no flag for it.
    return {"KUBECONFIG": str(_login(folder, program))} if program == "karpenter" else {}


def _login(folder: Path, program: str) -> Path:
    return folder / f"{program}.kubeconfig"


def _vpa_admission_controller(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    port = ports["vpa-admission-controller"]
    return [
        f"--kubeconfig={_login(folder, 'vpa-admission-controller')}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--tls-cert-file={folder / 'serving.crt'}",
        f"--tls-private-key={folder / 'serving.key'}",
        f"--port={port}",
        # The API server is no part of the cluster's network here: it is given a URL, no Service.
        "--register-by-url",
        "--webhook-address=https://127.0.0.1",
        f"--webhook-port={port}",
        "--address=127.0.0.1:0",
    ]


def _vpa_updater(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    return [
        f"--kubeconfig={_login(folder, 'vpa-updater')}",
        f"--address=127.0.0.1:{ports['vpa-updater']}",
        f"--updater-interval={options['interval']}",
    ]


def _rollouts_controller(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    return [
        f"--kubeconfig={_login(folder, 'rollouts-controller')}",
        f"--healthzPort={ports['rollouts-controller']}",
        "--metricsPort=0",
        "--leader-elect=false",
    ]


def _descheduler(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    policy = folder / "descheduler-policy.yaml"
    policy.write_text(yaml.safe_dump(options["policy"]))
    return [
        f"--kubeconfig={_login(folder, 'descheduler')}",
        f"--policy-config-file={policy}",
        f"--descheduling-interval={options['interval']}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports['descheduler']}",
        f"--cert-dir={folder / 'certs'}",
    ]


def _karpenter(_: Path, ports: Mapping[str, int], __: Options) -> list[str]:
    return [
        f"--health-probe-port={ports['karpenter']}",
        "--metrics-port=0",
        "--disable-leader-election",
    ]


FLAGS = {
    "vpa-admission-controller": _vpa_admission_controller,
    "vpa-updater": _vpa_updater,
    "rollouts-controller": _rollouts_controller,
    "descheduler": _descheduler,
    "karpenter": _karpenter,
}
