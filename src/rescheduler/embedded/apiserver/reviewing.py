"""A validating admission webhook for evictions: asked before the pod is even looked up.

As kube-apiserver does by a ValidatingWebhookConfiguration for CREATE of pods/eviction whose
failurePolicy is Ignore: if it fails, evictions go on as if it were not there. Whose answers they
are is not known here.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import msgspec
import structlog

from rescheduler.kube import Object, errors

API_VERSION: Final = "admission.k8s.io/v1"
_KIND: Final = "AdmissionReview"
_LEAST_CODE: Final = 400
"""Of a refusal, whatever it says."""

_encode = msgspec.json.Encoder().encode
_decode: Callable[[bytes], Any] = msgspec.json.Decoder().decode


class Webhook(NamedTuple):
    name: str
    """As it stands in its configuration, and in what whoever is refused reads."""
    ask: Callable[[bytes], bytes]
    """An AdmissionReview in JSON, as it would be posted; the answer in the same form."""


class Asking(NamedTuple):
    """Who evicts what, and how."""

    uid: str
    """Of this question."""
    namespace: str
    pod: str
    user: str
    options: Mapping[str, Any]
    """The deleteOptions of the Eviction."""


def check(webhook: Webhook | None, asking: Callable[[], Asking]) -> None:
    """Raises KubeError, by the status that it answers: it refuses the eviction."""
    if webhook is None:
        return
    log = structlog.get_logger()
    asked = asking()
    try:
        response = _response(asked, webhook.ask(_encode(_review(asked))))
    except Exception:
        log.exception("webhook failed, and is ignored", webhook=webhook.name)
        return
    if not response["allowed"]:
        raise errors.from_event(_told(webhook.name, response.get("status") or {}))


def _review(asked: Asking) -> Object:
    evicted = {"apiVersion": "policy/v1", "kind": "Eviction"}
    metadata = {"name": asked.pod, "namespace": asked.namespace}
    return {
        "apiVersion": API_VERSION,
        "kind": _KIND,
        "request": {
            "uid": asked.uid,
            "kind": {"group": "policy", "version": "v1", "kind": "Eviction"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "subResource": "eviction",
            "name": asked.pod,
            "namespace": asked.namespace,
            "operation": "CREATE",
            "userInfo": {"username": asked.user},
            # Who wants a dry run says so in the options, as our own client does.
            "dryRun": False,
            "object": {**evicted, "metadata": metadata, "deleteOptions": asked.options},
        },
    }


def _response(asked: Asking, answer: bytes) -> Mapping[str, Any]:
    """Raises whatever is wrong with it."""
    response: Mapping[str, Any] = _decode(answer)["response"]
    if response["uid"] != asked.uid:
        raise ValueError(f"it answers another question: {response['uid']}")
    if not isinstance(response["allowed"], bool):
        raise TypeError("it does not say whether it allows it")
    return response


def _told(name: str, status: Mapping[str, Any]) -> Mapping[str, Any]:
    """In the words of the API server (ToStatusErr)."""
    denied = f'admission webhook "{name}" denied the request'
    said = status.get("message") or status.get("reason")
    return {
        **status,
        "code": max(int(status.get("code") or 0), _LEAST_CODE),
        "message": f"{denied}: {said}" if said else f"{denied} without explanation",
    }
