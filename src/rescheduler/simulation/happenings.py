"""What happens in a cluster beside the load: roll-outs, scalings, maintenance, drains, failures.

All of it is decided before the simulation begins, so that every contender meets the same.
"""

import asyncio
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import ceil
from typing import Final

from rescheduler import wire
from rescheduler.embedded import behaviours
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.kube import Object, errors
from rescheduler.model import names
from rescheduler.model.objects import is_terminating
from rescheduler.simulation import rude_drains
from rescheduler.simulation.described import Described, Json
from rescheduler.simulation.rude_drains import TRY_AGAIN_SECONDS, Drain, cordon, evictable
from rescheduler.simulation.scenarios import HOUR, Outage, Scenario

_DAY: Final = 24 * HOUR
NOTICE_SECONDS: Final = HOUR
"""From the label of a maintenance to the drain of what is still there."""
_SCALED_HOURS: Final = (1.0, 4.0)
_KUBELET: Final = behaviours.PREFIX + "kubelet"
_RESTARTED: Final = "kubectl.kubernetes.io/restartedAt"


class What(StrEnum):
    ROLL_OUT = "RollOut"
    SCALE = "Scale"
    MAINTAIN = "Maintain"
    DRAIN = "Drain"
    FAIL = "Fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    at: float
    """Seconds since the beginning."""
    what: What
    name: str
    """Of a node, or `namespace/name` of a Deployment."""
    replicas: int = 0
    lasts: float = 0.0

    def __str__(self) -> str:
        hours, minutes = divmod(int(self.at) // 60, 60)
        to = f" to {self.replicas}" if self.what is What.SCALE else ""
        return f"{hours:02}:{minutes:02} {self.what} {self.name}{to}"


# ---------------------------------------------------------------------- deciding


def foreseen(
    scenario: Scenario, described: Described, *, seed: int, start: datetime, hours: float
) -> tuple[Happening, ...]:
    """In order."""
    luck = random.Random(seed)  # noqa: S311 - repeatable
    end = hours * HOUR
    of_day = start.hour * HOUR + start.minute * 60 + start.second
    deployments = [
        (f"{each['metadata']['namespace']}/{each['metadata']['name']}", _replicas(each))
        for each in described.all(wire.DEPLOYMENTS)
    ]
    nodes = [each["metadata"]["name"] for each in described.all(wire.NODES)]
    found = [
        *_roll_outs(_scaled(scenario.rollouts, hours), deployments, end, luck),
        *_scalings(_scaled(scenario.scalings, hours), deployments, end, luck),
    ]
    for day in range(ceil(end / _DAY)):
        found += _outages(What.MAINTAIN, scenario.maintenances, nodes, of_day, day, luck)
        found += _outages(What.FAIL, scenario.failures, nodes, of_day, day, luck)
        found += _outages(What.DRAIN, scenario.drains, nodes, of_day, day, luck)
    return tuple(
        sorted((each for each in found if each.at < end), key=lambda each: (each.at, each.name))
    )


def _replicas(deployment: Json) -> int:
    return int(deployment["spec"].get("replicas", 1))


def _scaled(a_day: int, hours: float) -> int:
    return round(a_day * hours / 24)


def _drawn(
    many: int, deployments: Sequence[tuple[str, int]], luck: random.Random
) -> Iterator[tuple[str, int]]:
    """None has its next turn before all have had one."""
    while many > 0 and deployments:
        drawn = luck.sample(deployments, min(many, len(deployments)))
        yield from drawn
        many -= len(drawn)


def _roll_outs(
    many: int, deployments: Sequence[tuple[str, int]], end: float, luck: random.Random
) -> Iterator[Happening]:
    for name, _ in _drawn(many, deployments, luck):
        yield Happening(at=luck.uniform(0, end), what=What.ROLL_OUT, name=name)


def _scalings(
    many: int, deployments: Sequence[tuple[str, int]], end: float, luck: random.Random
) -> Iterator[Happening]:
    large = [each for each in deployments if each[1] > 1]
    for name, replicas in _drawn(many, large, luck):
        at = luck.uniform(0, end)
        more = luck.random() < 0.5  # noqa: PLR2004 - as often as not
        other = replicas + max(replicas // 2, 1) if more else max(replicas * 2 // 3, 1)
        later = at + luck.uniform(*_SCALED_HOURS) * HOUR
        yield Happening(at=at, what=What.SCALE, name=name, replicas=other)
        yield Happening(at=later, what=What.SCALE, name=name, replicas=replicas)


def _outages(
    what: What,
    outages: Iterable[Outage],
    nodes: Sequence[str],
    of_day: float,
    day: int,
    luck: random.Random,
) -> Iterator[Happening]:
    for each in outages:
        node = luck.choice(nodes)
        if each.node and each.node not in nodes:
            continue
        yield Happening(
            at=(each.at_seconds - of_day) % _DAY + day * _DAY,
            what=what,
            name=each.node or node,
            lasts=each.for_seconds,
        )


# ---------------------------------------------------------------------- doing


async def happen(
    api: ApiServer, happenings: Iterable[Happening], drains: list[Drain] | None = None
) -> None:
    """Each at its time. Time begins now. The drains that began are noted in the list."""
    begun = asyncio.get_running_loop().time()
    drains = [] if drains is None else drains
    async with asyncio.TaskGroup() as tasks:
        for each in happenings:
            tasks.create_task(_do(api, each, begun + each.at, drains), name=str(each))


async def _do(api: ApiServer, happening: Happening, at: float, drains: list[Drain]) -> None:
    await asyncio.sleep(at - asyncio.get_running_loop().time())
    # To what the API server would not have, of which a note tells, nothing happens.
    with suppress(errors.NotFound):
        if happening.what is What.MAINTAIN:
            await _maintain(api, happening)
        elif happening.what is What.DRAIN:
            await _drain(api, happening, drains)
        elif happening.what is What.FAIL:
            _label(api, happening.name, _KUBELET, "hung")
            await asyncio.sleep(happening.lasts)
            _label(api, happening.name, _KUBELET, None)
        elif happening.what is What.SCALE:
            _change(api, happening.name, {"replicas": happening.replicas})
        else:
            again = {"annotations": {_RESTARTED: api.stamp()}}
            _change(api, happening.name, {"template": {"metadata": again}})


def _change(api: ApiServer, deployment: str, spec: Json) -> None:
    namespace, name = deployment.split("/", 1)
    api.patch(wire.DEPLOYMENTS, namespace, name, {"spec": spec})


def _label(api: ApiServer, node: str, label: str, value: str | None) -> None:
    api.patch(wire.NODES, None, node, {"metadata": {"labels": {label: value}}})


async def _maintain(api: ApiServer, happening: Happening) -> None:
    """Announced by the label, so that whoever can empties it without a loss; then people drain what
    is left, work on it, and give it back.
    """
    node, now = happening.name, asyncio.get_running_loop().time
    until = now() + happening.lasts
    _label(api, node, names.MAINTENANCE, "true")
    await asyncio.sleep(min(NOTICE_SECONDS, happening.lasts))
    cordon(api, node, wanted=True)
    while (left := list(evictable(api, node))) and now() < until:
        for pod in left:
            _evict(api, pod)
        await asyncio.sleep(TRY_AGAIN_SECONDS)
    await asyncio.sleep(max(until - now(), 0.0))
    _label(api, node, names.MAINTENANCE, None)
    cordon(api, node, wanted=False)


def _evict(api: ApiServer, pod: Object) -> None:
    metadata = pod["metadata"]
    if is_terminating(pod):
        return
    try:
        api.evict(
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            user=rude_drains.USER,
        )
    except errors.KubeError:
        return  # its budget allows none now: it is tried again


async def _drain(api: ApiServer, happening: Happening, drains: list[Drain]) -> None:
    """Announced to nobody. The node is given back when its time is over, empty or not."""
    node, now = happening.name, asyncio.get_running_loop().time
    begun, until = now(), now() + happening.lasts
    drains.append(noted := Drain(node))
    if await rude_drains.drain(api, node, until=until):
        noted.seconds = now() - begun
    await asyncio.sleep(max(until - now(), 0.0))
    cordon(api, node, wanted=False)
