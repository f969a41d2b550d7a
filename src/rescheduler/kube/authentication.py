"""Who we are to the API server: kubeconfig, exec plugin or the pod's own service account.

The official client does this part, because hand-written authentication is a liability; of the rest
of it nothing is used. Whatever it raises comes out of here as one `ConnectionSettingsError`.
"""

import logging
import os
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rescheduler.documents.suggestions import nearest
from rescheduler.errors import ConnectionSettingsError
from rescheduler.kube.official import (
    Configuration,
    kube_config,
    load_incluster_config,
    load_kube_config,
)

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"
_OWN_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where the API server is and how to present ourselves."""

    server: str
    ssl_context: ssl.SSLContext
    tls_server_name: str | None
    proxy: str | None
    _configuration: Any

    def of_somebody_else(self, token: str) -> "Login":
        """The same API server, by their token and by nothing of ours: a certificate would come
        first, and we would be asked for in their place.
        """
        return replace(
            self,
            ssl_context=_ssl_context(self._configuration, as_ourselves=False),
            _configuration=_Token(token),
        )

    async def headers(self) -> dict[str, str]:
        """Fresh for every request: the token of a pod is read again each minute."""
        try:
            token = await self._configuration.get_api_key_with_prefix("BearerToken")
        except Exception as problem:
            raise ConnectionSettingsError(f"cannot read the token: {problem}") from problem
        return {"Authorization": token} if token else {}


@dataclass(frozen=True, slots=True)
class _Token:
    """What is asked of the library's configuration, of a token that somebody has handed in."""

    token: str = field(repr=False)

    async def get_api_key_with_prefix(self, _: str) -> str:
        return f"Bearer {self.token}"


async def log_in(kubeconfig: str = "", context: str | None = None) -> Login:
    """From the named kubeconfig, else $KUBECONFIG, else the pod we run in, else ~/.kube/config."""
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    in_cluster = not named and _IN_CLUSTER in os.environ
    where = "the pod's service account" if in_cluster else named or _default()
    try:
        return await _log_in(None if in_cluster else where, context)
    except ConnectionSettingsError:
        raise
    # The library raises whatever it stumbles over in a malformed file.
    except Exception as problem:
        reason = " ".join(str(problem).split()) or type(problem).__name__
        raise ConnectionSettingsError(
            f"cannot log in to a cluster with {where}: {reason}; "
            "name a kubeconfig by --kubeconfig, clientConnection.kubeconfig or $KUBECONFIG"
        ) from problem


def namespace_of(kubeconfig: str = "", context: str | None = None) -> str:
    """Of the context, as kubectl has it; "default" where none is named. Raises nothing: whoever
    logs in next hears what is wrong.
    """
    named = kubeconfig or os.environ.get("KUBECONFIG", "")
    if not named and _IN_CLUSTER in os.environ:
        try:
            return _OWN_NAMESPACE.read_text().strip() or _DEFAULT_NAMESPACE
        except OSError:
            return _DEFAULT_NAMESPACE
    try:
        _check_is_there(named or _default())
        known, current = kube_config.list_kube_config_contexts(named or _default())
    except Exception:  # noqa: BLE001 - the library raises whatever it stumbles over
        return _DEFAULT_NAMESPACE
    wanted = context or (current or {}).get("name")
    found = (each.get("context") or {} for each in known if each.get("name") == wanted)
    return next((each.get("namespace") for each in found), None) or _DEFAULT_NAMESPACE


async def _log_in(kubeconfig: str | None, context: str | None) -> Login:
    configuration = Configuration()
    if kubeconfig is None:
        load_incluster_config(client_configuration=configuration)
    else:
        await _load(configuration, kubeconfig, context)
    return Login(
        server=configuration.host.rstrip("/"),
        ssl_context=_ssl_context(configuration),
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        _configuration=configuration,
    )


async def _load(configuration: Any, kubeconfig: str, context: str | None) -> None:  # noqa: ANN401
    _check_is_there(kubeconfig)
    if context:
        _check_has(kubeconfig, context)
    said = _Listener()
    # A failing exec plugin is only logged by the library, which then goes on as nobody.
    kube_config.logger.addHandler(said)
    try:
        loader = await load_kube_config(
            config_file=kubeconfig,
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )
    finally:
        kube_config.logger.removeHandler(said)
    if said.errors:
        raise ConnectionSettingsError(f"{kubeconfig}: {'; '.join(said.errors)}")
    # The library ignores it, and would act with rights that the user meant to lay down.
    if loader._user is not None and "as" in loader._user:  # noqa: SLF001
        raise ConnectionSettingsError(f"{kubeconfig}: the user has `as`: we do not impersonate")


def _check_is_there(kubeconfig: str) -> None:
    # Several files may be joined; the library silently skips those that are not there.
    there = [path for path in map(Path, kubeconfig.split(os.pathsep)) if path.is_file()]
    if not there or not any(path.stat().st_size for path in there):
        what = (
            f"the kubeconfig {kubeconfig} is empty"
            if there
            else f"there is no kubeconfig {kubeconfig}"
        )
        raise ConnectionSettingsError(
            f"{what}; name one by --kubeconfig, clientConnection.kubeconfig or $KUBECONFIG"
        )


def _check_has(kubeconfig: str, context: str) -> None:
    try:
        known, _ = kube_config.list_kube_config_contexts(kubeconfig)
    except kube_config.ConfigException:
        return  # what is wrong with the file is told when it is read
    named = sorted(str(each["name"]) for each in known)
    if context not in named:
        near = nearest(context, named)
        meant = f"did you mean {near}? " if near else ""
        raise ConnectionSettingsError(
            f"{kubeconfig} has no context {context}; {meant}it has {', '.join(named) or 'none'}"
        )


class _Listener(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.errors: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.errors.append(record.getMessage())


def _default() -> str:
    return str(Path.home() / ".kube" / "config")


def _ssl_context(configuration: Any, *, as_ourselves: bool = True) -> ssl.SSLContext:  # noqa: ANN401
    context = ssl.create_default_context(
        cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data
    )
    if configuration.cert_file and as_ourselves:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
