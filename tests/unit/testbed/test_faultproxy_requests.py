"""How the fault proxy reads, counts and matches requests; no network."""

import json
from typing import Any

import pytest

from testbed.faultproxy import ApiCall, Match, Request, nth_write, parse_call
from testbed.faultproxy.request import RequestCounter

POD = "/api/v1/namespaces/shop/pods/web-0"
PODS = "/api/v1/namespaces/shop/pods"


def core(verb: str, resource: str, **parts: str) -> ApiCall:
    return ApiCall(verb=verb, version="v1", resource=resource, **parts)


def web_0(verb: str, subresource: str = "") -> ApiCall:
    return core(verb, "pods", namespace="shop", name="web-0", subresource=subresource)


@pytest.mark.parametrize(
    ("method", "target", "expected"),
    [
        # core group, namespaced
        ("GET", POD, web_0("get")),
        ("HEAD", POD, web_0("get")),
        ("PUT", POD, web_0("update")),
        ("PATCH", POD, web_0("patch")),
        ("DELETE", POD, web_0("delete")),
        ("GET", PODS, core("list", "pods", namespace="shop")),
        ("POST", PODS, core("create", "pods", namespace="shop")),
        ("DELETE", PODS, core("deletecollection", "pods", namespace="shop")),
        ("GET", "/api/v1/pods?limit=500", core("list", "pods")),
        # watches
        ("GET", "/api/v1/pods?watch=1", core("watch", "pods")),
        ("GET", "/api/v1/pods?watch=true&timeoutSeconds=300", core("watch", "pods")),
        ("GET", f"{PODS}?resourceVersion=7&watch=True", core("watch", "pods", namespace="shop")),
        ("GET", "/api/v1/pods?watch", core("watch", "pods")),
        ("GET", "/api/v1/pods?watch=0", core("list", "pods")),
        ("GET", "/api/v1/pods?watch=false", core("list", "pods")),
        # subresources
        ("POST", f"{POD}/eviction", web_0("create", "eviction")),
        ("POST", f"{POD}/binding", web_0("create", "binding")),
        ("GET", f"{POD}/status", web_0("get", "status")),
        ("PATCH", f"{POD}/status", web_0("patch", "status")),
        (
            "POST",
            "/api/v1/namespaces/shop/serviceaccounts/us/token",
            core("create", "serviceaccounts", namespace="shop", name="us", subresource="token"),
        ),
        # cluster-scoped
        ("GET", "/api/v1/nodes", core("list", "nodes")),
        ("GET", "/api/v1/nodes/n1", core("get", "nodes", name="n1")),
        (
            "PATCH",
            "/api/v1/nodes/n1/status",
            core("patch", "nodes", name="n1", subresource="status"),
        ),
        (
            "GET",
            "/api/v1/nodes/n1/proxy/metrics/cadvisor",
            core("get", "nodes", name="n1", subresource="proxy"),
        ),
        # namespaces themselves
        ("GET", "/api/v1/namespaces", core("list", "namespaces")),
        ("GET", "/api/v1/namespaces?watch=1", core("watch", "namespaces")),
        ("POST", "/api/v1/namespaces", core("create", "namespaces")),
        (
            "DELETE",
            "/api/v1/namespaces/shop",
            core("delete", "namespaces", namespace="shop", name="shop"),
        ),
        (
            "PUT",
            "/api/v1/namespaces/shop/finalize",
            core("update", "namespaces", namespace="shop", name="shop", subresource="finalize"),
        ),
        # other groups
        (
            "GET",
            "/apis/apps/v1/deployments?watch=1",
            ApiCall(verb="watch", group="apps", version="v1", resource="deployments"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/shop/deployments/web/scale",
            ApiCall(
                verb="patch",
                group="apps",
                version="v1",
                resource="deployments",
                subresource="scale",
                namespace="shop",
                name="web",
            ),
        ),
        (
            "PUT",
            "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/us",
            ApiCall(
                verb="update",
                group="coordination.k8s.io",
                version="v1",
                resource="leases",
                namespace="kube-system",
                name="us",
            ),
        ),
        (
            "GET",
            "/apis/storage.k8s.io/v1/csinodes/n%2D1",
            ApiCall(
                verb="get", group="storage.k8s.io", version="v1", resource="csinodes", name="n-1"
            ),
        ),
        # no resource
        ("GET", "/readyz", ApiCall(verb="get")),
        ("GET", "/version?timeout=32s", ApiCall(verb="get")),
        ("GET", "/", ApiCall(verb="get")),
        ("GET", "/api/v1", ApiCall(verb="get")),
        ("GET", "/apis", ApiCall(verb="get")),
        ("GET", "/apis/apps/v1", ApiCall(verb="get")),
        ("GET", "/openapi/v3/apis/apps/v1", ApiCall(verb="get")),
    ],
)
def test_a_path_is_read_as_the_api_server_reads_it(
    method: str, target: str, expected: ApiCall
) -> None:
    assert parse_call(method, target) == expected


def record(method: str, target: str, body: dict[str, Any] | bytes = b"") -> Request:
    payload = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RequestCounter().record(method, target, payload, time=0.0)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", f"{PODS}?dryRun=All", b""),
        ("DELETE", POD, {"kind": "DeleteOptions", "dryRun": ["All"]}),
        ("POST", f"{POD}/eviction", {"deleteOptions": {"dryRun": ["All"]}}),
    ],
)
def test_a_dry_run_is_not_a_write(method: str, target: str, body: dict[str, Any] | bytes) -> None:
    request = record(method, target, body)
    assert request.dry_run
    assert not request.write


@pytest.mark.parametrize(
    "body", [b"", b"k8s\x00protobuf", b"[1]", b'{"deleteOptions": null, "dryRun": []}']
)
def test_any_other_body_makes_a_write(body: bytes) -> None:
    assert record("POST", f"{POD}/eviction", body).write


def test_requests_and_writes_are_numbered_apart() -> None:
    counter = RequestCounter()
    seen = [
        counter.record(method, target, b"", time=0.0)
        for method, target in [("POST", PODS), ("GET", PODS), ("DELETE", POD)]
    ]
    assert [(each.number, each.write_number) for each in seen] == [(1, 1), (2, None), (3, 2)]


def test_a_create_is_named_by_its_body() -> None:
    assert record("POST", PODS, {"metadata": {"name": "web-0-moved"}}).name == "web-0-moved"
    assert record("POST", PODS, {"metadata": {"generateName": "web-"}}).name == ""
    assert record("POST", PODS, {"metadata": None}).name == ""


EVICTION = record("POST", f"{POD}/eviction")


@pytest.mark.parametrize(
    "match",
    [
        Match(),
        Match(verb="create", resource="pods", subresource="eviction"),
        Match(resource="pods", subresource="*"),
        Match(subresource="eviction"),
        Match(group="", namespace="shop", name=r"web-\d+"),
        Match(write=True),
        Match(predicate=lambda request: request.target.endswith("/eviction")),
        nth_write(1),
    ],
)
def test_a_match_accepts(match: Match) -> None:
    assert match.accepts(EVICTION)


@pytest.mark.parametrize(
    "match",
    [
        Match(resource="pods"),  # as in RBAC: not its subresources
        Match(verb="delete"),
        Match(group="metrics.k8s.io"),
        Match(namespace="other"),
        Match(name="web"),  # the whole name
        Match(write=False),
        Match(predicate=lambda _: False),
        nth_write(2),
    ],
)
def test_a_match_rejects(match: Match) -> None:
    assert not match.accepts(EVICTION)
