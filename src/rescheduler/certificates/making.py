"""Keys and signatures: takes the steps that `deciding` names, until there is none left."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from rescheduler.certificates.contents import Contents, Names, Pair
from rescheduler.certificates.deciding import (
    Decision,
    Step,
    next_step,
    others_of,
    signer_of,
    successor_of,
)

_CA_LIFE: Final = timedelta(days=3650)
_LIFE: Final = timedelta(days=90)
_EARLIER: Final = timedelta(minutes=10)
"""It is valid from so long ago: clocks of clients may be behind ours."""
_CA_NAME: Final = "kube-rescheduler CA"
_NAME: Final = "kube-rescheduler"


def repaired(
    found: Contents, names: Names, now: datetime, remembered: Contents | None = None
) -> tuple[Contents, tuple[Decision, ...]]:
    """What is to stand in the Secret, and the steps to it; none: what was found is good."""
    taken: list[Decision] = []
    while decision := next_step(found, names, now, remembered=remembered):
        if len(taken) == len(Step):
            raise AssertionError(f"steps lead nowhere: {taken}")
        found = _after(decision.step, found, names, now, remembered)
        taken.append(decision)
    return found, tuple(taken)


def _after(
    step: Step, found: Contents, names: Names, now: datetime, remembered: Contents | None
) -> Contents:
    if step is Step.NEW_CA:
        made = _authority(now)
        return Contents(bundle=_pem(made.certificate), ca_key=_key_pem(made))
    if step is Step.RESTORE and remembered is not None:
        return remembered
    signer, others = signer_of(found, now), others_of(found, now)
    if step is Step.ISSUE:
        return _issued(found, signer, names, now)
    return _rearranged(step, found, signer.certificate, others, now)


def _rearranged(
    step: Step,
    found: Contents,
    signer: x509.Certificate,
    others: Sequence[x509.Certificate],
    now: datetime,
) -> Contents:
    if step is Step.ADD_SUCCESSOR:
        made = _authority(now)
        bundle = _pem(signer, made.certificate, *others)
        return replace(found, bundle=bundle, next_key=_key_pem(made))
    if step is Step.SUCCEED:
        following, *rest = others
        bundle = _pem(following, signer, *rest)
        return replace(found, bundle=bundle, ca_key=found.next_key, next_key=b"")
    next_key = found.next_key if successor_of(found, now) else b""
    return replace(found, bundle=_pem(signer, *others), next_key=next_key)


def _authority(now: datetime) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own: those that look for a signer by its name find one.
    name = _named(f"{_CA_NAME} {now:%Y-%m-%d %H:%M:%S}")
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(name, name, key, now, now + _CA_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_others=True), critical=True)
        .add_extension(own, critical=False)
    )
    return Pair(builder.sign(key, hashes.SHA256()), key)


def _issued(found: Contents, signer: Pair, names: Names, now: datetime) -> Contents:
    key = ec.generate_private_key(ec.SECP256R1())
    authority = signer.certificate
    until = min(now + _LIFE, authority.not_valid_after_utc)
    signed_by = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    own = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    builder = (
        _builder(_named(_NAME), authority.subject, key, now, until)
        .add_extension(x509.SubjectAlternativeName(names.general()), critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_others=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(own, critical=False)
        .add_extension(signed_by, critical=False)
    )
    made = Pair(builder.sign(signer.key, hashes.SHA256()), key)
    return replace(found, certificate=_pem(made.certificate), key=_key_pem(made))


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    now: datetime,
    until: datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(until)
    )


def _usage(*, signs_others: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_others,
        key_cert_sign=signs_others,
        crl_sign=signs_others,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _pem(*certificates: x509.Certificate) -> bytes:
    return b"".join(each.public_bytes(Encoding.PEM) for each in certificates)


def _key_pem(pair: Pair) -> bytes:
    return pair.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
