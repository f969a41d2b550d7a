"""The bind verb of a scheduler: the one request to the API server that it waits for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from rescheduler.controller.leader_session import Connect
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.serve import Binding
from rescheduler.wire import BINDINGS, PODS

_MOST_SECONDS: Final = 4.0
"""A kube-scheduler waits for 5 by default, and takes the pod for unbound then."""
_TIMES: Final = 3


class Binder:
    """In the event loop of whoever serves, by a connection of its own."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect
        self._kube: KubeApi | None = None

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        async with self._connect() as kube:
            self._kube = kube
            yield

    async def bind(self, wanted: Binding) -> None:
        """Raises ReschedulerError when the pod is not on that node by then."""
        if self._kube is None:
            raise ReschedulerError("not connected to the API server yet")
        try:
            await asyncio.wait_for(_bound(self._kube, wanted), _MOST_SECONDS)
        except TimeoutError:
            raise ReschedulerError(
                f"the API server has not answered within {_MOST_SECONDS:g} s"
            ) from None


async def _bound(kube: KubeApi, wanted: Binding) -> None:
    for time in range(_TIMES):
        try:
            await kube.create(BINDINGS, wanted.namespace, _body(wanted))
        except (errors.Conflict, errors.AlreadyExists, errors.Unavailable):
            # It may be bound already: by this very request, whose answer was lost, by the one
            # before it, or by somebody else.
            if await _is_there(kube, wanted):
                return
            if time == _TIMES - 1:
                raise
        else:
            return


def _body(wanted: Binding) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": wanted.pod, "namespace": wanted.namespace, "uid": wanted.uid},
        "target": {"apiVersion": "v1", "kind": "Node", "name": wanted.node},
    }


async def _is_there(kube: KubeApi, wanted: Binding) -> bool:
    """Raises ReschedulerError when it is elsewhere, or another pod."""
    pod = await kube.get(PODS, wanted.namespace, wanted.pod)
    if pod["metadata"]["uid"] != wanted.uid:
        raise ReschedulerError("there is another pod of that name by now")
    node = (pod.get("spec") or {}).get("nodeName") or ""
    if node and node != wanted.node:
        raise ReschedulerError(f"it is on {node} already")
    return bool(node)
