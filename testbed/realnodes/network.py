"""How real nodes reach each other, and the API server.

    a network that only the supervisor holds          each node's own network
    ┌────────────────────────────────┐          ┌───────────────────────────────────┐
    │ bridge "nodes" 10.89.0.254     ├── veth ──┤ eth0 10.89.0.1   pods 10.88.1.0/24 │ ...
    └────────────────────────────────┘          └───────────────────────────────────┘

The API server listens on the machine's loopback address, and so it does on every node's: a relay
takes what comes there to the machine's. So its address and its certificate hold everywhere, and the
machine gets no link, no address and no route. What asks kubelets runs in the supervisor's network
(`metrics`), and relays lead there and back.
"""

import asyncio
import contextlib
import shutil
import socket
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from urllib.parse import urlsplit

from testbed.realnodes.namespaces import within, within_network_of
from testbed.realnodes.settings import GATEWAY, Node

Address = tuple[str, int]

_PIECE = 65536


class NetworkError(Exception):
    """The kernel refused a link, an address or a route."""


def lay_out(fabric: int, nodes: list[Node]) -> None:
    routes = [f"route add {node.pods} via {node.address}" for node in nodes]
    with within(fabric):
        _ip(
            "link set lo up",
            "link add nodes type bridge",
            f"address add {GATEWAY}/24 dev nodes",
            "link set nodes up",
            *routes,
        )


def connect(fabric: int, node: Node, pid: int, others: list[Node]) -> None:
    """Links the network of a node's first process to that of the others."""
    with within(fabric):
        _ip(
            f"link add {node.name} type veth peer name eth0 netns {pid}",
            f"link set {node.name} master nodes up",
        )
    with within_network_of(pid):
        _ip(
            "link set lo up",
            f"address add {node.address}/24 dev eth0",
            "link set eth0 up",
            f"route add default via {GATEWAY}",
            *(f"route add {each.pods} via {each.address}" for each in others),
        )


def _ip(*lines: str) -> None:
    command = [shutil.which("ip") or "/sbin/ip", "-batch", "-"]
    done = subprocess.run(
        command, check=False, input="\n".join(lines), capture_output=True, text=True
    )
    if done.returncode:
        raise NetworkError(f"ip: {done.stderr.strip()}")


async def relay_to_api_server(inside: AbstractContextManager[None], url: str) -> asyncio.Server:
    """From the loopback address of that network to the machine's, at the port of this URL."""
    where = urlsplit(url)
    assert where.hostname
    assert where.port
    address = (where.hostname, where.port)
    with inside:
        listening = socket.create_server(address)
    return await _relay(listening, socket.socket, address)


async def relay_into(network: int) -> tuple[asyncio.Server, int]:
    """From a port of the machine's loopback address to the same one of that network's."""
    listening = socket.create_server(("127.0.0.1", 0))
    address: Address = listening.getsockname()

    def make() -> socket.socket:
        with within(network):
            return socket.socket()

    return await _relay(listening, make, address), address[1]


async def _relay(
    listening: socket.socket, make: Callable[[], socket.socket], address: Address
) -> asyncio.Server:
    """To that address as a socket sees it that was made so."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back, forth = await _connect(make(), address)
        except OSError:
            writer.close()
            return
        # Cancelled at the end of the supervisor, and asyncio's streams would complain of it.
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(_copy(reader, forth), _copy(back, writer))

    return await asyncio.start_server(pass_on, sock=listening)


async def _connect(
    made: socket.socket, address: Address
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    made.settimeout(0)
    try:
        await asyncio.get_running_loop().sock_connect(made, address)
        return await asyncio.open_connection(sock=made)
    except BaseException:
        made.close()
        raise


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
    writer.close()
