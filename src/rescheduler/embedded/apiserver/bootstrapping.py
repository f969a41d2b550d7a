"""What an API server makes by itself when it starts on an empty store."""

from typing import Final

from rescheduler import wire
from rescheduler.embedded.apiserver.admitting import BUILT_IN_PRIORITIES
from rescheduler.embedded.apiserver.server import ApiServer

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")


def bootstrap(api: ApiServer) -> None:
    """What is there already stays."""
    for name in _NAMESPACES:
        if api.store.find(wire.NAMESPACES, None, name) is None:
            api.create(wire.NAMESPACES, None, {"metadata": {"name": name}})
    for name, value in BUILT_IN_PRIORITIES.items():
        if api.store.find(wire.PRIORITY_CLASSES, None, name) is None:
            api.create(wire.PRIORITY_CLASSES, None, {"metadata": {"name": name}, "value": value})
