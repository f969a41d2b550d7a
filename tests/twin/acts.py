"""What can be done to a cluster, drawn by lot: the same acts for both.

An act names what it is about by roles that are the same on both clusters (the third pod of a
workload, in an order that does not depend on names drawn by the servers), and never by such names.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NODES: Final = 4
_IMAGES: Final = ("app:2", "app:3", "app:4")
_BROKEN: Final = ("registry.invalid/app:9", "apps/lacks-config")
_SCALABLE: Final = ("Deployment", "ReplicaSet", "StatefulSet")
_ROLLED_OUT: Final = ("Deployment", "StatefulSet", "DaemonSet")
_FEWEST_WORKLOADS: Final = 2
_MOST_WORKLOADS: Final = 4
_MOST_FAILURES: Final = 2


@dataclass(frozen=True, slots=True)
class Act:
    what: str
    how: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.what}({', '.join(f'{key}={value!r}' for key, value in self.how.items())})"


@dataclass(slots=True)
class _Known:
    """What the acts so far have left, as far as the next ones want to know."""

    is_pinned: bool
    """Each workload is tied to one node, so that what becomes of nodes has the same effect on both
    clusters; else pods are where the scheduler puts them, and nodes only come and go by cordons.
    """

    workloads: dict[str, str] = field(default_factory=dict)
    """Kinds by name."""
    budgets: set[str] = field(default_factory=set)
    never_ready: set[str] = field(default_factory=set)
    paused: set[str] = field(default_factory=set)
    cordoned: set[int] = field(default_factory=set)
    down: set[int] = field(default_factory=set)
    deleted: set[int] = field(default_factory=set)
    made: int = 0
    hurt: Counter[str] = field(default_factory=Counter)

    def of(self, *kinds: str) -> list[str]:
        return [name for name, kind in self.workloads.items() if kind in kinds]

    @property
    def nodes(self) -> list[int]:
        return [number for number in range(NODES) if number not in self.deleted]


def draw(seed: int, count: int) -> list[Act]:
    chance = random.Random(seed)  # noqa: S311 - to be repeated
    known = _Known(is_pinned=chance.random() < 0.5)
    acts: list[Act] = []
    while len(acts) < count:
        # To nothing, nothing can be done.
        is_empty = len(known.workloads) < _FEWEST_WORKLOADS
        [drawn] = [_create] if is_empty else chance.choices(list(_DRAWN), list(_DRAWN.values()))
        act = drawn(chance, known)
        if act is not None:
            acts.append(act)
    return acts


# ---------------------------------------------------------------------- making


def _create(chance: random.Random, known: _Known) -> Act | None:
    if len(known.workloads) >= _MOST_WORKLOADS:
        return None
    kinds = ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "Pod")
    [kind] = chance.choices(kinds, (8, 2, 5, 2, 1, 2))
    name = f"w{known.made}"
    known.made += 1
    known.workloads[name] = kind
    how: dict[str, Any] = {"kind": kind, "name": name}
    how |= _settings(kind, chance)
    if kind != "DaemonSet" and known.is_pinned:
        how["on"] = chance.choice(known.nodes)
    if chance.random() < 0.15:
        how["behaviour"] = {"never_ready": "true"}
        known.never_ready.add(name)
    if chance.random() < 0.5:
        how["service"] = True
    if kind not in ("Job", "Pod") and chance.random() < 0.5:
        known.budgets.add(name)
        how["budget"] = _limit(chance)
    return Act("create", how)


def _settings(kind: str, chance: random.Random) -> dict[str, Any]:
    how: dict[str, Any] = {}
    if kind in _SCALABLE:
        how["replicas"] = chance.randint(0, 5)
    if kind == "Deployment":
        how |= _strategy(chance)
    if kind not in ("Job", "Pod") and chance.random() < 0.2:
        how["minReadySeconds"] = 1
    if kind == "StatefulSet":
        how["podManagementPolicy"] = chance.choice(("OrderedReady", "Parallel"))
        if chance.random() < 0.3:
            how["updateStrategy"] = chance.choice(
                (
                    {"type": "OnDelete"},
                    {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}},
                )
            )
    return how


def _strategy(chance: random.Random) -> dict[str, Any]:
    if chance.random() < 0.2:
        return {"strategy": {"type": "Recreate"}}
    amounts = (0, 1, 2, "25%", "50%", "100%")
    surge, away = chance.choice(amounts), chance.choice(amounts)
    if surge == 0 and away == 0:
        return {}
    rolling = {"maxSurge": surge, "maxUnavailable": away}
    return {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}


def _limit(chance: random.Random) -> dict[str, Any]:
    amount = chance.choice((0, 1, 2, 3, "34%", "50%", "100%"))
    limit: dict[str, Any] = {chance.choice(("minAvailable", "maxUnavailable")): amount}
    if chance.random() < 0.3:
        limit["unhealthyPodEvictionPolicy"] = chance.choice(("AlwaysAllow", "IfHealthyBudget"))
    return limit


def _budget(chance: random.Random, known: _Known) -> Act | None:
    """A second one too, now and then: then nobody can be evicted any more."""
    names = known.of("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet")
    if not names:
        return None
    known.made += 1
    name = chance.choice(names)
    return Act("add budget", {"of": name, "name": f"b{known.made}", **_limit(chance)})


def _change_budget(chance: random.Random, known: _Known) -> Act | None:
    if not known.budgets:
        return None
    return Act("change budget", {"name": chance.choice(sorted(known.budgets)), **_limit(chance)})


# ---------------------------------------------------------------------- changing


def _scale(chance: random.Random, known: _Known) -> Act | None:
    names = known.of(*_SCALABLE)
    return (
        Act("scale", {"name": chance.choice(names), "replicas": chance.randint(0, 6)})
        if names
        else None
    )


def _roll_out(chance: random.Random, known: _Known) -> Act | None:
    names = known.of(*_ROLLED_OUT)
    if not names:
        return None
    name = chance.choice(names)
    # KWOK plays what it is told: one that is never Ready runs, even if it could not.
    is_whole = name in known.never_ready or known.workloads[name] == "DaemonSet"
    images = _IMAGES if is_whole else (*_IMAGES, *_BROKEN)
    return Act("roll out", {"name": name, "image": chance.choice(images)})


def _roll_back(chance: random.Random, known: _Known) -> Act | None:
    names = known.of(*_ROLLED_OUT)
    return Act("roll out", {"name": chance.choice(names), "image": "app:1"}) if names else None


def _pin(chance: random.Random, known: _Known) -> Act | None:
    names = known.of(*_ROLLED_OUT)
    if not names:
        return None
    return Act("pin", {"name": chance.choice(names), "node": chance.choice(known.nodes)})


def _pause(chance: random.Random, known: _Known) -> Act | None:
    names = [name for name in known.of("Deployment") if name not in known.paused]
    if not names:
        return None
    name = chance.choice(names)
    known.paused.add(name)
    return Act("pause", {"name": name})


def _resume(chance: random.Random, known: _Known) -> Act | None:
    if not known.paused:
        return None
    name = chance.choice(sorted(known.paused))
    known.paused.discard(name)
    return Act("resume", {"name": name})


def _delete_workload(chance: random.Random, known: _Known) -> Act | None:
    if not known.workloads:
        return None
    name = chance.choice(list(known.workloads))
    del known.workloads[name]
    known.paused.discard(name)
    known.budgets.discard(name)
    policy = chance.choice(("Background", "Background", "Foreground", "Orphan"))
    return Act("delete workload", {"name": name, "propagation": policy})


# ---------------------------------------------------------------------- pods


def _of_a_pod(what: str, *kinds: str, **how: Any) -> Callable[..., Act | None]:  # noqa: ANN401
    def draw_one(chance: random.Random, known: _Known) -> Act | None:
        names = known.of(*kinds) if kinds else list(known.workloads)
        if not names:
            return None
        name = chance.choice(names)
        if known.workloads[name] == "Job" and what in ("evict", "delete pod"):
            known.hurt[name] += 1
            # Each time it waits twice as long before it makes another one.
            if known.hurt[name] > _MOST_FAILURES:
                return None
        return Act(what, {"name": name, "number": chance.randint(0, 4), **how})

    return draw_one


def _cost(chance: random.Random, known: _Known) -> Act | None:
    drawn = _of_a_pod("set deletion cost", "Deployment", "ReplicaSet")(chance, known)
    return drawn and Act(drawn.what, {**drawn.how, "cost": chance.choice(("-10", "5", "100"))})


# ---------------------------------------------------------------------- nodes


def _cordon(chance: random.Random, known: _Known) -> Act | None:
    free = [number for number in known.nodes if number not in known.cordoned]
    if not free:
        return None
    number = chance.choice(free)
    known.cordoned.add(number)
    return Act("cordon", {"node": number})


def _uncordon(chance: random.Random, known: _Known) -> Act | None:
    held = sorted(known.cordoned - known.deleted)
    if not held:
        return None
    number = chance.choice(held)
    known.cordoned.discard(number)
    return Act("uncordon", {"node": number})


def _down(chance: random.Random, known: _Known) -> Act | None:
    up = [number for number in known.nodes if number not in known.down]
    # With none Ready the node controller stops evicting altogether.
    if len(up) <= 1 or not known.is_pinned:
        return None
    number = chance.choice(up)
    known.down.add(number)
    return Act("node down", {"node": number})


def _up(chance: random.Random, known: _Known) -> Act | None:
    lying = sorted(known.down - known.deleted)
    if not lying:
        return None
    number = chance.choice(lying)
    known.down.discard(number)
    return Act("node up", {"node": number})


def _delete_node(chance: random.Random, known: _Known) -> Act | None:
    # One is enough: what was there is cleared away by a collector that comes by once a minute.
    if not known.is_pinned or known.deleted or len(known.nodes) - len(known.down) <= 1:
        return None
    number = chance.choice([each for each in known.nodes if each not in known.down])
    known.deleted.add(number)
    return Act("delete node", {"node": number})


_DRAWN: Final[dict[Callable[[random.Random, _Known], Act | None], float]] = {
    _create: 5,
    _scale: 6,
    _roll_out: 5,
    _roll_back: 2,
    _pin: 1,
    _of_a_pod("evict"): 8,
    _of_a_pod("delete pod"): 4,
    _of_a_pod("label out", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"): 2,
    _of_a_pod("label back"): 1,
    _of_a_pod("set ready", ready=False): 3,
    _of_a_pod("set ready", ready=True): 1,
    _cost: 2,
    _budget: 1,
    _change_budget: 2,
    _pause: 1.5,
    _resume: 1.5,
    _cordon: 2,
    _uncordon: 3,
    _down: 1.5,
    _up: 4,
    _delete_node: 0.3,
    _delete_workload: 1.5,
}
