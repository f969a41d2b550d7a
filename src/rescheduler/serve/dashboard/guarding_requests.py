"""Which requests are let in at all: other pages in the same browser may ask, too. Pure.

A page of somebody else could have a browser ask us by a name of its own that leads to this machine
(so names are checked where no token is needed), or send a form (so what changes something has to
come with a header that no form can have, and from our own page).
"""

import ipaddress
from collections.abc import Mapping
from typing import Final

from rescheduler.serve.dashboard.contract import REQUEST_HEADER
from rescheduler.serve.dashboard.refusing import FORBIDDEN, Refused

_FROM_US: Final = ("same-origin", "none")
"""What browsers say in Sec-Fetch-Site of a page of ours, and of an address that somebody typed."""
_ELSEWHERE: Final = "the request comes from another page"


def insist_on_our_name(headers: Mapping[str, str]) -> None:
    """Raises Refused."""
    host = headers.get("Host", "")
    if not _is_local(host):
        raise Refused(
            FORBIDDEN,
            "Host: ask for localhost; without a token nobody is answered by another name",
            field="Host",
            way_out="a proxy has to ask for localhost, or dashboard.authentication has to be Token",
        )


def insist_on_our_page(headers: Mapping[str, str], *, acts: bool) -> None:
    """Raises Refused."""
    site = headers.get("Sec-Fetch-Site", "")
    if site and site not in _FROM_US and (acts or headers.get("Sec-Fetch-Mode") != "navigate"):
        raise Refused(FORBIDDEN, _ELSEWHERE, field="Sec-Fetch-Site")
    origin = headers.get("Origin", "")
    if origin and not site and origin.partition("://")[2] != headers.get("Host", ""):
        raise Refused(FORBIDDEN, _ELSEWHERE, field="Origin")
    if not acts:
        return
    if headers.get(REQUEST_HEADER) != "1":
        raise Refused(
            FORBIDDEN,
            f"{REQUEST_HEADER}: has to be 1 in a request that changes something",
            field=REQUEST_HEADER,
            way_out=f"send {REQUEST_HEADER}: 1",
        )
    if headers.get("Content-Type", "").partition(";")[0].strip().lower() != "application/json":
        raise Refused(
            FORBIDDEN,
            "Content-Type: has to be application/json",
            field="Content-Type",
            way_out="send {} as application/json, if there is nothing to say",
        )


def _is_local(host: str) -> bool:
    name = host.partition(":")[0]
    if host.startswith("["):
        name, _, port = host[1:].partition("]")
        if port and not port.startswith(":"):
            return False
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
