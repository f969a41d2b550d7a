"""`rescheduler retry`: a migration that failed, once more."""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from rescheduler.cli import given_names
from rescheduler.cli.clusters import Reach
from rescheduler.cli.output import say
from rescheduler.documents.places import quoted
from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import KubeApi

EXAMPLES: Final = """Examples:
  # See which have failed, and why
  rescheduler get migrations -A -o wide

  # Try one of them again
  rescheduler retry web-5d4f8c-x7k2p-1a2b3c4d5e-3 -n shop"""

_KIND: Final = "podmigration.rescheduler.io"


class CannotRetry(ReschedulerError):
    """The message says why, and what to do instead."""


def retry(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the PodMigration.")],
    *,
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NAME",
            help="Default: whichever namespace has one of this name.",
        ),
    ] = "",
    reach: Reach,
) -> None:
    """Ask for a migration that failed once more, also beyond migration.retry.attempts.

    It becomes a PodMigration of its own, which the rescheduler that leads carries
    out; the failed one stays as it is.

    Exit status: 0 when it was asked for, 1 when it cannot be, 2 for wrong usage.
    """
    given_names.insist_on_records([name], namespace)
    _, connect = reach.cluster()
    asyncio.run(ask_again(connect, namespace, name))


async def ask_again(connect: "Connect", namespace: str, name: str) -> None:
    """Raises CannotRetry."""
    async with connect() as kube:
        record = await _find(kube, namespace, name)
        await _insist_that_it_can(kube, record)
        created = await _create(kube, record)
    say(f"{_KIND}/{created} created\n")


async def _find(kube: "KubeApi", namespace: str, name: str) -> dict[str, Any]:
    from rescheduler.cli.records import NotInstalled
    from rescheduler.kube import errors
    from rescheduler.wire import POD_MIGRATIONS

    try:
        known = await kube.list(POD_MIGRATIONS, namespace=namespace or None)
    except errors.NotFound as problem:
        raise NotInstalled(
            "the cluster does not know PodMigrations: install them with "
            f"`kubectl apply -k manifests/rescheduler` ({problem})"
        ) from None
    # Their names hold a hash of the pod's UID: there are no two of a name.
    found = [each for each in known if each["metadata"]["name"] == name]
    if not found:
        near = nearest(name, [each["metadata"]["name"] for each in known])
        where = f" in namespace {quoted(namespace)}" if namespace else ""
        meant = f"; did you mean {quoted(near)}?" if near else ""
        raise CannotRetry(f"podmigrations.rescheduler.io {quoted(name)} not found{where}{meant}")
    return found[0]


async def _insist_that_it_can(kube: "KubeApi", record: dict[str, Any]) -> None:
    from rescheduler.kube import errors
    from rescheduler.model import podmigration
    from rescheduler.model.podmigration import Phase
    from rescheduler.wire import PODS

    metadata, pod = record["metadata"], podmigration.pod_name(record)
    phase = podmigration.phase_of(record)
    if phase is not Phase.FAILED:
        done = "it has done what was asked for" if phase is Phase.COMPLETED else "wait for its end"
        raise CannotRetry(f"podmigration {quoted(metadata['name'])} is {phase}, not Failed: {done}")
    full_name = f"{metadata['namespace']}/{pod}"
    try:
        found = await kube.get(PODS, metadata["namespace"], pod)
    except errors.NotFound:
        raise CannotRetry(f"pod {full_name} is gone: there is nothing left to move") from None
    if found["metadata"]["uid"] != (uid := podmigration.pod_uid(record)):
        raise CannotRetry(
            f"pod {full_name} is gone: there is another one of its name (UID "
            f"{found['metadata']['uid']}, not {uid}), which is left to the next plan"
        )


async def _create(kube: "KubeApi", record: dict[str, Any]) -> str:
    from rescheduler.kube import errors
    from rescheduler.migrate.deciding import records
    from rescheduler.model import podmigration
    from rescheduler.wire import POD_MIGRATIONS

    body = records.again(record)
    name, namespace = str(body["metadata"]["name"]), body["metadata"]["namespace"]
    try:
        await kube.create(POD_MIGRATIONS, namespace, body)
    except errors.AlreadyExists:
        later = await kube.get(POD_MIGRATIONS, namespace, name)
        phase = podmigration.phase_of(later)
        raise CannotRetry(
            f"it was tried again already: podmigration {quoted(name)} is {phase}"
            + (f"; to go on from there: rescheduler retry {name}" if phase.is_over else "")
        ) from None
    return name
