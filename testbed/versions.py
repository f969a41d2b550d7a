"""What each supported Kubernetes version has of what we make use of, asked of its server."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from testbed import build
from testbed.api import Api, ApiError
from testbed.builders import pod
from testbed.instance import Instance, OwnedInstance

Probe = Callable[[Api], Awaitable[bool]]


async def has_watch_list(api: Api) -> bool:
    """Streams a list, instead of pages."""
    query = {
        "watch": "1",
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": "1",
    }
    try:
        await api.request("GET", "/api/v1/namespaces", query=query)
    except json.JSONDecodeError:
        return True  # one event a line
    except ApiError:
        return False
    return True


async def has_admission_policy(api: Api) -> bool:
    return await _serves(api, "/apis/admissionregistration.k8s.io/v1", "mutatingadmissionpolicies")


async def has_resize(api: Api) -> bool:
    return await _serves(api, "/api/v1", "pods/resize")


async def has_scheduling_groups(api: Api) -> bool:
    """Whether a pod may say which group it is of: a server that does not know drops the field."""
    tried = pod("tried")
    tried["spec"]["schedulingGroup"] = {"podGroupName": "group"}
    path = "/api/v1/namespaces/default/pods"
    made = await api.request("POST", path, query={"dryRun": "All"}, body=tried)
    return "schedulingGroup" in made["spec"]


async def _serves(api: Api, group: str, name: str) -> bool:
    found = await api.request("GET", group)
    return name in [each["name"] for each in found["resources"]]


PROBES: dict[str, Probe] = {
    "WatchList": has_watch_list,
    "admission policy v1": has_admission_policy,
    "in-place resize": has_resize,
    "scheduling groups": has_scheduling_groups,
}


async def row(instance: Instance) -> str:
    """What this one has."""
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        told = (await api.request("GET", "/version"))["gitVersion"]
        found = ["yes" if await probe(api) else "no" for probe in PROBES.values()]
    return f"| {told.removeprefix('v')} | {' | '.join(found)} |"


def _row_of(minor: str) -> str:
    with OwnedInstance(minor) as owned:
        return asyncio.run(row(owned.instance))


def table(minors: list[str]) -> list[str]:
    """As it stands in docs/deployment-guide.md."""
    head = f"| Kubernetes | {' | '.join(PROBES)} |"
    rows = [_row_of(minor) for minor in minors]
    return [head, "|---" * (len(PROBES) + 1) + "|", *rows]


def show(*, only_built: bool) -> None:
    minors = [each for each in build.minors() if not only_built or build.is_built(each)]
    print("\n".join(table(minors)))
    for each in build.minors():
        if each not in minors:
            print(f"{each} is not built: python -m testbed build {each}")
