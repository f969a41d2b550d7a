"""What random pods ask for: one function a rule of scheduling."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.unit.plan.support.cluster_objects import Object

GPU = "example.com/gpu"
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
HOST = "kubernetes.io/hostname"
TAINTS = (("dedicated", "gpu"), ("dedicated", "db"), ("old", ""))
_ADDRESSES = ("", "", "10.0.0.1", "10.0.0.2", "0.0.0.0")  # noqa: S104 - only written
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(slots=True)
class World:
    name: str
    luck: random.Random
    target: str = ""
    """The only node that is not cordoned."""
    nodes: list[Object] = field(default_factory=list)
    namespaces: list[Object] = field(default_factory=list)
    storage: list[Object] = field(default_factory=list)
    pods: list[Object] = field(default_factory=list)
    claims: list[tuple[str, str]] = field(default_factory=list)
    """Namespace and name."""
    ending: list[str] = field(default_factory=list)
    """Names of pods that are terminating."""
    nominee: Object | None = None
    """A pod that waits, and for which the scheduler makes room on the target."""
    away: list[Object] = field(default_factory=list)
    """The manifests of pods that are on other nodes than the target, to copy them."""

    def own_key(self, what: str) -> str:
        """A topology key that no node of another world has."""
        return f"{self.name}.fit.test/{what}"

    @property
    def own_keys(self) -> list[str]:
        return [self.own_key("zone"), self.own_key("rack")]

    @property
    def names(self) -> list[str]:
        """Of the namespaces, but for the last, where only the nominee is."""
        return [each["metadata"]["name"] for each in self.namespaces[:-1]]

    def find_node(self, name: str) -> Object:
        return next(each for each in self.nodes if each["metadata"]["name"] == name)


def tolerate(pod: Object, node: Object) -> None:
    for taint in node["spec"]["taints"][1:]:
        one = {"key": taint["key"], "operator": "Exists", "effect": taint["effect"]}
        pod["spec"]["tolerations"].append(one)


def tolerate_somehow(luck: random.Random, pod: Object) -> None:
    for _ in range(luck.randint(1, 2)):
        key, value = luck.choice(TAINTS)
        one: Object = {"key": key, "operator": luck.choice(("Exists", "Equal"))}
        if one["operator"] == "Equal":
            one["value"] = luck.choice((value, value, "other"))
        if effect := luck.choice(("", "NoSchedule", "NoExecute", "PreferNoSchedule")):
            one["effect"] = effect
        pod["spec"]["tolerations"].append(one)
    if luck.random() < 0.2:
        pod["spec"]["tolerations"].append({"operator": "Exists", "effect": "NoExecute"})


def _ask_for_room(made: World, pod: Object) -> None:
    luck = made.luck
    asked = {}
    if luck.random() < 0.7:
        asked["cpu"] = f"{luck.choice((0, 1, 250, 500, 500, 1000, 2000))}m"
    if luck.random() < 0.4:
        asked["memory"] = f"{luck.choice((1, 512, 1024, 2048))}Mi"
    if luck.random() < 0.2:
        asked["ephemeral-storage"] = luck.choice(("1Gi", "6Gi", "11Gi"))
    container = pod["spec"]["containers"][0]
    container["resources"] = {"requests": asked}
    if luck.random() < 0.2:
        container["resources"]["limits"] = {GPU: luck.choice("0112")}
        container["resources"]["requests"][GPU] = container["resources"]["limits"][GPU]
    if luck.random() < 0.15:
        init = {"name": "init", "image": "app:1", "resources": {"requests": {"cpu": "1500m"}}}
        if luck.random() < 0.5:
            init["restartPolicy"] = "Always"
        pod["spec"].setdefault("initContainers", []).append(init)


def _ask_for_ports(made: World, pod: Object) -> None:
    luck = made.luck
    ports = []
    for number in luck.sample((80, 443, 8080), luck.randint(1, 2)):
        port: Object = {"containerPort": number, "hostPort": number}
        port["protocol"] = luck.choice(("TCP", "TCP", "UDP", "SCTP"))
        if address := luck.choice(_ADDRESSES):
            port["hostIP"] = address
        ports.append(port)
    if luck.random() < 0.15:
        sidecar = {"name": "sidecar", "image": "app:1", "restartPolicy": "Always", "ports": ports}
        pod["spec"].setdefault("initContainers", []).append(sidecar)
    else:
        pod["spec"]["containers"][0]["ports"] = ports
        pod["spec"]["hostNetwork"] = luck.random() < 0.15


def _ask_for_a_disk(made: World, pod: Object) -> None:
    luck = made.luck
    name, read_only = luck.choice("de"), luck.random() < 0.4
    sources: list[Object] = [
        {"gcePersistentDisk": {"pdName": name, "readOnly": read_only}},
        {"awsElasticBlockStore": {"volumeID": name, "readOnly": read_only}},
        {
            "iscsi": {
                "iqn": f"iqn.2026-01.test.fit:{name}",
                "targetPortal": f"10.0.0.{luck.randint(1, 2)}",
                "lun": 0,
                "readOnly": read_only,
            }
        },
        {
            "rbd": {
                "monitors": luck.sample(("m1", "m2", "m3"), 2),
                "image": name,
                "pool": luck.choice(("rbd", "other")),
                "readOnly": read_only,
            }
        },
    ]
    _add_volume(pod, luck.choice(sources))


def _ask_for_a_claim(made: World, pod: Object) -> None:
    luck = made.luck
    namespace = pod["metadata"]["namespace"]
    own = [name for its, name in made.claims if its == namespace]
    for name in luck.sample(own, luck.choice((1, 1, 2))):
        claim = name if luck.random() < 0.97 else "not-there"
        _add_volume(pod, {"persistentVolumeClaim": {"claimName": claim}})


def _add_volume(pod: Object, source: Object) -> None:
    volumes = pod["spec"].setdefault("volumes", [])
    volumes.append({"name": f"v{len(volumes)}", **source})


def _ask_for_nodes(made: World, pod: Object) -> None:
    luck = made.luck
    if luck.random() < 0.3:
        pod["spec"]["nodeSelector"] = luck.choice(
            ({"disk": "ssd"}, {"world": made.name}, {made.own_key("zone"): "z1"})
        )
        return
    affinity = pod["spec"].setdefault("affinity", {})
    affinity["nodeAffinity"] = {_REQUIRED: node_selector(made, fields=True)}
    if luck.random() < 0.3:
        preference = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}
        affinity["nodeAffinity"][_PREFERRED] = [{"weight": 5, "preference": preference}]


def node_selector(made: World, *, fields: bool = False) -> Object:
    luck = made.luck
    terms: list[Object] = []
    for _ in range(luck.choice((1, 1, 2))):
        wanted = [_node_requirement(made) for _ in range(luck.choice((1, 1, 2)))]
        terms.append({"matchExpressions": wanted})
    if fields and luck.random() < 0.2:
        operator = luck.choice(("In", "NotIn"))
        name = luck.choice(made.nodes)["metadata"]["name"]
        luck.choice(terms)["matchFields"] = [
            {"key": "metadata.name", "operator": operator, "values": [name]}
        ]
    return {"nodeSelectorTerms": terms}


def _node_requirement(made: World) -> Object:
    luck = made.luck
    requirements: list[Object] = [
        {"key": "disk", "operator": "In", "values": ["ssd"]},
        {"key": "disk", "operator": "NotIn", "values": ["ssd"]},
        {"key": made.own_key("zone"), "operator": "In", "values": luck.sample(("z1", "z2"), 1)},
        {"key": made.own_key("rack"), "operator": "NotIn", "values": ["r2"]},
        {"key": HOST, "operator": "In", "values": [each["metadata"]["name"] for each in made.nodes]}
        if made.nodes
        else {"key": HOST, "operator": "Exists"},
        {"key": "size", "operator": luck.choice(("Gt", "Lt")), "values": [luck.choice("234")]},
        {"key": "size", "operator": luck.choice(("Exists", "DoesNotExist"))},
        {"key": "nowhere", "operator": luck.choice(("DoesNotExist", "DoesNotExist", "Exists"))},
    ]
    return luck.choice(requirements)


# ---------------------------------------------------------------------- near and far


def _keep_away(made: World, pod: Object) -> None:
    _add_terms(made, pod, "podAntiAffinity")


def _stay_near(made: World, pod: Object) -> None:
    _add_terms(made, pod, "podAffinity")


def _add_terms(made: World, pod: Object, kind: str) -> None:
    luck = made.luck
    terms = [_term(made) for _ in range(luck.choice((1, 1, 1, 2)))]
    affinity = pod["spec"].setdefault("affinity", {}).setdefault(kind, {})
    affinity[_REQUIRED] = terms
    if luck.random() < 0.2:
        affinity[_PREFERRED] = [{"weight": 7, "podAffinityTerm": _term(made)}]
    if luck.random() < 0.1:
        # A wish is no rule.
        affinity[_PREFERRED] = [
            {"weight": 7, "podAffinityTerm": term} for term in affinity.pop(_REQUIRED)
        ]


def _term(made: World) -> Object:
    luck = made.luck
    term: Object = {
        "topologyKey": luck.choice([HOST, *made.own_keys, ZONE]),
        "labelSelector": _label_selector(luck),
    }
    whose = luck.random()
    if whose < 0.15:
        term["namespaces"] = luck.sample(made.names, luck.choice((1, 2)))
    elif whose < 0.4:
        # It may match namespaces of other worlds.
        term["topologyKey"] = luck.choice(made.own_keys)
        chosen: list[Object] = [
            {},
            {"matchLabels": {"team": "red"}},
            {"matchExpressions": [{"key": "stage", "operator": "Exists"}]},
            {"matchLabels": {"team": "green"}},
            {"matchLabels": {"kubernetes.io/metadata.name": made.names[0]}},
        ]
        term["namespaceSelector"] = luck.choice(chosen)
        if luck.random() < 0.2:
            term["namespaces"] = [made.names[0]]
    if luck.random() < 0.15:
        term[luck.choice(("matchLabelKeys", "mismatchLabelKeys"))] = ["version"]
    elif luck.random() < 0.05:
        del term["labelSelector"]  # which selects nobody
    return term


def _label_selector(luck: random.Random) -> Object:
    chosen: list[Object] = [
        {"matchLabels": {"app": "a"}},
        {"matchLabels": {"app": "b"}},
        {"matchLabels": {"app": "c", "tier": "x"}},
        {"matchExpressions": [{"key": "app", "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": "tier", "operator": "Exists"}]},
        {"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]},
        {},
    ]
    return luck.choice(chosen)


def _spread(made: World, pod: Object) -> None:
    luck = made.luck
    keys = luck.sample([HOST, *made.own_keys, ZONE], luck.choice((1, 1, 1, 2)))
    pod["spec"]["topologySpreadConstraints"] = [_constraint(made, pod, key) for key in keys]


def _constraint(made: World, pod: Object, key: str) -> Object:
    luck = made.luck
    own = {"matchLabels": {"app": pod["metadata"]["labels"]["app"]}}
    constraint: Object = {
        "maxSkew": luck.choice((1, 1, 1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if luck.random() < 0.9 else "ScheduleAnyway",
        "labelSelector": own if luck.random() < 0.7 else _label_selector(luck),
    }
    if luck.random() < 0.25 and constraint["whenUnsatisfiable"] == "DoNotSchedule":
        constraint["minDomains"] = luck.randint(1, 4)
    if key not in made.own_keys and luck.random() < 0.8:
        # Else every node of every world is a domain, and those of others are empty.
        constraint["nodeTaintsPolicy"] = "Honor"
    elif luck.random() < 0.3:
        constraint["nodeTaintsPolicy"] = luck.choice(("Honor", "Ignore"))
    if luck.random() < 0.3:
        constraint["nodeAffinityPolicy"] = luck.choice(("Honor", "Ignore"))
    if luck.random() < 0.2:
        constraint["matchLabelKeys"] = ["version"]
    elif luck.random() < 0.05:
        del constraint["labelSelector"]
    return constraint


RULES: dict[str, Callable[[World, Object], None]] = {
    "room": _ask_for_room,
    "ports": _ask_for_ports,
    "disk": _ask_for_a_disk,
    "claim": _ask_for_a_claim,
    "nodes": _ask_for_nodes,
    "anti-affinity": _keep_away,
    "affinity": _stay_near,
    "spread": _spread,
}
"""What a pod may be made to ask for."""
