"""What is worth an Event, on which objects, and in which words. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from rescheduler.guard import Eviction, Hold, Verdict
from rescheduler.model import podmigration, reschedule_plan
from rescheduler.model.moves import Emptying
from rescheduler.model.objects import Object
from rescheduler.model.pausing import Pause

NORMAL: Final = "Normal"
WARNING: Final = "Warning"

MOVED: Final = "Moved"
NOT_MOVED: Final = "NotMoved"
STAYS: Final = "StaysOnNode"
EMPTIED: Final = "NodeEmptied"
NOT_EMPTIED: Final = "NodeNotEmptied"
REFUSED: Final = "ConfigurationRefused"
PAUSED: Final = "Paused"
RESUMED: Final = "Resumed"
PREDICTIONS_FAIL: Final = "PredictionsFail"
EVICTION_HELD: Final = "EvictionHeld"
EVICTION_GRANTED: Final = "EvictionGranted"

_LONGEST: Final = 1000
"""The API server takes 1,024 bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Regarding:
    """An object that people look at."""

    api_version: str
    kind: str
    name: str
    uid: str
    namespace: str = ""
    """Empty: it is in none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    regarding: Regarding
    type: str
    reason: str
    message: str


class Outcome(Protocol):
    """How a migration ended."""

    @property
    def moved(self) -> bool: ...

    @property
    def reason(self) -> str: ...

    @property
    def message(self) -> str: ...


OwnerOf = Callable[[Regarding], Regarding]
"""Whom people know it by: the Deployment of a ReplicaSet, else itself."""
FindNode = Callable[[str], "Regarding | None"]
"""By name; None: nobody knows it."""


# ---------------------------------------------------------------------- a migration that is over


def of_end(
    record: Object, outcome: Outcome, owner_of: OwnerOf, node: FindNode
) -> Iterator[Happening]:
    """On the pod that there is now, on what keeps it, and on the node that it was to leave."""
    kind = NORMAL if outcome.moved else WARNING
    reason = MOVED if outcome.moved else NOT_MOVED
    message = _shortened(_moved(record) if outcome.moved else _not_moved(record, outcome))
    regarding = [_pod(record, moved=outcome.moved)]
    if (keeper := _keeper(record)) is not None:
        regarding.append(owner_of(keeper))
    if (source := node(podmigration.source_of(record))) is not None:
        regarding.append(source)
    for each in regarding:
        yield Happening(regarding=each, type=kind, reason=reason, message=message)


def _moved(record: Object) -> str:
    pod, new = podmigration.pod_name(record), podmigration.new_pod_of(record)
    node = new.get("node") or podmigration.target_of(record)
    became = "" if new.get("name") in (None, pod) else f", where it is {new['name']}"
    way = podmigration.way_of(record)
    return (
        f"moved {pod} from {podmigration.source_of(record)} to {node}{became}"
        f"{f' ({way})' if way else ''}{_why(record)}"
    )


def _not_moved(record: Object, outcome: Outcome) -> str:
    pod, source = podmigration.pod_name(record), podmigration.source_of(record)
    target = podmigration.target_of(record)
    return (
        f"{pod} was not moved from {source}{f' to {target}' if target else ''}: "
        f"{outcome.reason}: {outcome.message}{_why(record)}"
    )


def _why(record: Object) -> str:
    strategy, reason = podmigration.strategy_of(record), podmigration.why_of(record)
    asked = f"; {strategy}: {reason}" if strategy and reason else ""
    return f"{asked}; PodMigration {record['metadata']['name']}"


def _pod(record: Object, *, moved: bool) -> Regarding:
    new = podmigration.new_pod_of(record)
    is_new = moved and new.get("uid")
    return Regarding(
        api_version="v1",
        kind="Pod",
        namespace=record["metadata"]["namespace"],
        name=new["name"] if is_new else podmigration.pod_name(record),
        uid=new["uid"] if is_new else podmigration.pod_uid(record),
    )


def _keeper(record: Object) -> Regarding | None:
    owner = podmigration.owner_of(record)
    if not owner.get("uid"):
        return None
    return Regarding(
        api_version=owner.get("apiVersion") or "",
        kind=owner.get("kind") or "",
        namespace=record["metadata"]["namespace"],
        name=owner.get("name") or "",
        uid=owner["uid"],
    )


# ---------------------------------------------------------------------- a node in maintenance


def of_emptying(
    each: Emptying, words: str, node: Regarding, uids: Mapping[str, str]
) -> Iterator[Happening]:
    """On the node, when nobody is left who could leave it; and on every pod that stays unless
    somebody does something, if its UID is known by its full name. `words` are what stands on the
    node.
    """
    if not each.left:
        yield Happening(regarding=node, type=NORMAL, reason=EMPTIED, message=_shortened(words))
    elif each.left <= len(each.stay):
        yield Happening(regarding=node, type=WARNING, reason=NOT_EMPTIED, message=_shortened(words))
    for pod in each.stay:
        message = f"stays on {each.node}, which is to be emptied: {'; '.join(pod.reasons)}"
        if not pod.passing and (uid := uids.get(pod.full_name)):
            yield Happening(
                regarding=Regarding(
                    api_version="v1", kind="Pod", namespace=pod.namespace, name=pod.pod, uid=uid
                ),
                type=WARNING,
                reason=STAYS,
                message=_shortened(message),
            )


# ---------------------------------------------------------------------- the configuration


def of_refusal(ourselves: Regarding, message: str) -> Happening:
    words = f"the last good configuration stays in force: {message}"
    return Happening(regarding=ourselves, type=WARNING, reason=REFUSED, message=_shortened(words))


# ---------------------------------------------------------------------- pauses


def of_pause(ourselves: Regarding, pause: Pause) -> Happening:
    words = f"nothing new begins until `rescheduler resume`: {pause}"
    return Happening(regarding=ourselves, type=NORMAL, reason=PAUSED, message=_shortened(words))


def of_resumption(ourselves: Regarding, was: Pause) -> Happening:
    words = f"moves begin again; it was {was}"
    return Happening(regarding=ourselves, type=NORMAL, reason=RESUMED, message=_shortened(words))


# ---------------------------------------------------------------------- plans


def of_plan(plan: Object, event: str) -> Iterator[Happening]:
    """On the plan. `event`: what has become of it."""
    metadata, message = plan["metadata"], reschedule_plan.message_of(plan)
    words = {
        "proposed": f"{reschedule_plan.size_of(plan)} moves: {reschedule_plan.summary_of(plan)}",
        "approved": message or "approved",
    }.get(event, message or event)
    regarding = Regarding(
        api_version=reschedule_plan.API_VERSION,
        kind=reschedule_plan.KIND,
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
    )
    yield Happening(
        regarding=regarding,
        type=WARNING if event in ("expired", "incomplete") else NORMAL,
        reason=f"Plan{event.capitalize()}",
        message=_shortened(words),
    )


def of_failing(ourselves: Regarding, words: str) -> Happening:
    return Happening(
        regarding=ourselves, type=WARNING, reason=PREDICTIONS_FAIL, message=_shortened(words)
    )


# ---------------------------------------------------------------------- evictions by others


def of_eviction(eviction: Eviction, verdict: Verdict) -> Iterator[Happening]:
    """On the pod: when its eviction is held for the first time, and when it passes after that."""
    if isinstance(verdict, Hold):
        is_news, reason = verdict.is_first, EVICTION_HELD
        words = f"{eviction.user} wants it evicted: {verdict.words}"
    else:
        is_news, reason = verdict.held_seconds is not None, EVICTION_GRANTED
        words = f"{eviction.user} may evict it: {verdict.words}"
    if is_news and verdict.uid:
        regarding = Regarding(
            api_version="v1",
            kind="Pod",
            namespace=eviction.namespace,
            name=eviction.pod,
            uid=verdict.uid,
        )
        yield Happening(regarding=regarding, type=NORMAL, reason=reason, message=_shortened(words))


def _shortened(words: str) -> str:
    encoded = words.encode()
    if len(encoded) <= _LONGEST:
        return words
    return encoded[: _LONGEST - 3].decode(errors="ignore") + "..."
