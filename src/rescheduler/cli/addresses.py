"""Where a kube-scheduler reaches us, and whom it is to trust: by flags, or by what the cluster has.

A kube-scheduler in the network of its machine knows no names of Services: it is told the address of
ours, and the name that our certificate is for.
"""

from dataclasses import replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from rescheduler.config import Configuration
from rescheduler.config.scheduling import SERVICE
from rescheduler.config.stock_scheduler import Address
from rescheduler.errors import ReschedulerError
from rescheduler.kube import KubeApi, Object, errors
from rescheduler.wire import SECRETS, SERVICES, Resource

if TYPE_CHECKING:
    from rescheduler.controller.leader_session import Connect


async def completed(given: Address, configuration: Configuration, connect: "Connect") -> Address:
    """What no flag says is read from the cluster, if our certificate is kept there.

    Raises:
        ReschedulerError: it is not there, with the way out.
    """
    extender, namespace = configuration.extender, configuration.leader_election.resource_namespace
    here = f"127.0.0.1:{extender.port}"
    if not extender.tls.secret:
        return replace(given, url=given.url or f"{_scheme(configuration)}://{here}")
    found = replace(given, server_name=given.server_name or f"{SERVICE}.{namespace}.svc")
    if extender.is_local:
        found = replace(found, url=found.url or f"https://{here}")
    if found.url and found.ca_file:
        return found
    async with connect() as kube:
        if not found.url:
            found = replace(found, url=await _service(kube, namespace))
        if not found.ca_file:
            found = replace(found, ca_data=await _authority(kube, namespace, extender.tls.secret))
    return found


def _scheme(configuration: Configuration) -> str:
    return "https" if configuration.extender.tls.is_on else "http"


async def _service(kube: KubeApi, namespace: str) -> str:
    spec = (await _got(kube, SERVICES, namespace, SERVICE, "--url")).get("spec") or {}
    try:
        address = ip_address(spec.get("clusterIP") or "")
    except ValueError:
        raise ReschedulerError(
            f"Service {namespace}/{SERVICE} has no address: give --url"
        ) from None
    port = (spec.get("ports") or [{}])[0].get("port")
    return f"https://{f'[{address}]' if address.version == 6 else address}:{port}"  # noqa: PLR2004


async def _authority(kube: KubeApi, namespace: str, name: str) -> str:
    data = (await _got(kube, SECRETS, namespace, name, "--ca-file")).get("data") or {}
    if found := str(data.get("ca.crt") or ""):
        return found
    raise ReschedulerError(
        f"Secret {namespace}/{name} is empty as yet: rescheduler run fills it, with "
        "extender.tls.secret in its configuration; or give --ca-file"
    )


async def _got(kube: KubeApi, resource: Resource, namespace: str, name: str, flag: str) -> Object:
    try:
        return await kube.get(resource, namespace, name)
    except errors.NotFound as problem:
        raise ReschedulerError(
            f"{problem}: apply manifests/components/extender, which brings it, or give {flag}"
        ) from None
