"""Questions of an API server about evictions, as it sends them."""

from typing import Any

REQUEST = "705ab4f5-6393-11e8-b7cc-42010a800002"


def review(pod: str = "web-1", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """`options`: the deleteOptions of the eviction; all else is a field of the request."""
    options = more.pop("options", None)
    request = {
        "uid": REQUEST,
        "kind": {"group": "policy", "version": "v1", "kind": "Eviction"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "subResource": "eviction",
        "name": pod,
        "namespace": "shop",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
        "object": {
            "kind": "Eviction",
            "apiVersion": "policy/v1",
            "metadata": {"name": pod, "namespace": "shop"},
            **({"deleteOptions": options} if options is not None else {}),
        },
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        **more,
    }
    return {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
