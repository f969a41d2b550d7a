"""Who we are to the API server: kubeconfig, exec plugin or the pod's own service account.

The official client does this part, because hand-written authentication is a liability; of the rest
of it nothing is used.
"""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.config import ConfigException, load_incluster_config, load_kube_config

from rescheduler.errors import ConnectionSettingsError

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    """Where the API server is and how to present ourselves."""

    server: str
    ssl_context: ssl.SSLContext
    tls_server_name: str | None
    proxy: str | None
    _configuration: Any

    async def headers(self) -> dict[str, str]:
        """Fresh for every request: the token of a pod is read again each minute."""
        token = await self._configuration.get_api_key_with_prefix("BearerToken")
        return {"Authorization": token} if token else {}


async def log_in(kubeconfig: str = "", context: str | None = None) -> Login:
    """From the named kubeconfig, else $KUBECONFIG, else the pod we run in, else ~/.kube/config."""
    configuration = Configuration()
    try:
        if not kubeconfig and "KUBECONFIG" not in os.environ and _IN_CLUSTER in os.environ:
            load_incluster_config(client_configuration=configuration)
        else:
            await _load_kubeconfig(configuration, kubeconfig, context)
    except (ConfigException, OSError, yaml.YAMLError) as problem:
        raise ConnectionSettingsError(_explain(kubeconfig, problem)) from problem
    return Login(
        server=configuration.host.rstrip("/"),
        ssl_context=_ssl_context(configuration),
        tls_server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
        _configuration=configuration,
    )


async def _load_kubeconfig(configuration: Any, path: str, context: str | None) -> None:  # noqa: ANN401
    # The client expands KUBECONFIG itself, but reads it once at import.
    where = path or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    await load_kube_config(
        config_file=where,
        context=context,
        client_configuration=configuration,
        persist_config=False,
    )


def _explain(kubeconfig: str, problem: Exception) -> str:
    where = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    return (
        f"cannot log in to a cluster with {where}: {problem}; "
        "name a kubeconfig by --kubeconfig, clientConnection.kubeconfig or $KUBECONFIG"
    )


def _ssl_context(configuration: Any) -> ssl.SSLContext:  # noqa: ANN401
    context = ssl.create_default_context(
        cafile=configuration.ssl_ca_cert, cadata=configuration.ca_cert_data
    )
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
