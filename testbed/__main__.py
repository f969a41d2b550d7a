"""python -m testbed build | up --nodes N | down | demo."""

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

from testbed import build, builders
from testbed.api import Api
from testbed.audit import is_usable
from testbed.instance import Instance, InstanceError, read_answer, start_supervisor, wait_until_gone

# One per user: what `up` started and `down` stops.
STATE = Path(tempfile.gettempdir()) / f"kube-rescheduler-cluster-{os.getuid()}.json"
READY_SECONDS = 60


def up(nodes: int) -> None:
    if running := _running():
        sys.exit(
            f"a cluster is running: export KUBECONFIG={running.admin_kubeconfig}\n"
            "stop it first: make cluster-down"
        )
    process = start_supervisor(build.programs(), owner=None)
    instance = read_answer(process)
    STATE.write_text(instance.to_json())
    asyncio.run(_add_nodes(instance, nodes))
    kubectl = build.programs() / "kubectl"
    version = build.read_pins().kubernetes
    print(f"Kubernetes {version} with {nodes} nodes is up. Use it with", file=sys.stderr)
    print(f"export KUBECONFIG={instance.admin_kubeconfig}")
    print(f"kubectl of the same version: {kubectl}\nstop it: make cluster-down", file=sys.stderr)


def down() -> None:
    instance = _running()
    if instance is None:
        print("no cluster is running", file=sys.stderr)
    else:
        # It may have been killed: then its programs died with it, and only its folder is left.
        with contextlib.suppress(ProcessLookupError):
            os.kill(instance.supervisor, signal.SIGTERM)
        if not wait_until_gone(instance.supervisor, timeout=30):
            sys.exit(f"process {instance.supervisor} does not end")
        shutil.rmtree(instance.folder, ignore_errors=True)
        print("the cluster is gone", file=sys.stderr)
    STATE.unlink(missing_ok=True)


def _running() -> Instance | None:
    try:
        instance = Instance.from_json(STATE.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return instance if instance.folder.is_dir() else None


async def _add_nodes(instance: Instance, count: int) -> None:
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        names = [f"node-{number}" for number in range(count)]
        await asyncio.gather(*(api.create(builders.node(name)) for name in names))
        async with asyncio.timeout(READY_SECONDS):
            while not all(is_usable(node) for node in await api.list("Node")):  # noqa: ASYNC110
                await asyncio.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m testbed", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="build the control plane, if its pins changed")
    start = commands.add_parser("up", help="start a control plane that stays")
    start.add_argument("--nodes", type=int, default=50)
    commands.add_parser("down", help="stop it")
    commands.add_parser("demo", help="watch one pod move")
    arguments = parser.parse_args()
    try:
        if arguments.command == "build":
            build.programs()
        elif arguments.command == "up":
            up(arguments.nodes)
        elif arguments.command == "down":
            down()
        else:
            from testbed import demo

            sys.exit(asyncio.run(demo.run()))
    except (build.BuildError, InstanceError) as problem:
        sys.exit(f"error: {problem}")


if __name__ == "__main__":
    main()
