"""The certificates, keys and tokens of one control plane, made anew for each, as files."""

import os
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from testbed import neighbours

# Fixed tokens would let two instances talk to each other by mistake; these are made per instance.
USERS = {
    "admin": ("testbed:admin", "system:masters"),
    "auditor": ("testbed:auditor", "system:masters"),
    # The simulated ones do not say that they are kubelets, so the policy which puts kubelets off
    # (`rescheduler-leaving`) does not know them: they show what happens where there is none.
    "kubelets": ("testbed:kubelets", "system:masters"),
    "nodes": ("testbed:nodes", "system:masters,system:nodes"),
    "controller-manager": ("system:kube-controller-manager", ""),
    "scheduler": ("system:kube-scheduler", ""),
    "metrics-server": ("testbed:metrics-server", "system:masters"),
    "prometheus": ("testbed:prometheus", "system:masters"),
    **{name: (f"testbed:{name}", "system:masters") for name in neighbours.PINS},
}

FRONT_PROXY = "front-proxy"
"""Whom servers of aggregated APIs believe what it says about a user."""


def write_credentials(folder: Path, url: str) -> dict[str, str]:
    """Fills the folder for an API server at this address; the tokens by the short name."""
    authority = trustme.CA()
    write_secret(folder / "ca.crt", authority.cert_pem.bytes())
    serving = authority.issue_cert("127.0.0.1", "localhost", "kubernetes.default.svc")
    _write_certificate(folder, "serving", serving)
    # Not the authority above, for whoever has a certificate of this one may speak for anybody.
    front = trustme.CA()
    write_secret(folder / "front-proxy-ca.crt", front.cert_pem.bytes())
    _write_certificate(folder, FRONT_PROXY, front.issue_cert(FRONT_PROXY, common_name=FRONT_PROXY))
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
    private = key.private_bytes(*pem, serialization.NoEncryption())
    write_secret(folder / "service-accounts.key", private)
    tokens = {name: os.urandom(16).hex() for name in USERS}
    lines = [f'{tokens[name]},{user},{name},"{groups}"' for name, (user, groups) in USERS.items()]
    write_secret(folder / "tokens.csv", "\n".join(lines).encode())
    for name, token in tokens.items():
        write_secret(folder / f"{name}.kubeconfig", kubeconfig(url, folder, token))
    return tokens


def _write_certificate(folder: Path, name: str, leaf: trustme.LeafCert) -> None:
    chain = b"".join(blob.bytes() for blob in leaf.cert_chain_pems)
    write_secret(folder / f"{name}.crt", chain)
    write_secret(folder / f"{name}.key", leaf.private_key_pem.bytes())


def write_secret(path: Path, content: bytes) -> None:
    path.touch(mode=0o600)
    path.write_bytes(content)


def kubeconfig(url: str, folder: Path, token: str) -> bytes:
    cluster = {"server": url, "certificate-authority": str(folder / "ca.crt")}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "testbed", "cluster": cluster}],
        "users": [{"name": "testbed", "user": {"token": token}}],
        "contexts": [{"name": "testbed", "context": {"cluster": "testbed", "user": "testbed"}}],
        "current-context": "testbed",
    }
    return yaml.safe_dump(document, sort_keys=False).encode()
