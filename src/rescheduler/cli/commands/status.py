"""`rescheduler status`: how it stands, on one screen, from what the cluster keeps."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import structlog
import typer

from rescheduler import config
from rescheduler.cli import records
from rescheduler.cli.clusters import Reach, log_what_is_seen
from rescheduler.cli.output import page, say
from rescheduler.cli.progress import Progress
from rescheduler.clock import Clock, SystemClock
from rescheduler.errors import ReschedulerError

if TYPE_CHECKING:
    from rescheduler.cli.render.status_deployment import Installed
    from rescheduler.controller.leader_session import Connect
    from rescheduler.kube import KubeApi
    from rescheduler.model.snapshot import Snapshot

EXAMPLES: Final = """Examples:
  # Who leads, what came of it, what is under way, what is stuck, and what to do about it
  rescheduler status

  # For machines, of another cluster
  rescheduler status --context staging -o json"""

_FAILED: Final = 1

Form = Annotated[Literal["table", "json"], typer.Option("--output", "-o", help="Output format.")]


def status(
    *,
    output: Form = "table",
    reach: Reach,
) -> None:
    """Show how the rescheduler stands: on one screen, with the next thing to do.

    Computed from what the cluster keeps (PodMigrations, the Lease, nodes and pods),
    so that a restart loses nothing, and it works while none is running: then it says
    what is wrong with the Deployment, if there is one. What cannot be seen, or is
    not installed, is named, with the way out.

    Exit status: 0, 1 when something of it cannot be seen, 2 for wrong usage.
    """
    configuration, connect = reach.cluster()
    raise typer.Exit(asyncio.run(looked(configuration, connect, SystemClock(), output)))


async def looked(
    configuration: config.Configuration, connect: "Connect", clock: Clock, form: str
) -> int:
    """The exit status. Raises ReschedulerError when nothing can be seen."""
    from rescheduler.cli.render import documents, snapshot_figures, status_figures
    from rescheduler.cli.render import status_tables as tables

    async with connect() as kube:
        missing: list[ReschedulerError] = []
        lease = await _lease(kube, configuration, missing)
        if missing and _is_of_all(missing[0]):
            raise missing[0]
        knows_lease = not missing
        known = await _records(kube, configuration, missing)
        plans = await _plans(kube, configuration)
        unread = next((each for each in missing if isinstance(each, records.NoRecords)), None)
        snapshot = await _snapshot(kube, clock, configuration, missing)
        leader = status_figures.leader_of(lease, clock.now())
        is_led = not knows_lease or (leader is not None and leader.is_alive)
        installed = None if is_led else await _installed(kube, configuration)
    if len(missing) == len((lease, known, snapshot)):
        raise ReschedulerError("\n".join(map(str, missing)))
    now = clock.now()
    seen = status_figures.Seen(
        records=known,
        lease=lease,
        knows_lease=knows_lease,
        installed=installed,
        maintenance=_maintenance(snapshot, configuration),
        pods=None if snapshot is None else frozenset(snapshot.pods.uids),
        missing=tuple(map(str, missing)),
        plans=plans,
    )
    found = status_figures.of(seen, configuration, now)
    if isinstance(unread, records.NotInstalled):
        found = replace(found, first=records.INSTALLING)
    found = replace(found, knows_records=unread is None)
    if snapshot is not None:
        figures = snapshot_figures.of(snapshot)
        points = {name: each.points for name, each in figures.imbalance.items()}
        found = replace(found, imbalance=points, nodes=len(figures.nodes), pods=figures.pods)
    if form == "json":
        say(documents.as_text(tables.as_document(found), "json"))
    else:
        say(tables.as_text(found, page(), now))
    return _FAILED if missing else 0


def _is_of_all(problem: ReschedulerError) -> bool:
    """Whatever is asked of this API server ends the same."""
    from rescheduler.kube import errors

    return isinstance(problem, errors.Unavailable | errors.Unauthorized | errors.Untrusted)


async def _lease(
    kube: "KubeApi", configuration: config.Configuration, missing: list[ReschedulerError]
) -> dict[str, Any] | None:
    from rescheduler.controller.pausing_by_hand import read

    try:
        found = await read(kube, configuration.leader_election)
    except ReschedulerError as problem:
        missing.append(problem)
        return None
    return None if found is None else dict(found)


async def _records(
    kube: "KubeApi", configuration: config.Configuration, missing: list[ReschedulerError]
) -> list[dict[str, Any]]:
    try:
        found = await records.read(kube, None)
    except ReschedulerError as problem:
        missing.append(problem)
        return []
    scope = configuration.scope
    return [each for each in found if scope.covers(each["metadata"]["namespace"])]


async def _plans(kube: "KubeApi", configuration: config.Configuration) -> list[dict[str, Any]]:
    """None where they cannot be read: all but their line can be told without."""
    from rescheduler.controller.plans import by_hand

    try:
        found = await by_hand.read(kube, configuration.leader_election.resource_namespace)
    except ReschedulerError as problem:
        structlog.get_logger().info("plans not read", because=str(problem))
        return []
    return [dict(each) for each in found]


async def _snapshot(
    kube: "KubeApi",
    clock: Clock,
    configuration: config.Configuration,
    missing: list[ReschedulerError],
) -> "Snapshot | None":
    from rescheduler.observe.files import take

    try:
        with Progress(["reading the cluster"]):
            snapshot = (await take(kube, clock, configuration.usage)).snapshot
    except ReschedulerError as problem:
        missing.append(problem)
        return None
    log_what_is_seen(snapshot)
    return snapshot


async def _installed(kube: "KubeApi", configuration: config.Configuration) -> "Installed | None":
    """Beside the Lease, as `manifests/rescheduler` has it. Who may not look is told of nobody's
    Deployment: all else can be told without.
    """
    from rescheduler.cli.render.status_deployment import Installed, selector_of
    from rescheduler.cli.render.status_stuck import DEPLOYMENT
    from rescheduler.kube import errors
    from rescheduler.wire import DEPLOYMENTS, PODS

    namespace = configuration.leader_election.resource_namespace
    try:
        # A list, as who may only look has no right to get it.
        there = await kube.list(DEPLOYMENTS, namespace=namespace)
    except errors.KubeError:
        return None
    deployment = next((each for each in there if each["metadata"]["name"] == DEPLOYMENT), None)
    if deployment is None:
        return None
    try:
        pods = await kube.list(PODS, namespace=namespace, labels=selector_of(deployment))
    except errors.KubeError:
        pods = []
    return Installed(deployment=deployment, pods=pods)


def _maintenance(
    snapshot: "Snapshot | None", configuration: config.Configuration
) -> Mapping[str, str]:
    """Of nodes that are in scope: those of others are for others to empty."""
    from rescheduler.model.names import MAINTENANCE_STATUS

    matches = configuration.scope.node_selector.matches
    nodes = snapshot.nodes if snapshot is not None else ()
    told = {
        each.name: each.annotations.get(MAINTENANCE_STATUS, "")
        for each in nodes
        if matches(each.labels)
    }
    return {name: words for name, words in told.items() if words}
