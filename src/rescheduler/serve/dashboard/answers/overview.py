"""How the rescheduler stands. Pure."""

from collections.abc import Mapping
from datetime import UTC, datetime

import numpy as np

from rescheduler import __version__
from rescheduler.model.published import PLANNED
from rescheduler.serve.dashboard.answers import Asked
from rescheduler.serve.dashboard.columns import ends_of_moves, percents
from rescheduler.serve.dashboard.documents.overview import (
    BeforeAfter,
    Blind,
    LastPassNote,
    MovesNote,
    Overview,
    PauseNote,
    Story,
    Viewer,
)
from rescheduler.serve.dashboard.view import Loads, View

_RESOURCES = ("cpu", "memory")


def overview(asked: Asked) -> Overview:
    view, now, about = asked.view, asked.view.now, asked.view.about
    balance = balance_of(view, asked.loads)
    return Overview(
        cluster=about.cluster,
        kubernetes_version=about.kubernetes_version,
        version=__version__,
        role=now.role.value,
        leader=about.leader,
        mode=view.configuration.mode,
        actions=view.configuration.dashboard.actions,
        paused=_pause(asked),
        interval_seconds=now.interval_seconds,
        last_pass=_last_pass(view),
        loads=asked.loads.word,
        nodes=len(view.snapshot.nodes),
        pods=len(view.snapshot.rows),
        imbalance={
            name: BeforeAfter(now=balance.imbalance[name], planned=_planned(view, name))
            for name in _RESOURCES
        },
        overloaded=BeforeAfter(now=balance.overloaded, planned=_planned_overload(view)),
        thresholds=thresholds(view),
        moves=MovesNote(
            in_progress=now.moves.in_progress,
            ending=now.moves.ending,
            waiting=now.moves.waiting,
            allowed=now.moves.allowed,
            breaker_seconds=round(now.moves.breaker_seconds, 1),
        ),
        blind=_blind(asked),
        window=about.window,
        configuration_error=asked.words(now.configuration_error),
        viewer=viewer(asked),
        story=Story(chapter=view.told.chapter, sentence=view.told.sentence, ending=view.told.ending)
        if view.told
        else None,
        now=view.at,
    )


def viewer(asked: Asked) -> Viewer:
    person = asked.viewer.person
    is_on = asked.view.configuration.dashboard.actions
    if not is_on:
        why = "acting is off: set dashboard.actions to true"
    elif person is None:
        why = "nobody acts without a token of their own"
    else:
        why = asked.words(person.may_act.why_not)
    return Viewer(
        name=person.name if person else None,
        sees_everything=asked.rights.sees_everything,
        may_act=bool(is_on and person and person.may_act.allowed),
        may_sign_in=asked.takes_tokens,
        why_not=why,
    )


def _last_pass(view: View) -> LastPassNote | None:
    last = view.now.last_pass
    if last is None:
        return None
    return LastPassNote(
        ended_at=datetime.fromtimestamp(last.ended_at, UTC),
        seconds=view.decided.seconds if view.decided else None,
        nodes=last.nodes,
        pods=last.pods,
        moves=last.planned,
        refused=dict(last.refused),
    )


def _pause(asked: Asked) -> PauseNote | None:
    about, words = asked.view.about, asked.words
    if not about.pause and not asked.view.now.paused:
        return None
    return PauseNote(
        by=words(about.paused_by),
        reason=words(about.paused_reason),
        since=about.paused_since,
        words=words(about.pause) or "paused",
    )


def _blind(asked: Asked) -> list[Blind]:
    view = asked.view
    seconds = {name: each.lag_seconds for name, each in view.now.watches.items()}
    return [
        Blind(
            resource=gap.source,
            reason=asked.words(gap.reason),
            seconds=round(seconds.get(gap.source, 0.0), 1),
        )
        for gap in view.snapshot.gaps
        if not gap.left_out
    ] + [
        Blind(
            resource=each.resource,
            reason=asked.words(each.reason),
            seconds=round(each.seconds, 1),
        )
        for each in view.doubts
    ]


# ---------------------------------------------------------------------- balance


class Balance:
    """As it is now, of the nodes that the last pass evened out."""

    def __init__(self, imbalance: Mapping[str, float | None], overloaded: int) -> None:
        self.imbalance = imbalance
        self.overloaded = overloaded


def thresholds(view: View) -> dict[str, float]:
    configuration = view.configuration
    return {
        "cpu": float(configuration.cpu_threshold_percent),
        "memory": float(configuration.memory_threshold_percent),
    }


def balance_of(view: View, loads: Loads) -> Balance:
    found = percents(loads)
    limits = 10 * np.array(list(thresholds(view).values()))
    is_above = (found > limits).any(axis=1)
    counted = loads.known.copy()
    if view.decided is not None:
        eligible = {each.node for each in view.decided.plan.nodes if each.eligible}
        counted &= np.array([node.name in eligible for node in view.snapshot.nodes], np.bool_)
    of_those = found[counted]
    imbalance: dict[str, float | None] = dict.fromkeys(_RESOURCES)
    if len(of_those):
        spread = (of_those.max(axis=0) - of_those.min(axis=0)) / 10
        imbalance = {name: float(each) for name, each in zip(_RESOURCES, spread, strict=True)}
    return Balance(imbalance, int(is_above.sum()))


def _is_more_to_come(view: View) -> bool:
    moves = view.now.moves
    return bool(moves.in_progress or moves.ending or moves.waiting or ends_of_moves(view))


def _planned(view: View, resource: str) -> float | None:
    plan = view.decided.plan if view.decided and _is_more_to_come(view) else None
    found = {each.resource: each.after for each in plan.imbalances} if plan else {}
    return round(found[resource], 1) if resource in found else None


def _planned_overload(view: View) -> int | None:
    if not _is_more_to_come(view):
        return None
    last, plan = view.now.last_pass, view.decided.plan if view.decided else None
    if last is not None:
        return last.overloaded.get(PLANNED)
    if plan is None:
        return None
    # Of a plan that was made before any pass, as a demo shows one.
    limits = thresholds(view).items()
    return sum(
        any(each.after.get(name, 0.0) > limit for name, limit in limits) for each in plan.nodes
    )
