"""What a machine shows of real nodes: everything that they might leave behind, or change."""

import os
import re
import secrets
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from testbed.marks import has_mark
from testbed.realnodes import cgroups
from testbed.realnodes.nodes import RealNodes
from testbed.realnodes.supervisor import FOLDER_PREFIX

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
OURS = "RESCHEDULER_TESTBED_RUN"
"""In the environment of all that is started by a run: by it its processes are known."""
_NAMESPACES = ("cgroup", "ipc", "mnt", "net", "pid", "uts")
_UNKNOWN = ""
"""The namespace of a process that has ended, or of which it is not told. Not one that two share."""


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


class Run:
    """A whole run, from here on: what is another when it is over, and who still runs of it.

    Others may work on the same machine. So of processes, namespaces, cgroups and folders only those
    are compared that this run has made.
    """

    def __init__(self) -> None:
        self._mark = secrets.token_hex(8)
        os.environ[OURS] = self._mark
        self._before = of_the_machine()
        self._stale = _left_behind()
        self._namespaces: set[str] = set()

    def note(self, nodes: RealNodes) -> None:
        """While they run: the namespaces that have to go with them, those of their pods too."""
        own = namespaces_of(nodes.pids.values())
        self._namespaces |= own | namespaces_of(map(int, inhabitants(own)))

    def changes(self) -> dict[str, list[str]]:
        """What should not be there, or is missing, by its kind. To be asked when all has ended."""
        now = of_the_machine()
        found = {kind: _difference(self._before[kind], now[kind]) for kind in now}
        found["processes"] = _processes_with(f"{OURS}={self._mark}")
        found["namespaces"] = [f"process {pid}" for pid in inhabitants(self._namespaces)]
        found["cgroups and folders"] = sorted(_left_behind() - self._stale)
        return {kind: lines for kind, lines in found.items() if lines}


def _difference(before: list[str], now: list[str]) -> list[str]:
    return [
        *(f"new: {line}" for line in now if line not in before),
        *(f"gone: {line}" for line in before if line not in now),
    ]


def _processes_with(variable: str) -> list[str]:
    """But for this one, and what has just been started to look around."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            is_one = variable.encode() in (path / "environ").read_bytes().split(b"\0")
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended
        if is_one and int(path.name) != os.getpid():
            found.append(f"{path.name}: {command}")
    return found


def _left_behind() -> set[str]:
    """Cgroups and folders of supervisors that have ended."""
    folders = [*cgroups.controllers().values(), Path(tempfile.gettempdir())]
    places = [place for each in folders for place in each.glob(f"{cgroups.PREFIX}*")]
    return {str(place) for place in places if not _is_in_use(place)}


def _is_in_use(place: Path) -> bool:
    pid = place.name.removeprefix(FOLDER_PREFIX).split("-")[0]
    return pid.isdigit() and has_mark(int(pid), cgroups.MARK)


def namespaces_of(pids: Iterable[int]) -> set[str]:
    """Those that these processes do not share with us."""
    found = {_namespace(str(pid), kind) for pid in pids for kind in _NAMESPACES}
    return found - {_namespace("self", kind) for kind in _NAMESPACES} - {_UNKNOWN}


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
        return _UNKNOWN


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
