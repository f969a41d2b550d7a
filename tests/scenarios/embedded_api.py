"""`testbed.api.Api` on the embedded cluster: what users, fate and the auditor ask of it.

They come in by the paths, bodies and status codes of a real API server, so that a scenario cannot
tell which one it talks to.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Final

from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.client.copies import own
from rescheduler.embedded.kinds import KINDS
from rescheduler.embedded.store import Change, key_of
from rescheduler.kube import errors
from rescheduler.model import selectors
from rescheduler.wire import PODS, Resource
from testbed.api import Api, ApiError, Object, path_of
from testbed.faultproxy.apicall import ApiCall, parse_call

_ANSWER_SECONDS: Final = 0.002
_STRATEGIC: Final = "application/strategic-merge-patch+json"
_RESOURCES: Final = {kind.resource.plural: kind.resource for kind in KINDS}


class EmbeddedApi(Api):
    def __init__(self, server: ApiServer) -> None:
        self._server = server

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | None = None,
        content_type: str = "application/json",
    ) -> Object:
        # Others act before the answer is here, as they do in a real cluster.
        await asyncio.sleep(_ANSWER_SECONDS)
        call = parse_call(method, path)
        try:
            answer = self._answer(call, query or {}, body or {}, content_type)
        except errors.KubeError as problem:
            raise ApiError(problem.status or 500, str(problem)) from None
        return own(answer)

    def _answer(
        self, call: ApiCall, query: Mapping[str, str], body: Object, content_type: str
    ) -> Object:
        resource, namespace = _resource(call), call.namespace or None
        if call.resource == "namespaces":
            namespace = None
        dry_run = query.get("dryRun") == "All" or body.get("dryRun") == ["All"]
        match call.verb:
            case "get":
                return self._server.get(resource, namespace, call.name)
            case "list":
                return self._list(resource, namespace, query.get("labelSelector", ""))
            case "create" if call.subresource == "eviction":
                return self._evict(call, body)
            case "create":
                return self._server.create(resource, namespace, body, dry_run=dry_run)
            case "update":
                return self._server.replace(resource, body, subresource=call.subresource)
            case "patch":
                return self._server.patch(
                    resource,
                    namespace,
                    call.name,
                    body,
                    subresource=call.subresource,
                    strategic=content_type == _STRATEGIC,
                )
            case "delete":
                return self._delete(resource, namespace, call.name, body)
        raise AssertionError(f"nobody has needed {call} so far")

    def _list(self, resource: Resource, namespace: str | None, selector: str) -> Object:
        self._server.kind_of(resource)
        wanted = selectors.parse(selector) if selector else None
        items = [
            item
            for item in sorted(self._server.store.all(resource, namespace), key=key_of)
            if wanted is None or wanted.matches(item["metadata"].get("labels") or {})
        ]
        version = str(self._server.store.version)
        return {"metadata": {"resourceVersion": version}, "items": items}

    def _evict(self, call: ApiCall, body: Object) -> Object:
        options = body.get("deleteOptions") or {}
        self._server.evict(
            call.namespace,
            call.name,
            uid=(options.get("preconditions") or {}).get("uid", ""),
            grace_seconds=options.get("gracePeriodSeconds"),
            dry_run=options.get("dryRun") == ["All"],
        )
        return {"kind": "Status", "status": "Success"}

    def _delete(
        self, resource: Resource, namespace: str | None, name: str, options: Object
    ) -> Object:
        exactly = options.get("preconditions") or {}
        self._server.delete(
            resource,
            namespace,
            name,
            uid=exactly.get("uid", ""),
            resource_version=exactly.get("resourceVersion", ""),
            grace_seconds=options.get("gracePeriodSeconds"),
            propagation=options.get("propagationPolicy", ""),
        )
        return {"kind": "Status", "status": "Success"}

    async def watch(
        self, kind: str, namespace: str | None, resource_version: str
    ) -> AsyncIterator[tuple[str, Object]]:
        call = parse_call("GET", path_of(kind, namespace))
        resource = _resource(call)
        queue: asyncio.Queue[Change] = asyncio.Queue()
        missed = self._server.store.changes_since(int(resource_version), resource)
        if missed is None:
            raise ApiError(410, "The resourceVersion for the provided watch is too old.")
        end = self._server.store.listen(resource, queue.put_nowait)
        try:
            for change in missed:
                if _is_in(change, namespace):
                    yield change.kind, own(change.object)
            while True:
                change = await queue.get()
                if _is_in(change, namespace):
                    yield change.kind, own(change.object)
        finally:
            end()


def _is_in(change: Change, namespace: str | None) -> bool:
    return not namespace or change.object["metadata"].get("namespace") == namespace


def _resource(call: ApiCall) -> Resource:
    if call.resource == PODS.plural and not call.group:
        return PODS
    found = _RESOURCES.get(call.resource)
    if found is None or not found.group_version.startswith(call.group):
        raise errors.NotFound("the server could not find the requested resource", status=404)
    return found
