"""The configuration of a command: its flags before the environment, that before the file."""

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from rescheduler import config
from rescheduler.clock import Clock
from rescheduler.documents.reading import load_text
from rescheduler.errors import Problem

if TYPE_CHECKING:
    from rescheduler.controller.events import Regarding
    from rescheduler.controller.settings import Settings

_OF_A_POD: Final = ("NAMESPACE", "NAME", "UID")

Flags = Mapping[str, config.Flag]
"""By path of the setting."""


def load(file: Path | None, flags: Flags | None = None) -> config.Loaded:
    """Raises ConfigurationError, with all that is wrong. Where it comes from is logged."""
    loaded = read(file, flags)
    log_sources(loaded, file)
    return loaded


def load_alone(file: Path) -> config.Loaded:
    """What the file comes to by itself, whatever the environment says. Raises the same."""
    loaded = config.combine(load_text(file), str(file))
    log_sources(loaded, file)
    return loaded


def read(file: Path | None, flags: Flags | None = None) -> config.Loaded:
    """The same, and nothing is logged."""
    return _combined(None if file is None else load_text(file), file, flags)


def log_sources(loaded: config.Loaded, file: Path | None) -> None:
    log, sources = structlog.get_logger(), loaded.sources
    given = [path for path in sources if sources[path] != "default"]
    log.info("configuration read", file="none" if file is None else str(file), given=len(given))
    values = dict(config.single_settings(loaded.configuration))
    for path in given:
        log.debug("setting", name=path, value=values.get(path), source=sources[path])


def kubeconfig_flag(kubeconfig: str) -> Flags:
    flag = config.Flag("--kubeconfig", kubeconfig)
    return {"clientConnection.kubeconfig": flag} if kubeconfig else {}


def our_pod() -> "Regarding | None":
    """As the Deployment tells it to its pods; None: we run elsewhere."""
    from rescheduler.controller.events import Regarding

    namespace, name, uid = (os.environ.get(f"POD_{part}", "") for part in _OF_A_POD)
    if not (namespace and name and uid):
        return None
    return Regarding(api_version="v1", kind="Pod", namespace=namespace, name=name, uid=uid)


def _combined(text: str | None, file: Path | None, flags: Flags | None) -> config.Loaded:
    source = "configuration" if file is None else str(file)
    return config.combine(text, source, environment=os.environ, flags=flags)


def _is_stream(file: Path) -> bool:
    """Such as that of `--config <(...)`: it can be read once."""
    return file.is_fifo() or file.is_char_device() or file.is_socket()


def _read_again(file: Path) -> str:
    # Opening a pipe waits for whoever writes to it, and everything else would wait with it.
    if _is_stream(file):
        problem = Problem("", "cannot be read: not a regular file")
        raise config.ConfigurationError([problem], str(file))
    return load_text(file)


@asynccontextmanager
async def kept_up(
    loaded: config.Loaded, file: Path | None, clock: Clock, flags: Flags | None = None
) -> "AsyncIterator[Settings]":
    """What was loaded, and what the file says later, as long as the block lasts."""
    # Slow to import, and not needed to print a usage message.
    from rescheduler.controller.reloading import Reloading
    from rescheduler.controller.settings import Settings

    settings = Settings(loaded.configuration, loaded.sources)
    if file is None or _is_stream(file):
        yield settings
        return
    # What was written between loading and here is no other than what is written later: the text
    # that is known is none, and so the first look takes up what is there.
    reloading = Reloading(settings, clock, lambda: _read_again(file), "")
    following = asyncio.create_task(reloading.run(lambda text: _combined(text, file, flags)))
    try:
        yield settings
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
