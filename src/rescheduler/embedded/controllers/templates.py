"""Pod templates: which are the same, and the hash by which their ReplicaSets are named. Pure."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from rescheduler.kube import Object
from rescheduler.model import quantities

HASH_LABEL: Final = "pod-template-hash"

_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
_MAPS: Final = ("labels", "annotations", "nodeSelector", "requests", "limits", "matchLabels")
"""Empty, these are as good as not given. Others are not: `emptyDir: {}` is a volume."""
_AMOUNTS: Final = ("requests", "limits")


def canonical(template: Mapping[str, Any]) -> str:
    """The same text for templates that mean the same, whatever ReplicaSet they are of."""
    metadata = template.get("metadata") or {}
    labels = {
        key: value for key, value in (metadata.get("labels") or {}).items() if key != HASH_LABEL
    }
    bare = {**template, "metadata": {**metadata, "labels": labels}}
    return json.dumps(_plain("", bare), sort_keys=True, separators=(",", ":"))


def hashed(template: Mapping[str, Any], collisions: int = 0) -> str:
    """A number in letters that make no words, as Kubernetes writes it."""
    text = canonical(template) + (str(collisions) if collisions else "")
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4])
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(number))


def marked(template: Mapping[str, Any], label: str) -> Object:
    metadata = template.get("metadata") or {}
    labels = {**(metadata.get("labels") or {}), HASH_LABEL: label}
    return {**template, "metadata": {**metadata, "labels": labels}}


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, Mapping):
        if name in _AMOUNTS:
            return {key: _amount(each) for key, each in value.items()}
        found = ((key, _plain(key, each)) for key, each in value.items())
        return {key: each for key, each in found if not _is_nothing(key, each)}
    if isinstance(value, list):
        return [_plain("", each) for each in value]
    return value


def _is_nothing(name: str, value: Any) -> bool:  # noqa: ANN401 - any JSON
    return value is None or value == [] or (value == {} and name in _MAPS)


def _amount(text: Any) -> Any:  # noqa: ANN401 - any JSON
    try:
        return quantities.nanos(text)
    except ValueError:
        return text
