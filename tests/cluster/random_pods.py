"""Random pods that an API server accepts, in every shape that says what a pod asks for.

The same generator makes the same pod, so a pod can be made again from its seed alone.
"""

import random
from collections.abc import Mapping

from rescheduler.model import resources
from testbed.api import Object

GPU = "example.com/gpu"
HUGE_PAGES = "hugepages-2Mi"
RUNTIME_CLASSES: Mapping[str, Mapping[str, str]] = {
    "small": {"cpu": "250m", "memory": "120Mi"},
    "odd": {"cpu": "0.0001", "memory": "1500m"},
    "disk": {"ephemeral-storage": "1.1M"},
}
"""Name -> the overhead of its pods."""

_MOST_PAGES = 4
_KEPT = -3


def spec(luck: random.Random) -> Object:
    """A specification without a place to go."""
    whole_pod = luck.choice(["", "", "", "requests", "limits"])
    # The API server completes the requests of the whole pod before it rounds those of the
    # containers, and then may find them too small.
    finest = _KEPT if whole_pod else -9
    names = iter(f"c{number}" for number in range(99))
    made: Object = {
        "containers": [_container(luck, next(names), finest) for _ in range(luck.randint(1, 3))],
        "initContainers": [
            _init_container(luck, next(names), finest) for _ in range(luck.choice((0, 0, 1, 2, 3)))
        ],
        "terminationGracePeriodSeconds": 0,
    }
    if whole_pod:
        made["resources"] = _of_the_whole_pod(luck, made, limits=whole_pod == "limits")
    if luck.random() < 0.3:
        made["runtimeClassName"] = luck.choice(list(RUNTIME_CLASSES))
    return made


def _container(luck: random.Random, name: str, finest: int) -> Object:
    requests: Object = {}
    limits: Object = {}
    for resource, amount in (("cpu", cpu), ("memory", size), ("ephemeral-storage", size)):
        if luck.random() < 0.6:
            # Of a limit alone, the API server makes a request.
            (limits if luck.random() < 0.2 else requests)[resource] = amount(luck, finest)
    if luck.random() < 0.3:
        limits[GPU] = luck.choice(["0", "1", "3", "2000m", "1e1"])
    if luck.random() < 0.2 and (requests | limits).keys() & {"cpu", "memory"}:
        limits[HUGE_PAGES] = _pages(luck)
    given = {"requests": requests, "limits": limits}
    return {
        "name": name,
        "image": "app:1",
        "resources": {key: amounts for key, amounts in given.items() if amounts},
    }


def _init_container(luck: random.Random, name: str, finest: int) -> Object:
    made = _container(luck, name, finest)
    if luck.random() < 0.5:
        made["restartPolicy"] = "Always"
    return made


def _of_the_whole_pod(luck: random.Random, made: Object, *, limits: bool) -> Object:
    """The API server wants it to be no less than the containers ask for, or may at most have."""
    of_containers = resources.of_template(made)
    given: Object = {"requests": {}, "limits": {}}
    for name, unit in (("cpu", "m"), ("memory", "")):
        if luck.random() < 0.6:
            more = luck.choice([0, 1, luck.randrange(10**6)])
            given["requests"][name] = f"{of_containers.get(name, 0) + more}{unit}"
        if limits:
            given["limits"][name] = f"{2**45}{unit}"
    if limits and luck.random() < 0.3:
        pages = luck.randrange(_MOST_PAGES) * 2**21
        given["limits"][HUGE_PAGES] = str(of_containers.get(HUGE_PAGES, 0) + pages)
    return {key: amounts for key, amounts in given.items() if amounts}


def cpu(luck: random.Random, finest: int = -9) -> str:
    """Not finer than ten to the power of `finest`, where the API server keeps no more than -3."""
    coarse = ["0", "1e-3", "2", "1.5e0", "0.25", f"{luck.randrange(4000)}m"]
    fine = [
        "0.0001",
        "1u",
        "33.3m",
        f"{luck.randrange(4)}.{luck.randrange(10**5)}",
        f"{luck.randrange(10**10)}n",
    ]
    return luck.choice(coarse if finest >= _KEPT else coarse + fine)


def size(luck: random.Random, finest: int = -9) -> str:
    number = luck.randrange(1, 1000)
    coarse = [
        "0",
        "0.5",
        "1500m",
        "100.5Mi",
        f"{number}Mi",
        f"{number}M",
        f"{number}e5",
        str(luck.randrange(2**33)),
    ]
    fine = ["1n", "0.3Gi", f"{number}.{number}Ki", f"{number}.7e-3"]
    return luck.choice(coarse if finest >= _KEPT else coarse + fine)


def _pages(luck: random.Random) -> str:
    number = luck.randint(1, _MOST_PAGES)
    return luck.choice([f"{number * 2}Mi", f"{number * 2048}Ki", str(number * 2**21)])


def allocatable(wanted: resources.Resources, luck: random.Random) -> Object:
    """A node's own words for these amounts: the scheduler rounds up what is not whole."""
    return {name: _written(name, amount, luck) for name, amount in wanted.items()}


def _written(name: str, amount: int, luck: random.Random) -> str:
    if name == resources.CPU:
        return luck.choice([f"{amount}m", f"{amount * 10**6}n", f"{amount}e-3"])
    if amount and name in (resources.MEMORY, resources.EPHEMERAL_STORAGE):
        return luck.choice([str(amount), f"{amount * 1000}m", f"{amount - 1}.{luck.randint(1, 9)}"])
    return str(amount)


def status(luck: random.Random, made: Object) -> Object:
    """What a kubelet might report of this specification in the middle of a resize, or later."""
    reported: Object = {"phase": luck.choice(["Running", "Running", "Running", "Pending"])}
    for kind, key in (
        ("containers", "containerStatuses"),
        ("initContainers", "initContainerStatuses"),
    ):
        reported[key] = [
            _container_status(luck, container)
            for container in made.get(kind) or ()
            if luck.random() < 0.8
        ]
    if luck.random() < 0.6:
        reported |= _granted(luck, (made.get("resources") or {}).get("requests") or {})
    resize = luck.choice(["", "Infeasible", "Deferred", "PodResizeInProgress"])
    if resize == "PodResizeInProgress":
        reported["conditions"] = [{"type": resize, "status": "True"}]
    elif resize:
        pending = {"type": "PodResizePending", "status": "True", "reason": resize}
        reported["conditions"] = [pending]
    return reported


def _container_status(luck: random.Random, container: Object) -> Object:
    requests = container["resources"].get("requests") or {}
    known = {"name": container["name"], "image": "app:1", "imageID": "", "ready": True}
    return {**known, "restartCount": 0, **_granted(luck, requests)}


def _granted(luck: random.Random, requests: Object) -> Object:
    """Something near what was asked for, or not said, or not of every resource."""
    granted: Object = {}
    if luck.random() < 0.8:
        granted["resources"] = luck.choice([{}, {"requests": _near(luck, requests)}])
    if luck.random() < 0.7:
        granted["allocatedResources"] = _near(luck, requests)
    return granted


def _near(luck: random.Random, requests: Object) -> Object:
    amounts = {"cpu": cpu, "memory": size}
    return {
        name: amounts[name](luck) if name in amounts and luck.random() < 0.7 else amount
        for name, amount in requests.items()
        if luck.random() < 0.9
    }
