"""How an original leaves its Services before it is told to end. Pure.

A server that exits at SIGTERM cuts what it has, and refuses what is sent to it until the last proxy
has heard of its end. So it is taken out first, by its condition Ready, while its copy serves: it is
told nothing, and finishes what it has.

Its kubelet knows better, and gives the condition back every ten seconds. The admission policy
`rescheduler-leaving` puts it off for as long as we linger: so often as the message says, a number
that the policy counts down. So a process that dies leaves nothing to undo. Where there is no such
policy, the original is taken out again each time while we wait.

Several of one ReplicaSet leave together. At an adoption it removes one that is not Ready before one
that is first by its cost: the wrong one, if the right one was given back in this very moment, and a
sibling has just begun to leave. So a copy is adopted only when all who have begun have finished,
and nobody begins while one is handed over: each says in its record what it is about to do, and then
looks at the others once more.
"""

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Final

from rescheduler.migrate.deciding import groups, selecting, serving, timeouts
from rescheduler.migrate.deciding.actions import Action, Evict, SetReady, Wait
from rescheduler.migrate.deciding.facts import Intent, Progress, View
from rescheduler.migrate.deciding.surge import replicas
from rescheduler.model import conditions, names, podmigration
from rescheduler.model.objects import Object, is_active, spec
from rescheduler.model.podmigration import Step

QUIET_SECONDS: Final = 6.5
"""Without a break, before the end: whoever asked while the kubelet had given the condition back is
answered by then."""
_LOOK_SECONDS: Final = 10.0
"""A kubelet looks so often what others have made of the statuses of its pods."""
_HAND_OVER_SECONDS: Final = 8.0
"""From the end of its linger until it is told to end, where all are busy: a kubelet that gave it
back then would have requests sent to a pod that ends.
"""
_BUSY_SECONDS: Final = (7.5, 12.0)
"""In between its kubelet looks again, if there is one that does. The original must not be told to
end just when it is given back, and from our decision to its end takes a while where all are busy.
"""
_MOST_TIMES: Final = 3
_NO_TIME: Final = 0.001
_LOOK_AGAIN_SECONDS: Final = 1.0
_ROUNDED_SECONDS: Final = 1.0
"""Kubernetes knows whole seconds only."""
_FOLLOWED_SECONDS: Final = 10.0
"""More than this is not waited for EndpointSlices that nobody keeps."""
_OURS: Final = ("reason", "message", "lastProbeTime")
_READY_SINCE: Final = "; it was Ready since "
"""Kept in the message. What the condition says of its last change has to be true: autoscalers of
pods take one that is not Ready, and has not changed since its start, for one that never was."""
_AWAY_SECONDS: Final = 3.0
"""By then the last proxy has heard that a sibling, given back by its kubelet, is out again."""


def before_the_end(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress, step: Step
) -> Action | None:
    """What is left to be done; None: the original may be told to end."""
    # The budget is asked before it leaves, and again when it has: that takes a while.
    has_begun = step is Step.LEAVE or step.ends_the_original
    if not progress.budget_allows and not has_begun:
        return serving.ask_budget(intent, original, progress, step)
    if waiting := _wait(intent, view, original, copy, progress, step):
        return waiting
    if not progress.budget_allows:
        return serving.ask_budget(intent, original, progress, step)
    return None


def _wait(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress, recorded: Step
) -> SetReady | Wait | None:
    """Until it has left, and finished what it had; None: it has, or it does not leave so."""
    if not _is_wanted(intent, view, original, copy, progress):
        return None
    step = recorded if recorded.ends_the_original else Step.LEAVE
    if not conditions.has_left(original):
        if not conditions.holds(original, "Ready"):
            return None  # it serves nobody, and the true reason stays
        is_new = not progress.left_seconds
        if is_new and recorded is not Step.LEAVE and groups.has_begun(intent, view):
            return None  # the others of its group go, and it has to go with them
        is_beginning = step is Step.LEAVE and is_new
        waiting = _before_it_begins(intent, view, recorded) if is_beginning else None
        return waiting or _leave(intent, original, copy, progress, step)
    left = _seconds_left(intent, view, original, progress)
    if left <= _NO_TIME:
        return None
    return Wait("the original finishes what it has", step=step, seconds=left)


def or_come_back(action: Action, view: View, original: Object, progress: Progress) -> Action:
    """While anything else is waited for, the original serves: the copy may not, or a sibling."""
    is_waiting = isinstance(action, Wait) and action.seconds is None
    is_asking = isinstance(action, Evict) and action.dry_run
    is_refused = is_asking and progress.budget_refused_seconds > 0
    if may_come_back(view, original, progress) and (is_waiting or is_refused):
        return come_back(original, Step.WAIT_READY)
    return action


def may_come_back(view: View, original: Object, progress: Progress) -> bool:
    has_left = conditions.has_left(original) and not progress.cannot_leave
    return has_left and would_be_ready(original, view.source)


def would_be_ready(pod: Object, node: Object | None) -> bool:
    """If we had not taken it out: whose node is lost or whose containers fail serves nobody, and
    nobody would take it out again for us.
    """
    containers = conditions.find(pod, "ContainersReady")
    is_failing = containers is not None and containers["status"] != "True"
    return node is not None and conditions.holds(node, "Ready") and not is_failing


def come_back(original: Object, step: Step) -> SetReady:
    what = "gives the original back to its Services"
    return SetReady(what, original, back_again(original), is_ready=True, step=step)


def back_again(original: Object) -> list[Object]:
    """Its conditions as they were, and as its kubelet will say, too."""
    before = conditions.find(original, "Ready") or {}
    kept = {key: value for key, value in before.items() if key not in _OURS}
    if since := before.get("message", "").partition(_READY_SINCE)[2]:
        kept["lastTransitionTime"] = since  # nobody counts anew how long it has been Ready
    return _with_ready(original, {**kept, "status": "True"})


def _leave(
    intent: Intent, original: Object, copy: Object, progress: Progress, step: Step
) -> SetReady:
    before = conditions.find(original, "Ready") or {"type": "Ready"}
    since = before.get("lastTransitionTime")
    lasts = timeouts.linger(original, intent.settings) + _HAND_OVER_SECONDS
    times = math.ceil(lasts / _LOOK_SECONDS)
    instead = f"{copy['metadata']['name']} serves in its place"
    words = f"{times} times its kubelet is put off; {instead}"
    told = {
        "status": "False",
        "reason": names.LEAVING,
        "message": f"{words}{_READY_SINCE}{since}" if since else words,
        "lastProbeTime": _text(progress.now - timedelta(seconds=progress.left_seconds)),
        "lastTransitionTime": _text(progress.now),
    }
    changed = _with_ready(original, {**before, **told})
    return SetReady("takes the original out of its Services", original, changed, step=step)


def _with_ready(pod: Object, ready: Object) -> list[Object]:
    found = (pod.get("status") or {}).get("conditions") or ()
    return [ready if each["type"] == "Ready" else each for each in found]


def _text(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# ---------------------------------------------------------------------- several of one ReplicaSet


def _before_it_begins(intent: Intent, view: View, recorded: Step) -> Wait | None:
    """Not while its ReplicaSet may be about to remove one, which might be this one then."""
    siblings = dict(_siblings(intent, view))
    replica_set = view.replica_set
    if not siblings or replica_set is None:
        return None
    number = len(replicas.counted(view, replica_set))
    if Step.HAND_OVER in siblings.values() or number > replicas.wanted(replica_set):
        step = Step.WAIT_GROUP if intent.group else Step.WAIT_READY
        return Wait("a sibling is handed over first", step=step)
    if recorded is not Step.LEAVE:
        # Told before it is done: who hands over now waits for this one, or was seen here.
        return Wait("the original is about to leave its Services", step=Step.LEAVE, seconds=0.0)
    return None


def wait_for_siblings(intent: Intent, view: View, progress: Progress) -> Wait | None:
    """Until each that has begun to leave has finished what it has; None: they have.

    Not for ever: a record may stay as it is because nobody goes on with it, and kubelets of several
    nodes may give back in turns. Whichever is removed then, its copy serves.
    """
    steps = dict(_siblings(intent, view))
    assert view.original is not None  # noqa: S101 - asked by the caller
    linger = timeouts.linger(view.original, intent.settings)
    if progress.lingering_seconds > _MOST_TIMES * linger:
        return None
    for pod in view.pods:
        uid = pod["metadata"]["uid"]
        if uid == intent.uid or not is_active(pod):
            continue
        if steps.get(uid) is Step.LEAVE or _is_lingering(pod, linger, progress.now):
            waiting = f"its sibling {pod['metadata']['name']} finishes what it has"
            return Wait(waiting, step=Step.HAND_OVER, seconds=_LOOK_AGAIN_SECONDS)
    return None


def _siblings(intent: Intent, view: View) -> Iterator[tuple[str, Step]]:
    """Those that are moved, too, by their UIDs: how far they are, as recorded."""
    others = {pod["metadata"]["uid"] for pod in view.pods} - {intent.uid}
    for record in view.records:
        uid, step = podmigration.pod_uid(record), podmigration.step_of(record)
        if step and uid in others and podmigration.is_unfinished(record):
            yield uid, step


def _is_lingering(pod: Object, linger: float, now: datetime) -> bool:
    """One that was at its hand-over already when another process took it up, and left anew; or
    that nobody moves any more, until its kubelet knows better; or that its kubelet gave back a
    moment ago. Of siblings not all is kept, so they get as long as the original: they are of the
    same template.
    """
    left, away = conditions.left_at(pod), conditions.away_since(pod)
    return _is_within(linger, left, now) or _is_within(min(linger, _AWAY_SECONDS), away, now)


def _is_within(seconds: float, since: datetime | None, now: datetime) -> bool:
    return since is not None and now - since < timedelta(seconds=seconds + _ROUNDED_SECONDS)


# ---------------------------------------------------------------------- who leaves so


def _is_wanted(
    intent: Intent, view: View, original: Object, copy: Object, progress: Progress
) -> bool:
    linger = timeouts.linger(original, intent.settings)
    if not linger or progress.cannot_leave or _looks_after_itself(original):
        return False
    if not conditions.has_left(original) and progress.times_left > _MOST_TIMES + linger / 5:
        return False  # somebody gives it back, sooner than any kubelet would
    # To say that it is not Ready would be of no use where its Ready is not only its kubelet's.
    if spec(original).get("readinessGates") or not would_be_ready(original, view.source):
        return False
    held = _served(view, original)
    if any(map(_asks_its_own_node, _named(view, held))):
        return False
    served = selecting.services_with(view.slices, copy["metadata"]["uid"], ready=True)
    # One that the copy serves only from its adoption on would have too few until then.
    return bool(held) and held <= served


def _looks_after_itself(pod: Object) -> bool:
    """Each of its containers is given time before it is told to end."""
    containers = spec(pod).get("containers") or ()
    return all((each.get("lifecycle") or {}).get("preStop") for each in containers)


def _served(view: View, pod: Object) -> set[str]:
    """Services that it is an endpoint of, less those to which Ready means nothing."""
    held = selecting.services_with(view.slices, pod["metadata"]["uid"])
    found = _named(view, held)
    published = (each for each in found if spec(each).get("publishNotReadyAddresses"))
    return held - {each["metadata"]["name"] for each in published}


def _named(view: View, services: set[str]) -> list[Object]:
    return [each for each in view.services if each["metadata"]["name"] in services]


def _asks_its_own_node(service: Object) -> bool:
    """What comes to a node goes to pods there: no copy elsewhere serves it, but one that is told to
    end does, as long as there is no other.
    """
    policies = (spec(service).get(f"{side}TrafficPolicy") for side in ("internal", "external"))
    return "Local" in policies


# ---------------------------------------------------------------------- for how long


def _seconds_left(intent: Intent, view: View, original: Object, progress: Progress) -> float:
    linger = timeouts.linger(original, intent.settings)
    quiet = min(linger, QUIET_SECONDS)
    left = max(linger - progress.left_seconds, quiet - progress.away_seconds)
    if left > _NO_TIME:
        return left
    soon, overdue = _BUSY_SECONDS
    if soon < progress.away_seconds < overdue:
        return overdue - progress.away_seconds
    uid = original["metadata"]["uid"]
    is_told = selecting.services_with(view.slices, uid, ready=True) & _served(view, original)
    return max(0.0, linger + _FOLLOWED_SECONDS - progress.left_seconds) if is_told else 0.0
