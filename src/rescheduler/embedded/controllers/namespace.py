"""Namespaces: what is in one that is deleted goes with it, its pods first; a new one gets its
ServiceAccount.
"""

import contextlib
import random
from collections.abc import Callable
from typing import Final

from rescheduler import wire
from rescheduler.embedded import kinds
from rescheduler.embedded.apiserver import ApiServer
from rescheduler.embedded.controllers.queue import Queue
from rescheduler.embedded.store import Change, Key, key_of
from rescheduler.kube import Object, errors
from rescheduler.model.objects import is_terminating
from rescheduler.wire import Resource

_FINALIZER: Final = "kubernetes"
_DEFAULT_ACCOUNT: Final = "default"
_BEHIND_PODS: Final = tuple(
    kind.resource for kind in kinds.KINDS if kind.namespaced and kind.resource != wire.PODS
)


class NamespaceController:
    """Follows pkg/controller/namespace/deletion, with pods before everything else as it has them
    since 1.34, and pkg/controller/serviceaccount.
    """

    def __init__(self, api: ApiServer, chance: random.Random) -> None:
        self._api = api
        self._queue = Queue("namespace", self._sync, chance)
        self._endings: list[Callable[[], None]] = []

    def start(self) -> None:
        self._endings = [self._api.store.listen(None, self._heard)]
        for namespace in self._api.store.all(wire.NAMESPACES):
            self._queue.add(key_of(namespace))

    def end(self) -> None:
        for end in self._endings:
            end()
        self._queue.end()

    def _heard(self, change: Change) -> None:
        if change.resource == wire.NAMESPACES:
            if change.kind != "DELETED":
                self._queue.add(key_of(change.object))
            return
        place = change.object["metadata"].get("namespace")
        if change.kind != "DELETED" or not place:
            return
        namespace = self._api.store.find(wire.NAMESPACES, None, place)
        if namespace is not None and (
            is_terminating(namespace) or change.resource == kinds.SERVICE_ACCOUNTS
        ):
            self._queue.add(("", place))

    def _sync(self, key: Key) -> None:
        name = key[1]
        namespace = self._api.store.find(wire.NAMESPACES, None, name)
        if namespace is None:
            return
        if not is_terminating(namespace):
            self._give_account(name)
        elif _FINALIZER in _finalizers(namespace) and self._is_emptied(name):
            rest = [each for each in _finalizers(namespace) if each != _FINALIZER]
            body = {**namespace, "spec": {**namespace["spec"], "finalizers": rest}}
            self._api.replace(wire.NAMESPACES, body, subresource="finalize")

    def _give_account(self, namespace: str) -> None:
        if self._api.store.find(kinds.SERVICE_ACCOUNTS, namespace, _DEFAULT_ACCOUNT) is None:
            body = {"metadata": {"name": _DEFAULT_ACCOUNT, "namespace": namespace}}
            self._api.create(kinds.SERVICE_ACCOUNTS, namespace, body)

    def _is_emptied(self, namespace: str) -> bool:
        """Whether all has gone; tells what has not to go."""
        if not self._is_emptied_of(wire.PODS, namespace):
            return False
        left = [each for each in _BEHIND_PODS if not self._is_emptied_of(each, namespace)]
        return not left

    def _is_emptied_of(self, resource: Resource, namespace: str) -> bool:
        for item in self._api.in_namespace(resource, namespace):
            if not is_terminating(item):
                with contextlib.suppress(errors.NotFound):
                    self._api.delete(resource, namespace, item["metadata"]["name"])
        return not self._api.in_namespace(resource, namespace)


def _finalizers(namespace: Object) -> list[str]:
    return (namespace.get("spec") or {}).get("finalizers") or []
