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
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(_PROTOCOLS)
    files = _Files(settings)
    files.load(context)
    context.sni_callback = lambda _socket, _name, used: files.refresh(used)
    return context


class _Files:
    def __init__(self, settings: Tls) -> None:
        self._settings = settings
        self._loaded: tuple[int, ...] = ()

    def load(self, context: ssl.SSLContext) -> None:
        settings = self._settings
        before = self._versions()
        try:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        except (OSError, ssl.SSLError) as problem:
            raise CannotListen(
                f"extender.tls: cannot use {settings.cert_file} and {settings.key_file}: {problem}"
            ) from None
        if settings.client_ca_file:
            self._demand_certificates(context)
        self._loaded = before

    def _demand_certificates(self, context: ssl.SSLContext) -> None:
        try:
            context.load_verify_locations(self._settings.client_ca_file)
        except (OSError, ssl.SSLError) as problem:
            raise CannotListen(
                f"extender.tls.clientCaFile: cannot use {self._settings.client_ca_file}: {problem}"
            ) from None
        context.verify_mode = ssl.CERT_REQUIRED

    def _versions(self) -> tuple[int, ...]:
        """Of a mounted Secret the files are links, which lead elsewhere after a change."""
        files = (self._settings.cert_file, self._settings.key_file)
        return tuple(Path(each).stat().st_mtime_ns for each in files)

    def refresh(self, context: ssl.SSLContext) -> None:
        """At each handshake, before the certificate is sent. What cannot be read now may be in the
        middle of a change: the last one serves on.
        """
        try:
            if self._versions() != self._loaded:
                self.load(context)
        except (OSError, CannotListen):
            return
