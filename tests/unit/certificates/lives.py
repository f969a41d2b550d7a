"""Certificates of all kinds and ages, and whether a client would take them."""

from datetime import UTC, datetime, timedelta

from cryptography import x509
from cryptography.x509 import verification

from rescheduler.certificates import Contents, Names, repaired

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
NAMES = Names.of_service("door", "kube-system")
DAY = timedelta(days=1)


def made(now: datetime = NOW, names: Names = NAMES) -> Contents:
    return repaired(Contents(), names, now)[0]


def trusts(bundle: bytes, shown: bytes, now: datetime, name: str = NAMES.dns[0]) -> bool:
    """As a client that has this bundle and wants this name."""
    store = verification.Store(x509.load_pem_x509_certificates(bundle))
    policy = verification.PolicyBuilder().store(store).time(now)
    try:
        policy.build_server_verifier(x509.DNSName(name)).verify(
            x509.load_pem_x509_certificate(shown), []
        )
    except verification.VerificationError:
        return False
    return True
