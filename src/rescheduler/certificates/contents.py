"""What a Secret of ours holds, in PEM, and how much of that can be used. Pure."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any, Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

UNREADABLE: Final = (
    ValueError,
    TypeError,
    InvalidSignature,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""What cryptography raises, whatever the bytes are."""


_MOMENT: Final = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Names:
    """By which a port is asked."""

    dns: tuple[str, ...]
    ips: tuple[str, ...] = ()

    @classmethod
    def of_service(cls, name: str, namespace: str) -> "Names":
        """As clients in the cluster call it, the API server among them, and we ourselves."""
        full = f"{name}.{namespace}.svc"
        return cls((full, f"{name}.{namespace}", name, "localhost"), ("127.0.0.1", "::1"))

    def with_host(self, host: str) -> "Names":
        """A name or an address; empty: none."""
        if not host or host in (*self.dns, *self.ips):
            return self
        try:
            ip_address(host)
        except ValueError:
            return replace(self, dns=(*self.dns, host))
        return replace(self, ips=(*self.ips, host))

    def general(self) -> list[x509.GeneralName]:
        named = [x509.DNSName(each) for each in self.dns]
        return [*named, *(x509.IPAddress(ip_address(each)) for each in self.ips)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Whatever stands there; what is missing is empty."""

    bundle: bytes = b""
    """Whom clients are to trust: first the CA that signs, then the one that will or those that did.
    """
    ca_key: bytes = b""
    """Of the first of the bundle."""
    next_key: bytes = b""
    """Of the one that will sign; empty as long as there is none."""
    certificate: bytes = b""
    key: bytes = b""

    @classmethod
    def of(cls, secret: Mapping[str, Any]) -> "Contents":
        data = secret.get("data") or {}
        return cls(**{field: _decoded(data.get(key)) for field, key in KEYS.items()})

    def data(self) -> dict[str, str | None]:
        """As a merge patch of `data`; None takes a key away."""
        held = {key: getattr(self, field) for field, key in KEYS.items()}
        return {key: base64.b64encode(pem).decode() or None for key, pem in held.items()}


KEYS: Final = {
    "bundle": "ca.crt",
    "ca_key": "ca.key",
    "next_key": "next-ca.key",
    "certificate": "tls.crt",
    "key": "tls.key",
}
"""Of the Secret, by field; those that others have, too, are called as everywhere."""
assert {*KEYS} == {each.name for each in fields(Contents)}  # noqa: S101 - a table of all fields


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except binascii.Error:
        return b""


# ---------------------------------------------------------------------- what can be used


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, which belong together."""

    certificate: x509.Certificate
    key: EllipticCurvePrivateKey

    def lived(self, now: datetime) -> float:
        """The share of its life that is over: below 0 before it, above 1 after it."""
        begun = self.certificate.not_valid_before_utc
        life = self.certificate.not_valid_after_utc - begun
        return (now - begun) / max(life, _MOMENT)


class Unusable(Exception):
    """Why, in words."""

    def __init__(self, why: str, *, is_expected: bool = False) -> None:
        """Expected: such is the course of things, and nobody did anything wrong."""
        super().__init__(why)
        self.is_expected = is_expected


def pair_of(certificate: x509.Certificate, key_pem: bytes, what: str) -> Pair:
    """Raises Unusable."""
    try:
        key = load_pem_private_key(key_pem, None)
    except UNREADABLE:
        raise Unusable(f"the key of the {what} cannot be read") from None
    if not isinstance(key, EllipticCurvePrivateKey) or not isinstance(key.curve, SECP256R1):
        raise Unusable(f"the key of the {what} is not one that we made")
    if certificate.public_key() != key.public_key():
        raise Unusable(f"the key is not that of the {what}")
    return Pair(certificate, key)


def certificates_of(pem: bytes) -> list[x509.Certificate]:
    """In their order; none when anything of it cannot be read."""
    try:
        found = x509.load_pem_x509_certificates(pem)
        return [each for each in found if _is_whole(each)]
    except UNREADABLE:
        return []


def _is_whole(certificate: x509.Certificate) -> bool:
    """What is malformed inside is noticed only when somebody looks: raises UNREADABLE."""
    certificate.public_key()
    begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return begins <= ends and len(certificate.extensions) >= 0


def is_authority(certificate: x509.Certificate) -> bool:
    try:
        found = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    except UNREADABLE:
        return False
    return found.value.ca


def names_in(certificate: x509.Certificate) -> set[x509.GeneralName]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except UNREADABLE:
        return set()
    return {*found.value}


def is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except UNREADABLE:
        return False
    return True
