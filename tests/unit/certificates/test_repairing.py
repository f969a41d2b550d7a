"""Whatever a Secret holds, what we put there is good; and what is good stays."""

from dataclasses import fields, replace
from datetime import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.certificates import KEYS, Contents, Names, Step, next_step, repaired
from tests.unit.certificates.lives import DAY, NAMES, NOW, made, trusts

GOOD, OTHER = made(), made()


def steps(
    found: Contents, now: datetime = NOW, remembered: Contents | None = None
) -> tuple[list[Step], str]:
    """To something good, and why."""
    after, taken = repaired(found, NAMES, now, remembered)
    assert next_step(after, NAMES, now) is None
    assert trusts(after.bundle, after.certificate, now)
    return [each.step for each in taken], "; ".join(each.why for each in taken)


def test_an_empty_secret_gets_all_of_it() -> None:
    assert steps(Contents()) == (
        [Step.NEW_CA, Step.ISSUE],
        "there is no CA; there is no certificate",
    )


def test_what_is_good_stays() -> None:
    assert repaired(GOOD, NAMES, NOW) == (GOOD, ())
    assert repaired(GOOD, NAMES, NOW + 59 * DAY) == (GOOD, ())


def test_it_is_for_the_names_by_which_it_is_asked_and_for_no_others() -> None:
    for name in ("door", "door.kube-system", "door.kube-system.svc", "localhost"):
        assert trusts(GOOD.bundle, GOOD.certificate, NOW, name)
    for name in ("kube-system", "other.kube-system.svc", "door.default.svc"):
        assert not trusts(GOOD.bundle, GOOD.certificate, NOW, name)
    assert not trusts(OTHER.bundle, GOOD.certificate, NOW)


def test_a_secret_keeps_what_was_put_into_it() -> None:
    data = {key: value for key, value in GOOD.data().items() if value is not None}
    assert {*data} == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert Contents.of({"data": data}) == GOOD
    assert GOOD.data()["next-ca.key"] is None
    assert Contents.of({}) == Contents.of({"data": None}) == Contents()
    assert Contents.of({"data": {"ca.crt": "%", "tls.crt": 7}}) == Contents()


def key_of_another_kind() -> bytes:
    key = rsa.generate_private_key(65537, 2048)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def bundle_of_no_authority() -> Contents:
    """A certificate that may sign nothing, with its own key."""
    return replace(GOOD, bundle=GOOD.certificate, ca_key=GOOD.key)


NEW_CERTIFICATE: list[tuple[str, Contents]] = [
    ("there is no certificate", replace(GOOD, certificate=b"")),
    ("the certificate cannot be read", replace(GOOD, certificate=b"garbage")),
    ("the certificate cannot be read", replace(GOOD, certificate=GOOD.certificate[:200])),
    ("the key of the certificate cannot be read", replace(GOOD, key=b"")),
    (
        "the key of the certificate is not one that we made",
        replace(GOOD, key=key_of_another_kind()),
    ),
    ("the key is not that of the certificate", replace(GOOD, key=OTHER.key)),
    (
        "the certificate is not signed by the CA",
        replace(GOOD, certificate=OTHER.certificate, key=OTHER.key),
    ),
    ("the certificate is for other names", made(names=Names(("elsewhere",)))),
    ("the certificate is for other names", made(names=Names(NAMES.dns))),
]
NEW_AUTHORITY: list[tuple[str, Contents]] = [
    ("there is no CA", replace(GOOD, bundle=b"")),
    ("the bundle cannot be read", replace(GOOD, bundle=b"garbage")),
    ("the bundle cannot be read", replace(GOOD, bundle=GOOD.bundle[:-40])),
    ("the key of the CA cannot be read", replace(GOOD, ca_key=b"garbage")),
    ("the key is not that of the CA", replace(GOOD, ca_key=OTHER.ca_key)),
    ("what stands first in the bundle is not a CA", bundle_of_no_authority()),
]


@pytest.mark.parametrize(("why", "found"), NEW_CERTIFICATE)
def test_a_wrong_certificate_is_issued_anew_by_the_same_ca(why: str, found: Contents) -> None:
    after, taken = repaired(found, NAMES, NOW)
    assert [(each.step, each.why) for each in taken] == [(Step.ISSUE, why)]
    assert (after.bundle, after.ca_key) == (found.bundle, found.ca_key)
    assert trusts(found.bundle, after.certificate, NOW)


@pytest.mark.parametrize(("why", "found"), NEW_AUTHORITY)
def test_without_a_ca_a_new_one_is_made(why: str, found: Contents) -> None:
    taken, told = steps(found)
    assert taken == [Step.NEW_CA, Step.ISSUE]
    assert told.startswith(why)


@pytest.mark.parametrize(("why", "found"), NEW_AUTHORITY)
def test_a_ca_that_we_remember_is_put_back_so_that_clients_notice_nothing(
    why: str, found: Contents
) -> None:
    assert steps(found, remembered=GOOD) == ([Step.RESTORE], why)
    assert repaired(found, NAMES, NOW, GOOD)[0] == GOOD


def test_what_others_put_there_is_not_overruled_by_what_we_remember() -> None:
    assert repaired(OTHER, NAMES, NOW, GOOD) == (OTHER, ())


def test_what_we_remember_may_have_expired_as_well() -> None:
    late = NOW + 4000 * DAY
    assert steps(GOOD, late, GOOD)[0] == [Step.NEW_CA, Step.ISSUE]
    assert steps(Contents(), late, GOOD)[0] == [Step.NEW_CA, Step.ISSUE]


def test_renewed_after_two_thirds_of_its_life() -> None:
    assert steps(GOOD, NOW + 61 * DAY) == (
        [Step.ISSUE],
        "the certificate is past two thirds of its life",
    )
    assert steps(GOOD, NOW + 91 * DAY) == ([Step.ISSUE], "the certificate has expired")


def test_a_certificate_of_the_future_is_told_and_replaced() -> None:
    assert steps(made(NOW + DAY)) == (
        [Step.NEW_CA, Step.ISSUE],
        "the CA is not valid yet: are the clocks right?; there is no certificate",
    )


def test_at_the_last_moment_the_next_ca_signs_at_once() -> None:
    taken, told = steps(GOOD, NOW + 3600 * DAY)
    assert taken == [Step.ADD_SUCCESSOR, Step.SUCCEED, Step.ISSUE]
    assert "the CA expires soon" in told


def test_a_next_ca_whose_key_is_lost_is_followed_by_another() -> None:
    old = NOW + 2500 * DAY
    beside, taken = repaired(GOOD, NAMES, old)
    assert [each.step for each in taken] == [Step.ADD_SUCCESSOR, Step.ISSUE]
    for next_key in (b"", b"garbage", OTHER.key):
        assert steps(replace(beside, next_key=next_key), old)[0] == [Step.ADD_SUCCESSOR]


def test_a_key_that_belongs_to_nothing_is_taken_out() -> None:
    after, taken = repaired(replace(GOOD, next_key=b"garbage"), NAMES, NOW)
    assert [each.step for each in taken] == [Step.TIDY]
    assert after == GOOD


def test_what_is_no_ca_is_taken_out_of_the_bundle() -> None:
    found = replace(GOOD, bundle=GOOD.bundle + OTHER.certificate)
    after, taken = repaired(found, NAMES, NOW)
    assert [each.step for each in taken] == [Step.TIDY]
    assert after == GOOD


def test_thirty_years_in_which_no_client_is_refused() -> None:
    """Looked at each week, with a client whose bundle is up to sixteen months old."""
    held, bundles, authorities = Contents(), list[bytes](), set[bytes]()
    for week in range(30 * 52):
        now = NOW + 7 * week * DAY
        held, _ = repaired(held, NAMES, now, held)
        bundles.append(held.bundle)
        authorities.add(held.ca_key)
        assert trusts(bundles[max(0, week - 70)], held.certificate, now), now
        assert trusts(held.bundle, held.certificate, now)
        assert held.bundle.count(b"BEGIN") <= 3
    assert len(authorities) >= 4


# ---------------------------------------------------------------------- anything at all


def strange_certificate() -> bytes:
    """Signed by itself, from the beginning of time to its end, with nothing in it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


PIECES = [getattr(each, field.name) for each in (GOOD, OTHER) for field in fields(Contents)]
PIECES += [b"", strange_certificate(), key_of_another_kind(), b"-----BEGIN CERTIFICATE-----\n"]


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    piece = bytearray(draw(st.sampled_from(PIECES)) + draw(st.sampled_from(PIECES)))
    for _ in range(draw(st.integers(0, 3))):
        if piece:
            at = draw(st.integers(0, len(piece) - 1))
            piece[at] = draw(st.integers(0, 255))
    return bytes(piece)


PEM = st.one_of(st.sampled_from(PIECES), damaged(), st.binary(max_size=60))
ANYTHING = st.builds(Contents, **dict.fromkeys(KEYS, PEM))


@settings(deadline=None)
@given(found=ANYTHING, remembered=st.one_of(st.none(), ANYTHING))
def test_anything_is_repaired(found: Contents, remembered: Contents | None) -> None:
    steps(found, remembered=remembered)
