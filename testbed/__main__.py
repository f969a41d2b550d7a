"""python -m testbed build [NAME ...] | build-nodes | install-... | versions | up | down."""

import argparse
import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from testbed import browser, build, builders, debian, versions
from testbed.api import Api
from testbed.audit import is_usable
from testbed.instance import Instance, InstanceError, read_answer, start_supervisor, wait_until_gone
from testbed.marks import has_mark
from testbed.realnodes import cgroups, images, requirements
from testbed.realnodes.nodes import PINS, RealNodes
from testbed.realnodes.supervisor import NodesError
from testbed.supervisor import MARK

# One per user: what `up` started and `down` stops.
STATE = Path(tempfile.gettempdir()) / f"kube-rescheduler-cluster-{os.getuid()}.json"
READY_SECONDS = 60
_REAL_NODES = "real-nodes.pid"
"""In the folder of the instance: their supervisor."""
CANNOT = 3
"""The exit status that says: this machine cannot have real nodes."""


def up(nodes: int, real_nodes: int = 0) -> None:
    if (known := _remembered()) and has_mark(known.supervisor, MARK):
        sys.exit(
            f"a cluster is running: export KUBECONFIG={known.admin_kubeconfig}\n"
            "stop it first: make cluster-down"
        )
    STATE.unlink(missing_ok=True)  # of one that was killed; its folder goes with the next start
    programs = build.programs()
    instance = read_answer(start_supervisor(programs, owner=None))
    try:
        _remember(instance)
        if real_nodes:
            build_nodes()
            _add_real_nodes(instance, real_nodes)
        asyncio.run(_add_nodes(instance, nodes))
    except BaseException:
        _stop(instance)
        raise
    version = build.read_pins().version
    kinds = f"{nodes} nodes" + (f" and {real_nodes} real ones" if real_nodes else "")
    print(f"Kubernetes {version} with {kinds} is up. Use it with", file=sys.stderr)
    print(f"export KUBECONFIG={instance.admin_kubeconfig}")
    kubectl = programs / "kubectl"
    print(f"kubectl of the same version: {kubectl}\nstop it: make cluster-down", file=sys.stderr)


def down() -> None:
    if instance := _remembered():
        _stop(instance)
        print("the cluster is gone", file=sys.stderr)
    else:
        STATE.unlink(missing_ok=True)
        print("no cluster is running", file=sys.stderr)


def _stop(instance: Instance) -> None:
    real = _supervisor_of_real_nodes(instance)
    if has_mark(instance.supervisor, MARK):
        os.kill(instance.supervisor, signal.SIGTERM)
    # Its real nodes end with it, and clean up.
    if real and not wait_until_gone(real, cgroups.MARK):
        raise InstanceError(f"process {real} does not end")
    # Its programs end with it, even when it was killed: then only its folder is left.
    mine = {pid: str(instance.folder) for pid in instance.pids.values()}
    for pid, mark in {instance.supervisor: MARK, **mine}.items():
        if not wait_until_gone(pid, mark):
            raise InstanceError(f"process {pid} does not end")
    shutil.rmtree(instance.folder, ignore_errors=True)
    if _remembered() == instance:
        STATE.unlink()


def _remember(instance: Instance) -> None:
    # Nobody else may read it, for it holds the tokens.
    try:
        handle = os.open(STATE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InstanceError("another cluster was started at the same time") from None
    with os.fdopen(handle, "w") as file:
        file.write(instance.to_json())


def _remembered() -> Instance | None:
    try:
        with STATE.open() as file:
            # Others may write into the temporary folder, too.
            if os.fstat(file.fileno()).st_uid != os.getuid():
                raise InstanceError(f"{STATE} belongs to somebody else")
            return Instance.from_json(file.read())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def build_nodes() -> None:
    """Installs and builds what real nodes need, or ends with the reason why there can be none."""
    problem = requirements.what_stands_in_the_way() or requirements.install_missing()
    if problem:
        print(problem, file=sys.stderr)
        sys.exit(CANNOT)
    for name in PINS:
        build.programs(name)
    images.archive()


def _add_real_nodes(instance: Instance, count: int) -> None:
    """They belong to the control plane, not to this process."""
    nodes = RealNodes(instance, count, owner=instance.supervisor)
    (instance.folder / _REAL_NODES).write_text(str(nodes.start_and_leave()))


def _supervisor_of_real_nodes(instance: Instance) -> int | None:
    try:
        return int((instance.folder / _REAL_NODES).read_text())
    except FileNotFoundError:
        return None


async def _add_nodes(instance: Instance, count: int) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        names = [f"node-{number}" for number in range(count)]
        await asyncio.gather(*(api.create(builders.node(name)) for name in names))
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not all(is_usable(node) for node in await api.list("Node")):  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise InstanceError(f"the nodes are not Ready after {READY_SECONDS} s") from None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("build", help="build what the tests run on, if its pins changed")
    make.add_argument("names", nargs="*", default=build.FOR_TESTS, help="folders of pins/")
    commands.add_parser("build-nodes", help="install and build what real nodes need")
    commands.add_parser("install-prometheus", help="Debian's, with promtool, if there is none")
    commands.add_parser("install-browser", help="Debian's Chromium, if there is none")
    table = commands.add_parser("versions", help="what each Kubernetes version has")
    table.add_argument("--built", action="store_true", help="of those that are built already")
    start = commands.add_parser("up", help="start a control plane that stays")
    start.add_argument("--nodes", type=int, default=50)
    start.add_argument("--real-nodes", type=int, default=0, help="with kubelets and containers")
    commands.add_parser("down", help="stop it")
    arguments = parser.parse_args()
    try:
        if arguments.command == "build":
            for name in arguments.names:
                build.programs(name)
        elif arguments.command == "up":
            up(arguments.nodes, arguments.real_nodes)
        elif arguments.command == "versions":
            versions.show(only_built=arguments.built)
        elif arguments.command == "build-nodes":
            build_nodes()
        elif arguments.command == "install-prometheus":
            if problem := debian.install_prometheus():
                sys.exit(f"error: {problem}")
        elif arguments.command == "install-browser":
            browser.provide()
        else:
            down()
    except (build.BuildError, InstanceError, NodesError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
