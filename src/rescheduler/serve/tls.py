"""The certificate of a port, read anew when its file changes: a renewal drops no connection."""

import ssl
from pathlib import Path
from typing import Final

from rescheduler.config import Tls
from rescheduler.serve.listening import CannotListen

_PROTOCOLS: Final = ["http/1.1"]


def context_of(settings: Tls) -> ssl.SSLContext | None:
    """None: plain HTTP.

    Raises:
        CannotListen: a file cannot be read; the message names the setting.
    """
    if not settings.cert_file:
        return None
    files = _Files(settings)
    context = files.newest()
    # Called at each handshake, before a certificate is shown, whether a name is asked for or not.
    context.sni_callback = files.show_newest
    return context


class _Files:
    def __init__(self, settings: Tls) -> None:
        self._settings = settings
        self._versions: tuple[int, ...] = ()
        self._context: ssl.SSLContext | None = None

    def newest(self) -> ssl.SSLContext:
        try:
            versions = self._seen()
            if self._context is None or versions != self._versions:
                self._context, self._versions = self._read(), versions
        except OSError as problem:
            raise CannotListen(f"extender.tls: cannot use {problem.filename}: {problem}") from None
        return self._context

    def show_newest(
        self, connection: ssl.SSLObject, _name: str | None, _first: ssl.SSLContext
    ) -> None:
        try:
            connection.context = self.newest()
        except CannotListen:
            # In the middle of a change, perhaps: the last one serves on.
            if self._context is not None:
                connection.context = self._context

    def _seen(self) -> tuple[int, ...]:
        """Of a mounted Secret the files are links, which lead elsewhere after a change."""
        files = (self._settings.cert_file, self._settings.key_file)
        return tuple(Path(each).stat().st_mtime_ns for each in files)

    def _read(self) -> ssl.SSLContext:
        settings = self._settings
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(_PROTOCOLS)
        try:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        except (OSError, ssl.SSLError) as problem:
            raise CannotListen(
                f"extender.tls: cannot use {settings.cert_file} and {settings.key_file}: {problem}"
            ) from None
        if settings.client_ca_file:
            self._demand_certificates(context)
        return context

    def _demand_certificates(self, context: ssl.SSLContext) -> None:
        try:
            context.load_verify_locations(self._settings.client_ca_file)
        except (OSError, ssl.SSLError) as problem:
            raise CannotListen(
                f"extender.tls.clientCaFile: cannot use {self._settings.client_ca_file}: {problem}"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED
