"""The sections `tls`: how a port that others in the cluster reach is secured."""

from dataclasses import dataclass

from rescheduler.documents.kinds import Text
from rescheduler.documents.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How a port that others in the cluster reach is secured."""

    secret: str = setting("secret", Text(), default="")
    """Name of a Secret in leaderElection.resourceNamespace in which we keep a CA, a certificate and
    its key, all made and renewed by us; the manifests bring it, empty. Default empty: none.
    """

    cert_file: str = setting("certFile", Text(), default="")
    """Instead of `secret`: path of the certificate, with what it was signed by, in PEM; read anew
    when it changes. Default empty: no TLS, unless `secret` is given.
    """

    key_file: str = setting("keyFile", Text(), default="")
    """Path of its key, in PEM."""

    client_ca_file: str = setting("clientCaFile", Text(), default="")
    """Path of the certificates that clients have to be signed by, in PEM. Default empty: whoever
    reaches the port is answered.
    """

    @property
    def is_on(self) -> bool:
        return bool(self.secret or self.cert_file)
