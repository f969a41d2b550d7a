"""Plans that people ask for: from a file, or to undo another.

Judged here, and left as an object that is approved already; whoever leads judges it anew, and
carries it out.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from rescheduler import plan as planning
from rescheduler.clock import Clock
from rescheduler.config import Configuration
from rescheduler.controller.passes import Observes
from rescheduler.controller.plans import by_hand, judging
from rescheduler.controller.plans.files import PlanFile
from rescheduler.documents import durations
from rescheduler.documents.places import quoted
from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ConfigurationError, Problem, ReschedulerError
from rescheduler.kube import KubeApi, errors
from rescheduler.model import podmigration, reschedule_plan
from rescheduler.model.moves import Move
from rescheduler.model.objects import Object
from rescheduler.model.reschedule_plan import Gains, Made, Origin, Phase, State
from rescheduler.model.snapshot import Snapshot
from rescheduler.observe import Observer, observing, sources
from rescheduler.observe.seeing import insist_on_nodes_and_pods
from rescheduler.plan.explaining import cluster_of, row_of
from rescheduler.wire import NAMESPACES, RESCHEDULE_PLANS

_AGAIN: Final = "make a new one: rescheduler plan -o yaml"
_CLOCKS_DIFFER_SECONDS: Final = 300.0
"""So much is no reason to refuse a plan."""


class Refused(ReschedulerError):
    """The message says every reason. Nothing was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What would be asked for."""

    moves: tuple[Move, ...]
    """Those that hold."""
    stay: tuple[tuple[str, str], ...]
    """Pods that do not move, with every reason."""
    body: Object | None
    """The plan that is to be written; None: nothing is left of it."""
    are_there: bool
    """Those that stay, if any, are where they are wanted."""


# ---------------------------------------------------------------------- from a file


async def from_file(  # noqa: PLR0913 - the flags of a command
    kube: KubeApi,
    clock: Clock,
    configuration: Configuration,
    given: PlanFile,
    *,
    source: str,
    by: str,
    all_or_nothing: bool,
) -> Judged:
    """Raises Refused, Unseen, and ConfigurationError for what is wrong with the file."""
    all_or_nothing = all_or_nothing or given.all_or_nothing
    _insist_on_its_age(given, configuration, clock.now(), source)
    async with _observing(kube, clock, configuration) as observer:
        snapshot = observer.snapshot()
        _insist_on_its_cluster(given, snapshot, source)
        _insist_on_what_is_there(given, snapshot, source)
        held = judging.why_not(observer, configuration, given.moves)
        moves = tuple(each for each in given.moves if each.uid not in held)
        gains = _gains(observer, configuration, moves, given.summary)
    stay = tuple((each.full_name, held[each.uid]) for each in given.moves if each.uid in held)
    if stay and all_or_nothing:
        told = [f"{name} stays: {why}" for name, why in stay]
        raise Refused("\n".join([f"{len(stay)} of {len(given.moves)} moves do not hold:", *told]))
    made = Made(
        origin=Origin.APPLY,
        mode=configuration.mode,
        at=clock.now(),
        approved_by=by,
        all_or_nothing=all_or_nothing,
    )
    body = _body(configuration, moves, gains, made)
    return Judged(moves=moves, stay=stay, body=body, are_there=not stay)


def _insist_on_its_age(
    given: PlanFile, configuration: Configuration, now: datetime, source: str
) -> None:
    limit, age = configuration.plans.expire_after_seconds, (now - given.taken_at).total_seconds()
    field = "spec.decidedAt" if given.is_object else "takenAt"
    if age < -_CLOCKS_DIFFER_SECONDS:
        words = (
            f"is {-age / 60:.0f} minutes from now: the clock of this machine, or of the one that "
            f"made it, is wrong, or it was written by hand; {_AGAIN}"
        )
        raise ConfigurationError([Problem(field, words)], source)
    if age < limit:
        return
    longest = durations.format_nanoseconds(round(limit) * durations.SECOND)
    words = f"is more than {longest} ago (plans.expireAfter): {_AGAIN}"
    raise ConfigurationError([Problem(field, words)], source)


def _insist_on_its_cluster(given: PlanFile, snapshot: Snapshot, source: str) -> None:
    here = cluster_of(snapshot)
    if given.cluster and here and given.cluster != here:
        words = f"is {quoted(given.cluster)}, and this cluster is {quoted(here)}: see --context"
        raise ConfigurationError([Problem("cluster", words)], source)
    known = frozenset(snapshot.pods.uids)
    if not any(move.uid in known for move in given.moves):
        words = (
            f"none of its pods is here: it is of another cluster (see --context), or old; {_AGAIN}"
        )
        raise ConfigurationError([Problem("moves", words)], source)


def _insist_on_what_is_there(given: PlanFile, snapshot: Snapshot, source: str) -> None:
    nodes = snapshot.node_numbers
    pods = dict(zip(snapshot.pods.uids, snapshot.pods.names, strict=True))
    problems = []
    for number, move in enumerate(given.moves):
        for field, node in (("from", move.source), ("to", move.target)):
            if node not in nodes:
                near = nearest(node, nodes)
                meant = f"; did you mean {quoted(near)}?" if near else ""
                words = f"there is no node {quoted(node)}{meant}"
                problems.append(Problem(given.place_of(number, field), words))
        if (name := pods.get(move.uid, move.full_name)) != move.full_name:
            words = f"its UID is that of {name}: name it so, or {_AGAIN}"
            problems.append(Problem(given.place_of(number, "pod"), words))
        elif move.uid not in pods and row_of(snapshot, move.full_name) is None:
            words = f"there is no pod {move.full_name} any more: take this move out, or {_AGAIN}"
            problems.append(Problem(given.place_of(number, "pod"), words))
    if problems:
        raise ConfigurationError(problems, source)


# ---------------------------------------------------------------------- back


async def to_undo(
    kube: KubeApi, clock: Clock, configuration: Configuration, name: str, *, by: str
) -> Judged:
    """Raises Refused, Unseen, and CannotDecide when there is no such plan."""
    plan, plans = await plan_to_undo(kube, configuration, name)
    async with _observing(kube, clock, configuration) as observer:
        return undone(observer, clock, configuration, plan, plans, by=by)


async def plan_to_undo(
    kube: KubeApi, configuration: Configuration, name: str
) -> tuple[Object, Sequence[Object]]:
    """And all plans that there are. Raises Refused, and CannotDecide when there is no such plan."""
    namespace = configuration.leader_election.resource_namespace
    plan = await by_hand.find(kube, namespace, name)
    _insist_that_it_ended(plan)
    plans = await by_hand.read(kube, namespace)
    for each in _undoing(plan, plans):
        if not reschedule_plan.is_over(each):
            other = reschedule_plan.name_of(each)
            raise Refused(
                f"plan {reschedule_plan.name_of(plan)} is being undone by {other}: wait for its end"
            )
    return plan, plans


def undone(
    observer: Observes,
    clock: Clock,
    configuration: Configuration,
    plan: Object,
    plans: Sequence[Object],
    *,
    by: str,
) -> Judged:
    """What would bring its pods back, as the cluster is now. Raises Refused: they are back."""
    name = reschedule_plan.name_of(plan)
    moves, staying, are_back = _back(plan, plans, observer.snapshot())
    earlier = [each for each in _undoing(plan, plans) if reschedule_plan.counts_of(each)[0]]
    if earlier and not moves and are_back:
        other = reschedule_plan.name_of(earlier[-1])
        raise Refused(
            f"plan {name} was undone already by {other}; to have it the other way again: "
            f"rescheduler undo {other}"
        )
    held = judging.why_not(observer, configuration, moves)
    kept = tuple(each for each in moves if each.uid not in held)
    gains = _gains(observer, configuration, kept, f"undoes {name}")
    stay = (*staying, *((each.full_name, held[each.uid]) for each in moves if each.uid in held))
    made = Made(
        origin=Origin.UNDO,
        mode=configuration.mode,
        at=clock.now(),
        approved_by=by,
        undoes=name,
    )
    body = _body(configuration, kept, gains, made)
    return Judged(moves=kept, stay=stay, body=body, are_there=are_back and not held)


def _insist_that_it_ended(plan: Object) -> None:
    name, phase = reschedule_plan.name_of(plan), reschedule_plan.phase_of(plan)
    if phase is Phase.RUNNING:
        raise Refused(f"plan {name} is Running: wait for its end, and undo it then")
    if not any(each.state is State.MOVED for each in reschedule_plan.progress_of(plan).values()):
        raise Refused(f"plan {name} is {phase}, and has moved nothing: there is nothing to undo")


def _undoing(plan: Object, plans: Sequence[Object]) -> list[Object]:
    name = reschedule_plan.name_of(plan)
    return [each for each in plans if reschedule_plan.undoes(each) == name]


def _back(
    plan: Object, plans: Sequence[Object], snapshot: Snapshot
) -> tuple[list[Move], list[tuple[str, str]], bool]:
    """Moves back, the last one first; who stays, before anybody judges; and whether all of those
    are back already.
    """
    progress, successors = reschedule_plan.progress_of(plan), _successors(plans, snapshot)
    rows = {uid: row for row, uid in enumerate(snapshot.pods.uids) if uid}
    moves: list[Move] = []
    stay: list[tuple[str, str]] = []
    are_back = True
    for move in reversed(reschedule_plan.moves_of(plan)):
        known = progress.get(move.uid)
        if known is None or known.state is not State.MOVED:
            continue
        successor = dict(known.successor or {})
        uid, name = successor.get("uid", ""), successor.get("name") or move.pod
        while uid in successors:
            uid, name = successors.pop(uid)  # it has moved on since
        full_name = f"{move.namespace}/{name}"
        if uid not in rows:
            stay.append((full_name, f"it took the place of {move.pod}, and is gone"))
            are_back = False
            continue
        node = snapshot.pod(rows[uid]).node
        if node == move.source:
            stay.append((full_name, f"it is on {node} already"))
            continue
        moves.append(
            replace(
                move,
                pod=name,
                uid=uid,
                source=node,
                target=move.source,
                strategy=podmigration.MANUAL,
                reason=f"back to where it came from: undoes {reschedule_plan.name_of(plan)}",
                asked=True,
                group="",
                wave=0,
                plan="",
            )
        )
    return moves, stay, are_back


def _successors(plans: Sequence[Object], snapshot: Snapshot) -> dict[str, tuple[str, str]]:
    """By the UID of a pod that was moved, by a plan or otherwise: UID and name of the next one."""
    found: dict[str, tuple[str, str]] = {}
    for record in snapshot.objects.get(podmigration.PLURAL, {}).values():
        new = podmigration.new_pod_of(record)
        if podmigration.is_over(record) and not podmigration.has_failed(record) and new:
            found[podmigration.pod_uid(record)] = new.get("uid") or "", new.get("name") or ""
    for plan in plans:
        for uid, each in reschedule_plan.progress_of(plan).items():
            if each.state is State.MOVED and each.successor:
                found[uid] = each.successor.get("uid", ""), each.successor.get("name", "")
    return found


# ---------------------------------------------------------------------- asking


async def ask(kube: KubeApi, clock: Clock, body: Object) -> Object:
    """The plan as it was written. Raises Refused."""
    namespace, name = body["metadata"]["namespace"], reschedule_plan.name_of(body)
    for pause in (0.2, 1.0, 3.0, None):
        try:
            return await kube.create(RESCHEDULE_PLANS, namespace, dict(body))
        except errors.AlreadyExists:
            # Ours, whose answer was lost: its name tells its moves and their time.
            return await kube.get(RESCHEDULE_PLANS, namespace, name)
        except errors.NotFound as problem:
            raise Refused(
                f"the cluster does not know ReschedulePlans ({problem}); install them: kubectl "
                "apply -k manifests/rescheduler"
            ) from None
        except errors.Forbidden as problem:
            raise Refused(
                f"it cannot be asked for ({problem}); ask whoever administers the cluster for the "
                "right to, and check: kubectl auth can-i create rescheduleplans.rescheduler.io "
                f"-n {namespace}"
            ) from None
        except (errors.Unavailable, errors.Throttled) as problem:
            if pause is None:
                raise
            await clock.sleep(problem.retry_after_seconds or pause)
    raise AssertionError("unreachable")


def _body(
    configuration: Configuration, moves: Sequence[Move], gains: Gains, made: Made
) -> Object | None:
    namespace = configuration.leader_election.resource_namespace
    return reschedule_plan.build(namespace, moves, gains, made) if moves else None


def _gains(
    observer: Observes, configuration: Configuration, moves: Sequence[Move], summary: str
) -> Gains:
    """What loads come to, so that it can be told later whether they did."""
    snapshot = observer.with_usage(observer.snapshot())
    decided = planning.foretold(snapshot, configuration, moves)
    gains = reschedule_plan.gains_of(decided, moves, configuration.thresholds)
    return replace(gains, summary=summary)


@asynccontextmanager
async def _observing(
    kube: KubeApi, clock: Clock, configuration: Configuration
) -> AsyncIterator[Observer]:
    usage = replace(configuration.usage, debounce=1)
    needed = {*planning.needs(configuration.enabled_strategies), NAMESPACES.plural}
    async with observing(kube, clock, needed & set(sources.BY_NAME), usage) as observer:
        await observer.settled()
        insist_on_nodes_and_pods(observer.snapshot())
        await observer.measure()
        yield observer
