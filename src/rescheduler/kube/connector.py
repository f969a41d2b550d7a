"""Connections to the API server, and how they end."""

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.client_reqrep import ConnectionKey


class Connector(aiohttp.TCPConnector):
    """Hangs up at once where an answer is given up.

    aiohttp would take leave by the rules of TLS, and wait until the server does so, too. One that
    has fallen silent never does: the connection would outlive our session, and the loop as well.
    """

    def _release(
        self, key: ConnectionKey, protocol: ResponseHandler, *, should_close: bool = False
    ) -> None:
        is_given_up = should_close or protocol.should_close
        if is_given_up:
            protocol.abort()
        super()._release(key, protocol, should_close=is_given_up)
