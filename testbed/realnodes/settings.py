"""What the programs of a real node are told: files and flags."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

STATE = Path("/run/node")
"""In memory, within the namespaces of the node: it goes with them."""

STATIC_PODS = STATE / "static"
"""What is written there the kubelet runs, whatever the API server says."""
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
CNI_PROGRAMS = "/usr/lib/cni"
IMAGE = "testbed.rescheduler.io/server:1"
"""Every node has it: busybox, and our HTTP server as /server."""
NEXT_IMAGE = "testbed.rescheduler.io/server:2"
"""The same, for a rollout."""
CRASHING_IMAGE = "testbed.rescheduler.io/crashing:1"
SANDBOX_IMAGE = "testbed.rescheduler.io/pause:1"

GATEWAY = "10.89.0.254"


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node, as its first process is told of it."""

    name: str
    number: int
    folder: str
    """For its logs, which outlive it."""
    programs: str
    """The folder of kubelet and kube-proxy."""
    containerd: str
    """The folder of containerd and its shim."""
    images: str
    """An archive with the images that it has."""
    kubeconfig: str
    millicores: int = 0
    """So much of the machine's processors is for pods; 0: all."""

    @property
    def address(self) -> str:
        return f"10.89.0.{self.number}"

    @property
    def pods(self) -> str:
        return f"10.88.{self.number}.0/24"

    @property
    def reserved(self) -> int:
        """Millicores that are not for pods."""
        return 1000 * (os.cpu_count() or 1) - self.millicores if self.millicores else 0

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def write_files(node: Node) -> None:
    STATIC_PODS.mkdir(parents=True)
    for name, text in _files(node).items():
        path = STATE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def commands(node: Node) -> dict[str, list[str]]:
    kubelet, kube_proxy = (str(Path(node.programs) / name) for name in ("kubelet", "kube-proxy"))
    containerd = str(Path(node.containerd) / "containerd")
    return {
        "containerd": [containerd, f"--config={STATE / 'containerd.toml'}"],
        "kubelet": [
            kubelet,
            f"--config={STATE / 'kubelet.yaml'}",
            f"--kubeconfig={node.kubeconfig}",
            f"--hostname-override={node.name}",
            f"--node-ip={node.address}",
            f"--root-dir={STATE / 'kubelet'}",
            f"--cert-dir={STATE / 'certificates'}",
        ],
        "kube-proxy": [kube_proxy, f"--config={STATE / 'kube-proxy.yaml'}"],
    }


def importing(node: Node) -> list[str]:
    ctr = str(Path(node.containerd) / "ctr")
    login = ["--address", CONTAINERD_SOCKET, "--namespace", "k8s.io"]
    return [ctr, *login, "images", "import", node.images]


def _files(node: Node) -> dict[str, str]:
    return {
        "containerd.toml": _containerd(),
        "cni/pods.conflist": json.dumps(_cni(node)),
        "kubelet.yaml": json.dumps(_kubelet(node)),
        "kube-proxy.yaml": json.dumps(_kube_proxy(node)),
        "resolv.conf": "",
    }


def _containerd() -> str:
    runtime = "io.containerd.cri.v1.runtime"
    images = "io.containerd.cri.v1.images"
    # restrict_oom_score_adj: without CAP_SYS_RESOURCE, runc may not lower it, and dies.
    return f"""
version = 3
root = "{STATE}/containerd"
state = "/run/containerd"
[grpc]
address = "{CONTAINERD_SOCKET}"
[plugins."{images}".pinned_images]
sandbox = "{SANDBOX_IMAGE}"
[plugins."{runtime}"]
restrict_oom_score_adj = true
[plugins."{runtime}".cni]
bin_dirs = ["{CNI_PROGRAMS}"]
conf_dir = "{STATE}/cni"
[plugins."{runtime}".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."{runtime}".containerd.runtimes.runc.options]
SystemdCgroup = false
"""


def _cni(node: Node) -> dict[str, Any]:
    addresses = {
        "type": "host-local",
        "ranges": [[{"subnet": node.pods}]],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dataDir": str(STATE / "addresses"),
    }
    bridge = {
        "type": "bridge",
        "bridge": "pods",
        "isGateway": True,
        "hairpinMode": True,  # a pod may be sent to itself by its Service
        "ipam": addresses,
    }
    return {"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge]}


def _kubelet(node: Node) -> dict[str, Any]:
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        # Only this machine's root reaches it, in the network of the nodes.
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "enforceNodeAllocatable": [],
        "systemReserved": {"cpu": f"{node.reserved}m"},
        "staticPodPath": str(STATIC_PODS),
        "failSwapOn": False,
        "oomScoreAdj": 0,  # a lower one needs CAP_SYS_RESOURCE
        # All nodes share the disk and the memory of one machine, which may be nearly full.
        "localStorageCapacityIsolation": False,
        "evictionHard": {"memory.available": "1Mi"},
        "imageGCHighThresholdPercent": 100,
        "podLogsDir": str(STATE / "logs"),
        "volumePluginDir": str(STATE / "plugins"),
        "resolvConf": str(STATE / "resolv.conf"),
        "clusterDNS": ["10.0.0.10"],
        "clusterDomain": "cluster.local",
    }


def _kube_proxy(node: Node) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "clientConnection": {"kubeconfig": node.kubeconfig},
        "hostnameOverride": node.name,
        "mode": "iptables",
        "clusterCIDR": "10.88.0.0/16",
        # They are the machine's, and not ours to set.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }
