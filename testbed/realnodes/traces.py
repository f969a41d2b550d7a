"""What a machine shows of real nodes: everything that they might leave behind, or change."""

import re
import subprocess
from collections.abc import Iterable
from pathlib import Path

from testbed.realnodes import cgroups

# Where kubelets, containerd, CNI and kube-proxy write if nobody tells them otherwise.
_PLACES = (
    "/etc/cni",
    "/opt/cni",
    "/run/containerd",
    "/run/netns",
    "/run/xtables.lock",
    "/usr/libexec/kubernetes",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
)
_SETTINGS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "net/ipv4/conf/all/route_localnet",
    "net/ipv4/ip_forward",
    "net/netfilter/nf_conntrack_max",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "uts")


def of_the_machine() -> dict[str, list[str]]:
    """What has to be the same before, during and after."""
    return {
        "mounts": _lines(Path("/proc/self/mountinfo").read_text()),
        "links": _names("ip", "-o", "link"),
        "addresses": _names("ip", "-o", "address"),
        "routes": _names("ip", "route", "show", "table", "all"),
        "rules": [*_rules("iptables-save"), *_rules("ip6tables-save")],
        "settings": [f"{name}={_setting(name)}" for name in _SETTINGS],
        "places": [place for place in _PLACES if Path(place).exists()],
    }


def namespaces_of(pids: Iterable[int]) -> set[str]:
    """Those that these processes do not share with us."""
    found = {_namespace(str(pid), kind) for pid in pids for kind in _NAMESPACES}
    return found - {_namespace("self", kind) for kind in _NAMESPACES}


def inhabitants(namespaces: set[str]) -> list[str]:
    """The processes of the machine that are in one of them."""
    return [
        path.name
        for path in Path("/proc").glob("[0-9]*")
        if any(_namespace(path.name, kind) in namespaces for kind in _NAMESPACES)
    ]


def cgroups_of(supervisor: int) -> list[Path]:
    places = [own / f"{cgroups.PREFIX}{supervisor}" for own in cgroups.controllers().values()]
    return [place for place in places if place.exists()]


def _namespace(pid: str, kind: str) -> str:
    try:
        return str(Path(f"/proc/{pid}/ns/{kind}").readlink())
    except OSError:
        return ""  # it has ended


def _setting(name: str) -> str:
    path = Path("/proc/sys") / name
    return path.read_text().strip() if path.exists() else ""


def _names(*command: str) -> list[str]:
    # Without what changes by itself: counters, and the state of a link.
    text = subprocess.check_output(command, text=True)
    return _lines(re.sub(r" (state|qlen|valid_lft|preferred_lft|expires) \S+", "", text))


def _rules(program: str) -> list[str]:
    text = subprocess.check_output([program], text=True)
    return [line for line in _lines(re.sub(r"\[\d+:\d+\]", "", text)) if not line.startswith("#")]


def _lines(text: str) -> list[str]:
    return sorted(text.splitlines())
