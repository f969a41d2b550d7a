"""The embedded API server answers as the real one does: the same objects, the same refusals."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.apiserver.bootstrapping import bootstrap
from rescheduler.embedded.store import Store
from rescheduler.wire import RESOURCE_QUOTAS
from testbed.api import Api, ApiError, Object, path_of
from testbed.world import World
from tests.cluster.api_requests import CASES, Ask
from tests.scenarios.embedded_api import EmbeddedApi

_PROBLEM = re.compile(
    r"([\w.\[\]/-]+): "
    r"(Invalid value|Required value|Forbidden|Unsupported value|Duplicate value|Too long)"
)
_UNREADABLE = re.compile(r"(?<=json: cannot unmarshal )\w+.*")
_NUMBERS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=record \()[0-9]+")
_ITS_OWN = (
    ".metadata.uid",
    ".resourceVersion",
    ".creationTimestamp",
    ".managedFields",
    ".lastTransitionTime",
    ".deletionTimestamp",
)
_ONLY_REAL = (
    # Nobody reads them here.
    ".spec.clusterIP",
    ".spec.clusterIPs[0]",
    ".spec.ipFamilies[0]",
    ".spec.ipFamilyPolicy",
    # There is no controller that would take it away again.
    ".metadata.finalizers[0]=kubernetes.io/pvc-protection",
)


@pytest.mark.parametrize("name", CASES)
async def test_answers_are_alike(world: World, name: str) -> None:
    server = ApiServer(Store(), lambda: datetime.now(UTC), random.Random(1))  # noqa: S311, TID251
    bootstrap(server)
    embedded = EmbeddedApi(server)
    await embedded.create({"kind": "Namespace", "metadata": {"name": world.name}})
    differing = []
    for number, ask in enumerate(CASES[name]):
        real = await _answer(world.api, world.name, ask)
        ours = await _answer(embedded, world.name, ask)
        for path in sorted(real.keys() | ours.keys()):
            if real.get(path) != ours.get(path):
                found = f"real {real.get(path)!r}, ours {ours.get(path)!r}"
                differing.append(f"{number} {ask.method} {ask.kind}: {path}: {found}")
        if ask.kind == "ResourceQuota":
            await _count(world, server)
    assert not differing, "\n".join(differing)


async def _count(world: World, server: ApiServer) -> None:
    """The quota's controller has seen it in the one, and there is none in the other."""

    async def status() -> Object:
        found = await world.api.get("ResourceQuota", world.name, "q")
        return found.get("status") or {}

    async def is_counted() -> bool:
        return "used" in await status()

    await world.wait("its controller to count the quota", is_counted)
    quota = server.get(RESOURCE_QUOTAS, world.name, "q")
    server.set_status(RESOURCE_QUOTAS, quota, await status())


async def _answer(api: Api, namespace: str, ask: Ask) -> Mapping[str, object]:
    """By the path of each value in it."""
    path = path_of(ask.kind, ask.namespace or namespace, ask.name or None)
    if ask.subresource:
        path += f"/{ask.subresource}"
    try:
        answer = await api.request(
            ask.method, path, query=ask.query, body=ask.body, content_type=ask.content_type
        )
    except ApiError as problem:
        return {"code": problem.status, "message": _words(problem)}
    if ask.method == "DELETE" or ask.subresource == "eviction":
        return {"status": "Success"}
    if ask.kind == "DaemonSet" and ask.method == "PATCH":
        # Its controller may have written by now, and there is none in the other.
        answer.pop("status", None)
    return {
        path: _NUMBERS.sub("*", value) if isinstance(value, str) else value
        for path, value in _values(answer, "")
        if path not in _ONLY_REAL and f"{path}={value}" not in _ONLY_REAL
    }


def _words(problem: ApiError) -> object:
    """Of what is invalid, which fields and why, in a word; else all of it, but for Go's own types
    of what cannot be read, where ours says which one it is.
    """
    words = str(problem).partition(": ")[2]
    if words.startswith("{"):
        words = json.loads(words)["message"]
    if problem.status == 422:
        return sorted(set(_PROBLEM.findall(words.replace("invalid: [", "invalid: "))))
    return _NUMBERS.sub("*", _UNREADABLE.sub("*", words))


def _is_of_token(item: object) -> bool:
    return isinstance(item, dict) and str(item.get("name")).startswith("kube-api-access-")


def _values(value: Any, path: str) -> Iterator[tuple[str, object]]:  # noqa: ANN401 - any JSON
    if path.endswith(_ITS_OWN):
        return
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _values(each, f"{path}.{key}")
    elif isinstance(value, list):
        # Every pod gets a volume with the token of its service account, but for ours.
        own = [each for each in value if not _is_of_token(each)]
        for place, each in enumerate(own):
            yield from _values(each, f"{path}[{place}]")
    elif value is not False and value not in (None, ""):
        yield path, value
