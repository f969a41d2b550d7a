"""The part of the official client that logs in, without the rest of it.

To import any of it imports all of it: another HTTP stack, models, tools, together a quarter of the
memory that this process starts with, and most of the time that a short command takes. So while the
few modules that log in are imported, the packages around them stand empty. What is imported that
way is ours alone: whoever else asks for the client gets it whole.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

_WHOLE: Final = "kubernetes"
_AROUND: Final = (_WHOLE, f"{_WHOLE}.aio", f"{_WHOLE}.aio.client")


def _modules() -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in sys.modules.items()
        if name == _WHOLE or name.startswith(f"{_WHOLE}.")
    }


@contextmanager
def _standing_empty() -> Iterator[None]:
    found = find_spec(_WHOLE)
    paths = list(found.submodule_search_locations or ()) if found else []
    theirs = _modules()
    for name in theirs:
        del sys.modules[name]
    try:
        for name in _AROUND:
            package = ModuleType(name)
            package.__path__ = [
                path + name.removeprefix(_WHOLE).replace(".", "/") for path in paths
            ]
            sys.modules[name] = package
        client: Any = sys.modules[_AROUND[-1]]
        client.Configuration = import_module(f"{client.__name__}.configuration").Configuration
        client.ApiClient = None  # named by what logs in, and made for nobody
        yield
    finally:
        for name in _modules():
            del sys.modules[name]
        sys.modules.update(theirs)


with _standing_empty():
    from kubernetes.aio.client import Configuration
    from kubernetes.aio.config import kube_config, load_incluster_config, load_kube_config

__all__ = ["Configuration", "kube_config", "load_incluster_config", "load_kube_config"]
