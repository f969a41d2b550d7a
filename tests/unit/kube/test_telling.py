"""What is told of each request."""

import pytest

from rescheduler.kube.telling import request_of

REQUESTS = [
    ("GET", "/api/v1/pods", {}, ("list", "pods")),
    ("GET", "/api/v1/pods", {"watch": "1"}, ("watch", "pods")),
    ("GET", "/api/v1/pods", {"watch": "true"}, ("watch", "pods")),
    ("GET", "/api/v1/namespaces/shop/pods", {"limit": "200"}, ("list", "pods")),
    ("GET", "/api/v1/namespaces/shop/pods/web-1", {}, ("get", "pods")),
    ("GET", "/api/v1/namespaces", {}, ("list", "namespaces")),
    ("GET", "/api/v1/namespaces/shop", {}, ("get", "namespaces")),
    ("GET", "/api/v1/nodes/n1", {}, ("get", "nodes")),
    ("GET", "/apis/metrics.k8s.io/v1beta1/nodes", {}, ("list", "nodes.metrics.k8s.io")),
    ("POST", "/api/v1/namespaces/shop/pods", {}, ("create", "pods")),
    ("POST", "/api/v1/namespaces/shop/pods/web-1/eviction", {}, ("create", "pods/eviction")),
    (
        "PATCH",
        "/apis/rescheduler.io/v1alpha1/namespaces/shop/podmigrations/a/status",
        {},
        ("patch", "podmigrations/status"),
    ),
    (
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rescheduler",
        {},
        ("update", "leases"),
    ),
    ("DELETE", "/api/v1/namespaces/shop/pods/web-1", {}, ("delete", "pods")),
    ("GET", "/apis", {}, ("list", "")),
    ("GET", "/version", {}, ("list", "")),
]


@pytest.mark.parametrize(("method", "path", "query", "named"), REQUESTS)
def test_it_is_named_as_in_rbac(
    method: str, path: str, query: dict[str, str], named: tuple[str, str]
) -> None:
    assert request_of(method, path, query) == named
