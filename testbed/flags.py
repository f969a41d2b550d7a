"""How each program of a control plane is started: its flags, and the files that they name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from testbed import build, neighbours
from testbed.credentials import FRONT_PROXY, write_secret

HERE = Path(__file__).parent

Options = Mapping[str, Any]

_MANY_REQUESTS = ["--kube-api-qps=500", "--kube-api-burst=1000"]

# Where they are not on by themselves.
_POLICIES_OF_TESTS = (
    [f"--runtime-config={build.POLICIES}=true", "--feature-gates=MutatingAdmissionPolicy=true"]
    if build.POLICIES.endswith("beta1")
    else []
)

# Those of the user "testbed", with the password "testbed", as Prometheus wants them: by bcrypt.
BASIC_AUTH_USER = BASIC_AUTH_PASSWORD = "testbed"  # noqa: S105 - on loopback, while a test runs
_BASIC_AUTH_HASH = "$2a$04$ZOSCPXKPOXEJ22iOzRL5AelVG1CSbP3T2kaQsnkjP53Xre2x/dbqO"

SCRAPE_SECONDS = 2
"""How often Prometheus asks the simulated kubelets. metrics-server asks as often as it can."""

METRICS_API = "/apis/metrics.k8s.io/v1beta1"

SERVICES = "10.0.0.0/16"
"""The addresses of Services."""


def metrics_objects(port: int) -> dict[str, Any]:
    """What makes metrics-server's API a part of the API server: path -> object."""
    name, namespace = "metrics-server", "kube-system"
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"type": "ExternalName", "externalName": "localhost"},
    }
    registration = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": name, "namespace": namespace, "port": port},
        },
    }
    return {
        f"/api/v1/namespaces/{namespace}/services/{name}": service,
        "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io": registration,
    }


def flags(program: str, folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    return _FLAGS[program](folder, ports, options)


def _etcd(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    url = f"http://127.0.0.1:{ports['etcd']}"
    peer = f"http://127.0.0.1:{ports['etcd-peer']}"
    # A big cluster is written into etcd in large pieces; everywhere else its own limits hold.
    large = [
        "--quota-backend-bytes=17179869184",
        "--max-request-bytes=67108864",
        "--max-txn-ops=10000",
        # Else it keeps the last thousands of these pieces in memory.
        "--snapshot-count=1000",
        "--snapshot-catchup-entries=10",
    ]
    return [
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=error",
        *(large if options.get("bare") else []),
    ]


def _api_server(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    return [
        f"--etcd-servers=http://127.0.0.1:{ports['etcd']}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports['kube-apiserver']}",
        f"--tls-cert-file={folder / 'serving.crt'}",
        f"--tls-private-key-file={folder / 'serving.key'}",
        f"--client-ca-file={folder / 'ca.crt'}",
        f"--cert-dir={folder / 'certs'}",
        "--service-account-issuer=https://testbed.rescheduler.io",
        f"--service-account-key-file={folder / 'service-accounts.key'}",
        f"--service-account-signing-key-file={folder / 'service-accounts.key'}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        f"--service-cluster-ip-range={SERVICES}",
        "--allow-privileged=true",
        f"--audit-policy-file={HERE / 'audit-policy.yaml'}",
        f"--audit-log-path={folder / 'audit.log'}",
        # Megabytes; a rotated log would hide the first requests from the auditor.
        "--audit-log-maxsize=100000",
        # For aggregated APIs, such as metrics-server's.
        f"--requestheader-client-ca-file={folder / 'front-proxy-ca.crt'}",
        f"--requestheader-allowed-names={FRONT_PROXY}",
        "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        f"--proxy-client-cert-file={folder / 'front-proxy.crt'}",
        f"--proxy-client-key-file={folder / 'front-proxy.key'}",
        *_POLICIES_OF_TESTS,
    ]


def _controller_manager(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    return [
        f"--kubeconfig={folder / 'controller-manager.kubeconfig'}",
        f"--secure-port={ports['kube-controller-manager']}",
        f"--cert-dir={folder / 'certs'}",
        f"--service-account-private-key-file={folder / 'service-accounts.key'}",
        f"--root-ca-file={folder / 'ca.crt'}",
        "--use-service-account-credentials",
        "--leader-elect=false",
        "--node-monitor-period=1s",
        # Tests share it: the lost nodes of one must not keep those of another from being
        # tainted. (It still taints none with NoExecute while no node at all is Ready.)
        "--node-eviction-rate=100",
        "--unhealthy-zone-threshold=1",
        *_MANY_REQUESTS,
    ]


def _scheduler(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    # With a file, it takes its login from there, and ignores what flags say of it.
    login = f"--kubeconfig={folder / 'scheduler.kubeconfig'}"
    return [
        f"--config={options['config']}" if options.get("config") else login,
        f"--secure-port={ports['kube-scheduler']}",
        f"--cert-dir={folder / 'certs'}",
        "--leader-elect=false",
        *_MANY_REQUESTS,
    ]


def _kwok(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    return [
        f"--kubeconfig={folder / 'kubelets.kubeconfig'}",
        f"--config={HERE / 'stages.yaml'}",
        f"--config={HERE / 'usage.yaml'}",
        "--manage-all-nodes=false",
        "--manage-nodes-with-label-selector=testbed.rescheduler.io/kubelet=alive",
        "--node-ip=127.0.0.1",
        f"--node-port={ports['kwok']}",
        f"--server-address=127.0.0.1:{ports['kwok']}",
        "--node-lease-duration-seconds=40",
    ]


def _metrics_server(folder: Path, ports: Mapping[str, int], _: Options) -> list[str]:
    login = folder / "metrics-server.kubeconfig"
    return [
        f"--kubeconfig={login}",
        f"--authentication-kubeconfig={login}",
        f"--authorization-kubeconfig={login}",
        "--bind-address=127.0.0.1",
        f"--secure-port={ports['metrics-server']}",
        f"--cert-dir={folder / 'metrics-server'}",
        "--kubelet-insecure-tls",
        "--kubelet-use-node-status-port",
        "--kubelet-preferred-address-types=InternalIP",
        # It refuses less than 10 s between two rounds, and a request must end before the next one.
        "--kubelet-request-timeout=4s",
        "--metric-resolution=10s",
    ]


def _prometheus(folder: Path, ports: Mapping[str, int], options: Options) -> list[str]:
    own = folder / "prometheus"
    own.mkdir(exist_ok=True)
    config = {
        "global": {
            "scrape_interval": f"{SCRAPE_SECONDS}s",
            "scrape_timeout": f"{SCRAPE_SECONDS}s",
        },
        "scrape_configs": [_kubelet_job(folder)],
    }
    write_secret(own / "prometheus.yaml", yaml.safe_dump(config, sort_keys=False).encode())
    web: dict[str, Any] = {}
    if options.get("tls"):
        names = {"cert_file": "serving.crt", "key_file": "serving.key"}
        web["tls_server_config"] = {key: str(folder / name) for key, name in names.items()}
    if options.get("basic_auth"):
        web["basic_auth_users"] = {BASIC_AUTH_USER: _BASIC_AUTH_HASH}
    write_secret(own / "web.yaml", yaml.safe_dump(web).encode())
    return [
        f"--config.file={own / 'prometheus.yaml'}",
        f"--web.config.file={own / 'web.yaml'}",
        f"--web.listen-address=127.0.0.1:{ports['prometheus']}",
        f"--storage.tsdb.path={own / 'data'}",
        "--log.level=warn",
    ]


def _kubelet_job(folder: Path) -> dict[str, Any]:
    """The job "kubelet" as clusters usually have it, for the kubelets' /metrics/resource."""
    annotation = "__meta_kubernetes_node_annotation_metrics_k8s_io_resource_metrics_path"
    return {
        "job_name": "kubelet",
        "honor_labels": True,
        "scheme": "https",
        "tls_config": {"insecure_skip_verify": True},
        "kubernetes_sd_configs": [
            {"role": "node", "kubeconfig_file": str(folder / "prometheus.kubeconfig")}
        ],
        "relabel_configs": [
            {"source_labels": ["__meta_kubernetes_node_name"], "target_label": "node"},
            # All simulated kubelets have one address, and a path each.
            {"source_labels": [annotation], "target_label": "__metrics_path__"},
            {"target_label": "metrics_path", "replacement": "/metrics/resource"},
        ],
    }


_FLAGS = {
    "etcd": _etcd,
    "kube-apiserver": _api_server,
    "kube-controller-manager": _controller_manager,
    "kube-scheduler": _scheduler,
    "kwok": _kwok,
    "metrics-server": _metrics_server,
    "prometheus": _prometheus,
    **neighbours.FLAGS,
}
