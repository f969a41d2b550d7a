"""What is said when there is no connection to the API server, and how connections end."""

import asyncio
import gc
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import trustme
import yaml

from rescheduler import kube
from rescheduler.kube import errors
from rescheduler.wire import NODES


def kubeconfig(folder: Path, server: str, authority: Path) -> str:
    cluster = {"server": server, "certificate-authority": str(authority)}
    path = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        "users": [{"name": "test", "user": {"token": "secret"}}],
        "current-context": "test",
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)


@pytest.fixture
def authority(tmp_path: Path) -> Path:
    path = tmp_path / "ca.crt"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path


async def problem_with(config: str) -> errors.KubeError:
    async with kube.connect(config) as api:
        with pytest.raises(errors.KubeError) as raised:
            async for _ in api.follow(NODES):
                pass
    return raised.value


async def test_a_server_that_is_not_there(tmp_path: Path, authority: Path) -> None:
    problem = await problem_with(kubeconfig(tmp_path, "https://127.0.0.1:1", authority))
    assert isinstance(problem, errors.Unavailable)
    said = "GET /api/v1/nodes: Cannot connect to host 127.0.0.1:1: Connection refused"
    assert str(problem) == said


async def test_a_certificate_of_another_authority(tmp_path: Path, authority: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0, ssl=context)
    with closing(server):
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        problem = await problem_with(kubeconfig(tmp_path, url, authority))
    assert isinstance(problem, errors.Untrusted)
    assert str(problem).startswith(f"{url}: its certificate is not accepted: ")
    assert "unable to get local issuer certificate" in str(problem)
    assert "certificate-authority in the kubeconfig" in str(problem)
    assert "object at 0x" not in str(problem)


async def test_a_server_that_does_not_speak_tls(tmp_path: Path, authority: Path) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    with closing(server):
        port = server.sockets[0].getsockname()[1]
        config = kubeconfig(tmp_path, f"https://127.0.0.1:{port}", authority)
        problem = await problem_with(config)
    assert f"Cannot connect to host 127.0.0.1:{port}: " in str(problem)
    assert "object at 0x" not in str(problem)


class Silent:
    """A server that takes a request, and says nothing any more: no answer, and no farewell."""

    def __init__(self, authority: trustme.CA) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(self._context)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self.asked = threading.Event()
        self.url = f"https://127.0.0.1:{self._listening.getsockname()[1]}"

    def _serve(self) -> None:
        connection, _ = self._listening.accept()
        with self._context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(1)
            self.asked.set()
            self._ends.wait()

    @contextmanager
    def serving(self) -> Iterator[None]:
        self._thread.start()
        with self._listening:
            try:
                yield
            finally:
                self._ends.set()
                self._thread.join()


def test_a_request_that_is_given_up_leaves_no_connection_behind(tmp_path: Path) -> None:
    authority = trustme.CA()
    certificate = tmp_path / "ca.crt"
    authority.cert_pem.write_to_path(str(certificate))
    server = Silent(authority)

    async def ask_and_give_up() -> None:
        async with kube.connect(kubeconfig(tmp_path, server.url, certificate)) as api:
            asking = asyncio.create_task(api.get(NODES, None, "any"))
            await asyncio.to_thread(server.asked.wait)
            asking.cancel()
            await asyncio.wait([asking])

    with server.serving():
        asyncio.run(ask_and_give_up())
        # A connection that is still open is complained of when it is collected; pytest hears that.
        gc.collect()
