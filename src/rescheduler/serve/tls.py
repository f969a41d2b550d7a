"""The certificate of a port: files, read anew when they change, or what it is handed. A renewal
drops no connection, and the next handshake shows the new one.
"""

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from rescheduler.config import Tls
from rescheduler.serve.listening import CannotListen

_PROTOCOLS: Final = ["http/1.1"]


class _Newest(Protocol):
    def newest(self) -> ssl.SSLContext | None:
        """None: there is no certificate yet."""
        ...


def context_of(settings: Tls, section: str = "extender.tls") -> ssl.SSLContext | None:
    """By its files; None: it has none, so plain HTTP. `section`: where its settings stand.

    Raises:
        CannotListen: a file cannot be read; the message names the setting.
    """
    if not settings.cert_file:
        return None
    files = _Files(settings, section)
    files.newest()
    return _showing(files, settings, section)


class Shown:
    """A certificate that is handed in, and may be replaced at any time, from any thread. Until the
    first one comes, handshakes fail.
    """

    def __init__(self, settings: Tls, section: str = "extender.tls") -> None:
        """Raises CannotListen: the file of those who sign clients cannot be read."""
        self._settings = settings
        self._section = section
        self._newest: ssl.SSLContext | None = None
        self.context = _showing(self, settings, section)
        """To listen with."""

    def show(self, certificate: bytes, key: bytes) -> None:
        """In PEM, from the next handshake on. Raises CannotListen when they cannot be used."""
        made = _empty(self._settings, self._section)
        with _in_memory(certificate + key) as path:
            _load(made, path, path, self._section)
        self._newest = made

    def newest(self) -> ssl.SSLContext | None:
        return self._newest


class _Files:
    def __init__(self, settings: Tls, section: str) -> None:
        self._settings = settings
        self._section = section
        self._versions: tuple[int, ...] = ()
        self._context: ssl.SSLContext | None = None

    def newest(self) -> ssl.SSLContext:
        """Raises CannotListen, the first time."""
        try:
            versions = self._seen()
            if self._context is None or versions != self._versions:
                self._context, self._versions = self._read(), versions
        except CannotListen:
            # In the middle of a change, perhaps: the last one serves on.
            if self._context is None:
                raise
        return self._context

    def _seen(self) -> tuple[int, ...]:
        """Of a mounted Secret the files are links, which lead elsewhere after a change."""
        files = (self._settings.cert_file, self._settings.key_file)
        try:
            return tuple(Path(each).stat().st_mtime_ns for each in files)
        except OSError as problem:
            raise CannotListen(
                f"{self._section}: cannot use {problem.filename}: {problem}"
            ) from None

    def _read(self) -> ssl.SSLContext:
        context, settings = _empty(self._settings, self._section), self._settings
        _load(context, settings.cert_file, settings.key_file, self._section)
        return context


# ---------------------------------------------------------------------- contexts


def _showing(source: _Newest, settings: Tls, section: str) -> ssl.SSLContext:
    """One whose every handshake shows the newest."""

    def choose(connection: ssl.SSLObject, _name: str | None, first: ssl.SSLContext) -> None:
        connection.context = source.newest() or first

    # Whether clients are to be known is taken from this one, whatever is chosen later.
    context = _empty(settings, section)
    # Called at each handshake, before a certificate is shown, whether a name is asked for or not.
    context.sni_callback = choose
    return context


def _empty(settings: Tls, section: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(_PROTOCOLS)
    if settings.client_ca_file:
        _demand_certificates(context, settings.client_ca_file, section)
    return context


def _load(context: ssl.SSLContext, certificate: str, key: str, section: str) -> None:
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as problem:
        raise CannotListen(f"{section}: cannot use {certificate} and {key}: {problem}") from None


def _demand_certificates(context: ssl.SSLContext, signed_by: str, section: str) -> None:
    try:
        context.load_verify_locations(signed_by)
    except (OSError, ssl.SSLError) as problem:
        raise CannotListen(f"{section}.clientCaFile: cannot use {signed_by}: {problem}") from None
    context.verify_mode = ssl.CERT_REQUIRED


@contextmanager
def _in_memory(text: bytes) -> Iterator[str]:
    """OpenSSL is handed files by Python, and our root file system can only be read."""
    with os.fdopen(os.memfd_create("certificate"), "wb") as file:
        file.write(text)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
