"""The port of the extender with TLS: who is answered, and how a certificate is renewed."""

import http.client
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from rescheduler.config import Extender, Tls
from rescheduler.serve import Board, CannotListen, SchedulerDoor, Shown
from rescheduler.serve.listening import listening
from rescheduler.serve.serving import extender_door

ASKED = json.dumps({"Pod": {"metadata": {}, "spec": {}}, "NodeNames": ["a"]})


class Files:
    """A certificate for 127.0.0.1, in files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = trustme.CA()
        self.renew()

    def renew(self) -> None:
        made = self.ca.issue_cert("127.0.0.1")
        made.private_key_pem.write_to_path(self.folder / "tls.key")
        (self.folder / "tls.crt").write_bytes(b"".join(b.bytes() for b in made.cert_chain_pems))

    def settings(self, clients: trustme.CA | None = None) -> Tls:
        given = Tls(cert_file=str(self.folder / "tls.crt"), key_file=str(self.folder / "tls.key"))
        if clients is None:
            return given
        path = self.folder / "clients.crt"
        clients.cert_pem.write_to_path(path)
        return replace(given, client_ca_file=str(path))


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


@contextmanager
def door(tls: Tls, shown: Shown | None = None) -> Iterator[int]:
    settings = SchedulerDoor(settings=Extender(port=1, tls=tls), verbs=("filter",), shown=shown)
    with listening([replace(extender_door(Board(["pods"]), settings), port=0)]) as [(_, port)]:
        yield port


def trusting(files: Files) -> ssl.SSLContext:
    context = ssl.create_default_context()
    files.ca.configure_trust(context)
    return context


def ask(port: int, context: ssl.SSLContext) -> tuple[int, bytes]:
    """The status, and the certificate that was shown."""
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=context)
    try:
        connection.request("POST", "/filter", ASKED)
        answer = connection.getresponse()
        assert json.loads(answer.read())["NodeNames"] == ["a"]
        return answer.status, connection.sock.getpeercert(binary_form=True) or b""
    finally:
        connection.close()


def test_a_renewed_certificate_is_shown_from_the_next_connection_on(files: Files) -> None:
    with door(files.settings()) as port:
        _, first = ask(port, trusting(files))
        held = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=trusting(files))
        held.request("POST", "/filter", ASKED)
        held.getresponse().read()
        files.renew()
        _, second = ask(port, trusting(files))
        assert first != second
        # What was open goes on.
        held.request("POST", "/filter", ASKED)
        assert held.getresponse().status == 200
        held.close()


def test_one_that_is_half_written_changes_nothing(files: Files) -> None:
    with door(files.settings()) as port:
        _, before = ask(port, trusting(files))
        (files.folder / "tls.crt").write_text("-----BEGIN CERTIFICATE-----\nnot yet")
        assert ask(port, trusting(files))[1] == before
        (files.folder / "tls.key").unlink()
        assert ask(port, trusting(files))[1] == before


def test_clients_have_to_be_known_where_that_is_set(files: Files) -> None:
    clients, strangers = trustme.CA(), trustme.CA()
    with door(files.settings(clients)) as port:
        known = trusting(files)
        clients.issue_cert("scheduler").configure_cert(known)
        assert ask(port, known)[0] == 200
        stranger = trusting(files)
        strangers.issue_cert("scheduler").configure_cert(stranger)
        for context in (trusting(files), stranger):
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                ask(port, context)
        assert ask(port, known)[0] == 200


def test_files_that_cannot_be_used_are_told_at_once(files: Files) -> None:
    wrong = replace(files.settings(), cert_file=str(files.folder / "nothing"))
    with pytest.raises(CannotListen, match=r"extender\.tls: cannot use .*nothing"), door(wrong):
        pass
    strange = replace(files.settings(), client_ca_file=str(files.folder / "nothing"))
    with pytest.raises(CannotListen, match=r"extender\.tls\.clientCaFile"), door(strange):
        pass


# ---------------------------------------------------------------------- one that is handed in


def pair(ca: trustme.CA) -> tuple[bytes, bytes]:
    made = ca.issue_cert("127.0.0.1")
    return b"".join(each.bytes() for each in made.cert_chain_pems), made.private_key_pem.bytes()


def test_one_that_is_handed_in_is_shown_from_the_next_connection_on(files: Files) -> None:
    shown = Shown(Tls(secret="own"))  # noqa: S106 - a name
    with door(Tls(), shown) as port:
        with pytest.raises(ssl.SSLError):
            ask(port, trusting(files))
        shown.show(*pair(files.ca))
        _, first = ask(port, trusting(files))
        held = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=trusting(files))
        held.request("POST", "/filter", ASKED)
        held.getresponse().read()
        shown.show(*pair(files.ca))
        _, second = ask(port, trusting(files))
        assert first != second
        held.request("POST", "/filter", ASKED)
        assert held.getresponse().status == 200
        held.close()


def test_one_that_cannot_be_used_is_refused_and_the_last_one_is_shown(files: Files) -> None:
    shown = Shown(Tls(secret="own"))  # noqa: S106 - a name
    shown.show(*pair(files.ca))
    with door(Tls(), shown) as port:
        before = ask(port, trusting(files))
        certificate, _ = pair(files.ca)
        for wrong in ((b"garbage", b"garbage"), (certificate, pair(files.ca)[1])):
            with pytest.raises(CannotListen, match=r"extender\.tls: cannot use"):
                shown.show(*wrong)
        assert ask(port, trusting(files)) == before


def test_clients_have_to_be_known_beside_one_that_is_handed_in(files: Files) -> None:
    clients = trustme.CA()
    shown = Shown(files.settings(clients))
    with door(Tls(), shown) as port:
        for _ in range(2):
            shown.show(*pair(files.ca))
            known = trusting(files)
            clients.issue_cert("scheduler").configure_cert(known)
            assert ask(port, known)[0] == 200
            with pytest.raises((ssl.SSLError, ConnectionError, http.client.HTTPException)):
                ask(port, trusting(files))


def test_a_file_of_clients_that_cannot_be_used_is_told_at_once(files: Files) -> None:
    wrong = replace(files.settings(), client_ca_file=str(files.folder / "nothing"))
    with pytest.raises(CannotListen, match=r"guard\.tls\.clientCaFile"):
        Shown(wrong, "guard.tls")
