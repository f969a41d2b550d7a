"""What a machine must have for real nodes, and what Debian has of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from testbed import debian
from testbed.realnodes.cgroups import controllers
from testbed.realnodes.namespaces import NEW_CGROUPS, NEW_MOUNTS, NEW_NETWORK

PACKAGES = ("runc", "containernetworking-plugins", "busybox-static", "iptables", "iproute2")
_FILES = {
    "runc": ("/usr/sbin/runc", "/usr/bin/runc"),
    "containernetworking-plugins": ("/usr/lib/cni/bridge",),
    "busybox-static": ("/bin/busybox",),
    "iptables": ("/usr/sbin/iptables", "/sbin/iptables"),
    "iproute2": ("/usr/sbin/ip", "/sbin/ip", "/bin/ip"),
}
_FILESYSTEMS = Path("/proc/filesystems")
_CONTROLLERS = frozenset({"cpu", "cpuacct", "cpuset", "memory", "devices", "freezer", "pids"})

# In namespaces of its own, so that nothing of it stays.
_TRY = f"""
import ctypes, os, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare({NEW_NETWORK | NEW_MOUNTS | NEW_CGROUPS}):
    sys.exit("namespaces: " + os.strerror(ctypes.get_errno()))
nat = "iptables -w -t nat -A POSTROUTING"
for command in (
    "ip link add nodes type bridge",
    "ip link add left type veth peer name right",
    nat + " -m comment --comment x -m mark --mark 0x4000/0x4000 -j MASQUERADE --random-fully",
    nat + " -p tcp -m statistic --mode random --probability 0.5 -m addrtype --dst-type LOCAL",
    "iptables -w -A FORWARD -m conntrack --ctstate INVALID -j DROP",
    "iptables -w -A OUTPUT -j REJECT --reject-with icmp-net-unreachable",
):
    done = subprocess.run(command.split(), capture_output=True, text=True)
    if done.returncode:
        sys.exit(command + ": " + " ".join(done.stderr.split()))
"""


def what_stands_in_the_way() -> str:
    """One sentence, or nothing. What Debian's packages can help is not among it."""
    if sys.platform != "linux":
        return "real nodes need Linux"
    if os.geteuid() != 0:
        return "real nodes need root: kubelets and containerd make namespaces, mounts and cgroups"
    if lacking := sorted(
        _CONTROLLERS - {part for name in controllers() for part in name.split(",")}
    ):
        return (
            f"real nodes need cgroups of version 1 under /sys/fs/cgroup, "
            f"and this machine has no {', '.join(lacking)} there"
        )
    if "\toverlay\n" not in _FILESYSTEMS.read_text():
        return "real nodes need a kernel with overlayfs, and this one has none"
    if missing := missing_packages():
        if not shutil.which("apt-get"):
            return f"real nodes need what Debian calls {', '.join(missing)}"
        return ""
    done = subprocess.run([sys.executable, "-c", _TRY], check=False, capture_output=True, text=True)
    return f"real nodes: the kernel refuses {done.stderr.strip()}" if done.returncode else ""


def missing_packages() -> list[str]:
    return [name for name in PACKAGES if not any(Path(file).exists() for file in _FILES[name])]


def install_missing() -> str:
    """Debian's own, when some are missing. One sentence on what went wrong, or nothing."""
    if not (missing := missing_packages()):
        return ""
    return debian.install(missing) or what_stands_in_the_way()
