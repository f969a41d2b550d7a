"""What could be changed about where a pod fits, when nothing holds it and no node takes it.

Each is found to be enough by asking again, and of a quantity the smallest that is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from rescheduler.model import names, resources, taints
from rescheduler.model.cluster import Node
from rescheduler.model.maintenance import is_in_maintenance
from rescheduler.plan.whatif import editing
from rescheduler.plan.whatif.changes import Change, Kind
from rescheduler.plan.whatif.smallest import smallest
from rescheduler.plan.whatif.worlds import World

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_MOST_TAINTS: Final = 5
_MOST_NODES: Final = 5
"""Of many alike, the first few are tried."""
_MOST_SHAPES: Final = 20
_HOST: Final = "kubernetes.io/hostname"
_ZONE: Final = "topology.kubernetes.io/zone"
_NEW: Final = "new-node"


def against_nowhere(world: World) -> Iterator[Change]:
    yield from _open_nodes(world)
    yield from _less(world)
    yield from _tolerate(world)
    yield from _looser_rules(world)
    yield from _more_room(world)
    yield from _new_node(world)


# ------------------------------------------------------------------ nodes


def _open_nodes(world: World) -> Iterator[Change]:
    nodes = world.desk.nodes
    cordoned = [each for each in world.others if nodes[each].unschedulable]
    for number in cordoned[:_MOST_NODES]:
        node = nodes[number]
        # Most cordons have a taint, which goes with them.
        left = tuple(each for each in node.taints if each.get("key") != _UNSCHEDULABLE)
        opened = replace(node, unschedulable=False, taints=left)
        yield _node(Kind.UNCORDON, opened, f"uncordon node {node.name}")
    labelled = [each for each in world.others if is_in_maintenance(nodes[each].labels)]
    for number in labelled[:_MOST_NODES]:
        node = nodes[number]
        kept = {key: value for key, value in node.labels.items() if key != names.MAINTENANCE}
        words = f"take the label {names.MAINTENANCE} off node {node.name}"
        yield _node(Kind.MAINTENANCE, replace(node, labels=kept), words)


_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"


def _node(kind: Kind, made: Node, words: str) -> Change:
    return Change(
        kind=kind,
        subject=made.name,
        words=words,
        made_in=lambda world: world.but(snapshot=editing.with_node(world.snapshot, made)),
    )


def _more_room(world: World) -> Iterator[Change]:
    """On the node that lacks least of the one resource that it lacks."""
    asks, columns = _asks(world), world.snapshot.resource_names
    lacking = [
        (amount / asks[name], number, name, amount)
        for name in asks
        if name in columns
        for number in world.others
        # What could push others out needs its room twice.
        for times in (1, 2)
        if (amount := times * asks[name] - _free(world, number, columns.index(name))) > 0
    ]
    tried: Counter[str] = Counter()
    for _, number, name, amount in sorted(lacking):
        tried[name] += 1
        if tried[name] > _MOST_NODES:
            continue
        if _with_room(world, number, name, amount).is_movable:
            node = world.desk.nodes[number].name
            yield Change(
                kind=Kind.ROOM,
                subject=node,
                words=f"{resources.in_words(name, amount)} more {name} free on node {node}",
                details={"resource": name, "amount": amount},
                amount=amount,
                made_in=partial(_with_room, number=number, name=name, amount=amount),
            )
            return


def _free(world: World, number: int, column: int) -> int:
    return int(world.desk.placement.free[number, column])


def _with_room(world: World, number: int, name: str, amount: int) -> World:
    node = world.snapshot.nodes[number]
    larger = {**node.allocatable, name: node.allocatable.get(name, 0) + amount}
    made = editing.with_node(world.snapshot, replace(node, allocatable=larger))
    return world.but(snapshot=made)


def _new_node(world: World) -> Iterator[Change]:
    """Like one that there is, but empty, with just the room that the pod needs; if need be, where
    none of those are that keep it away, or that it keeps away.
    """
    own = int(world.desk.placement.place[world.row])
    likes = [world.snapshot.nodes[number] for number in [own, *world.others][:_MOST_SHAPES]]
    keys = _parting_keys(world)
    tried: set[tuple[tuple[str, str], ...]] = set()
    for apart in (False, True) if keys else (False,):
        for like in likes:
            labels = dict(_labels(like, keys if apart else frozenset()))
            shape = tuple(sorted(labels.items()))
            if shape in tried:
                continue
            tried.add(shape)
            node = _just_large_enough(world, labels)
            if world.but(snapshot=editing.with_new_node(world.snapshot, node)).is_movable:
                yield _one_more(
                    world, like, node, sorted(keys & like.labels.keys() if apart else ())
                )
                return


def _labels(like: Node, parting: frozenset[str]) -> Iterator[tuple[str, str]]:
    for key, value in like.labels.items():
        if key == _HOST:
            yield key, _NEW
        elif key not in (names.MAINTENANCE, *names.CONTROL_PLANE):
            yield key, _NEW if key in parting else value


def _parting_keys(world: World) -> frozenset[str]:
    """By which it is kept away from others."""
    placement, row = world.desk.placement, world.row
    terms = (*placement.rules(row).apart_from, *placement.neighbours.repelled_by(row))
    return frozenset(each.topology_key for each in terms) - {_HOST}


def _just_large_enough(world: World, labels: Mapping[str, str]) -> Node:
    """For the pod, and for those of DaemonSets that would come to it."""
    node = Node(
        name=_NEW,
        labels=labels,
        taints=(),
        allocatable=_asks(world),
        ready=True,
        unschedulable=False,
    )
    made = editing.with_new_node(world.snapshot, node)
    kept = made.promised[made.node_numbers[_NEW]].tolist()
    promised = dict(zip(made.resource_names, kept, strict=True))
    enough = {name: amount + promised.get(name, 0) for name, amount in node.allocatable.items()}
    return replace(node, allocatable=_with_some_of_all(enough))


def _with_some_of_all(amounts: Mapping[str, int]) -> Mapping[str, int]:
    """A node without any cpu or memory is none."""
    return {**dict.fromkeys((resources.CPU, resources.MEMORY), 1), **amounts}


def _one_more(world: World, like: Node, node: Node, apart: list[str]) -> Change:
    asked = _asks(world)
    room = ", ".join(
        f"{resources.in_words(name, amount)} {name}"
        for name, amount in sorted(asked.items())
        if name != resources.PODS
    )
    zone = node.labels.get(_ZONE)
    where = f" in zone {zone}" if zone and zone != _NEW else ""
    own = f", with a {' and a '.join(apart)} of its own" if apart else ""
    return Change(
        kind=Kind.NODE,
        subject=like.name,
        words=(
            f"a new node{where} such as {like.name}{own}, without taints, with "
            f"{room or 'room'} free"
        ),
        details={"labels": dict(node.labels), "allocatable": dict(node.allocatable)},
        made_in=lambda world: world.but(snapshot=editing.with_new_node(world.snapshot, node)),
    )


# ------------------------------------------------------------------ the pod


def _asks(world: World) -> Mapping[str, int]:
    """What it will hold where it comes to, by resource: of what no node has, too."""
    snapshot, row = world.snapshot, world.row
    told = [
        snapshot.request_sets[number] or {}
        for number in (snapshot.pods.request_set[row], snapshot.template_of(row).request_set)
    ]
    return {name: amount for name, amount in resources.largest(told).items() if amount}


def _less(world: World) -> Iterator[Change]:
    """Of each resource by itself."""
    asks, pod = _asks(world), world.desk.name(world.row)
    # It is asked many times, and nothing but the size of this pod changes.
    trying = world.but()
    for name in asks:
        if name == resources.PODS or not _fits_with(trying, {**asks, name: 0}):
            continue
        amount = smallest(
            lambda less, name=name: (  # type: ignore[misc]
                _fits_with(trying, {**asks, name: asks[name] - less})
            ),
            asks[name],
        )
        left = {**asks, name: asks[name] - amount}
        told = resources.in_words(name, amount)
        yield Change(
            kind=Kind.REQUESTS,
            subject=pod,
            words=f"pod {pod} to request {told} {name} less ({_of(name, asks, left)})",
            details={"resource": name, "amount": amount, "left": left[name]},
            amount=amount,
            made_in=partial(_with_requests, requests=left),
        )


def _of(name: str, before: Mapping[str, int], after: Mapping[str, int]) -> str:
    words = resources.in_words
    return f"{words(name, after[name])} instead of {words(name, before[name])}"


def _fits_with(trying: World, asks: Mapping[str, int]) -> bool:
    trying.desk.placement.room.set_size(trying.row, asks)
    return bool(trying.targets.any())


def _with_requests(world: World, requests: Mapping[str, int]) -> World:
    made = editing.with_template(world.snapshot, world.row, requests=requests)
    return world.but(snapshot=made)


def _tolerate(world: World) -> Iterator[Change]:
    placement, pod = world.desk.placement, world.desk.name(world.row)
    tolerations = placement.rules(world.row).tolerations
    met: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for number in world.others:
        for taint in world.desk.nodes[number].taints:
            key = taint.get("key") or ""
            is_of_state = key.startswith("node.kubernetes.io/")
            if not is_of_state and taints.untolerated([taint], tolerations):
                met[key, taint.get("value") or "", taint["effect"]] = taint
    for (key, value, effect), _ in sorted(met.items())[:_MOST_TAINTS]:
        toleration = {"key": key, "operator": "Equal", "value": value, "effect": effect}
        told = f"{key}={value}:{effect}" if value else f"{key}:{effect}"
        yield _spec(
            world,
            Kind.TOLERATION,
            f"pod {pod} to tolerate the taint {told}",
            {"toleration": toleration},
            partial(_with_toleration, toleration=toleration),
        )


def _with_toleration(spec: dict[str, Any], toleration: Mapping[str, str]) -> None:
    spec["tolerations"] = [*(spec.get("tolerations") or ()), toleration]


# ------------------------------------------------------------------ its rules


def _looser_rules(world: World) -> Iterator[Change]:
    spec, pod = world.snapshot.template_of(world.row).spec(), world.desk.name(world.row)
    for number, spread in enumerate(spec.get("topologySpreadConstraints") or ()):
        if spread.get("whenUnsatisfiable") != "DoNotSchedule":
            continue
        yield from _wider(world, number, spread)
        words = f"pod {pod} without its topology spread over {spread['topologyKey']}"
        yield _rule(world, words, ("topologySpreadConstraints",), number)
    if spec.get("nodeSelector"):
        told = ", ".join(f"{key}={value}" for key, value in sorted(spec["nodeSelector"].items()))
        yield _rule(world, f"pod {pod} without its nodeSelector {told}", ("nodeSelector",), None)
    affinity = spec.get("affinity") or {}
    if (affinity.get("nodeAffinity") or {}).get(_REQUIRED):
        words = f"pod {pod} without its required node affinity"
        yield _rule(world, words, ("affinity", "nodeAffinity", _REQUIRED), None)
    for kind, told in (("podAntiAffinity", "anti-affinity"), ("podAffinity", "affinity")):
        for number, term in enumerate((affinity.get(kind) or {}).get(_REQUIRED) or ()):
            words = f"pod {pod} without its required {told} by {term.get('topologyKey')}"
            yield _rule(world, words, ("affinity", kind, _REQUIRED), number)


def _rule(world: World, words: str, path: tuple[str, ...], number: int | None) -> Change:
    """`number`: of the entry in a list that goes; none: all of it."""
    details = {"path": list(path), "number": number}
    return _spec(world, Kind.RULE, words, details, partial(_without, path=path, number=number))


def _without(spec: dict[str, Any], path: tuple[str, ...], number: int | None) -> None:
    *above, last = path
    holder = spec
    for name in above:
        holder[name] = dict(holder[name])
        holder = holder[name]
    if number is None:
        del holder[last]
    else:
        holder[last] = [each for place, each in enumerate(holder[last]) if place != number]


def _wider(world: World, number: int, spread: Mapping[str, Any]) -> Iterator[Change]:
    most = len(world.snapshot.rows)
    skew, key = spread.get("maxSkew", 1), spread["topologyKey"]

    def enough(more: int) -> bool:
        return _made(world, partial(_with_skew, number=number, skew=skew + more)).is_movable

    if not enough(most):
        return
    more = smallest(enough, most)
    pod = world.desk.name(world.row)
    change = _spec(
        world,
        Kind.SKEW,
        f"pod {pod} with maxSkew {skew + more} instead of {skew} over {key}",
        {"number": number, "maxSkew": skew + more},
        partial(_with_skew, number=number, skew=skew + more),
    )
    yield replace(change, amount=more)


def _with_skew(spec: dict[str, Any], number: int, skew: int) -> None:
    spec["topologySpreadConstraints"] = [
        {**each, "maxSkew": skew} if place == number else each
        for place, each in enumerate(spec["topologySpreadConstraints"])
    ]


def _spec(
    world: World,
    kind: Kind,
    words: str,
    details: Mapping[str, Any],
    edit: Any,  # noqa: ANN401
) -> Change:
    return Change(
        kind=kind,
        subject=world.desk.name(world.row),
        words=words,
        details=details,
        made_in=partial(_made, edit=edit),
    )


def _made(world: World, edit: Any) -> World:  # noqa: ANN401
    spec = dict(world.snapshot.template_of(world.row).spec())
    edit(spec)
    return world.but(snapshot=editing.with_template(world.snapshot, world.row, spec=spec))
