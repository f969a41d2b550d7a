"""What a Secret of ours lacks, one step after the other, until nothing is missing. Pure.

A CA lives for ten years. After two thirds of that its successor stands beside it in the bundle, and
signs when it has stood there for a sixth of its own life: clients whose copy of the bundle people
have to renew, as a kube-scheduler's, have more than a year for it. What is signed lives for 90 days
and is renewed after two thirds of them.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Final

from cryptography import x509

from rescheduler.certificates.contents import (
    Contents,
    Names,
    Pair,
    Unusable,
    certificates_of,
    is_authority,
    is_signed_by,
    names_in,
    pair_of,
)

_RENEWED_AFTER: Final = 2 / 3
_SUCCESSOR_AFTER: Final = 2 / 3
_KNOWN_AFTER: Final = 1 / 6
_LAST_MOMENT: Final = 0.97
"""What it signed any later would not live for its 90 days."""
_OVER: Final = 1.0


class Step(Enum):
    RESTORE = "the last good contents are put back"
    NEW_CA = "a new CA is made; whoever knows only the old one has to be told"
    ADD_SUCCESSOR = "the next CA is made known: renew what clients trust within a year"
    SUCCEED = "the next CA signs from now on"
    TIDY = "what nobody needs is taken out of the bundle"
    ISSUE = "a certificate is issued"


@dataclass(frozen=True, slots=True)
class Decision:
    step: Step
    why: str
    is_expected: bool = False
    """Such is the course of things, and nobody has to do anything."""


def next_step(
    found: Contents, names: Names, now: datetime, *, remembered: Contents | None = None
) -> Decision | None:
    """None: all is well. `remembered`: what was good the last time that we looked."""
    try:
        signer = signer_of(found, now)
    except Unusable as problem:
        if remembered is not None and remembered != found and _has_signer(remembered, now):
            return Decision(Step.RESTORE, str(problem))
        return Decision(Step.NEW_CA, str(problem), problem.is_expected)
    return _about_the_bundle(found, signer, now) or _about_the_certificate(
        found, signer, names, now
    )


def signer_of(found: Contents, now: datetime) -> Pair:
    """Raises Unusable."""
    if not found.bundle:
        raise Unusable("there is no CA", is_expected=found == Contents())
    known = certificates_of(found.bundle)
    if not known:
        raise Unusable("the bundle cannot be read")
    signer = pair_of(known[0], found.ca_key, "CA")
    if not is_authority(signer.certificate):
        raise Unusable("what stands first in the bundle is not a CA")
    _refuse_other_times(signer, now, "CA")
    return signer


def successor_of(found: Contents, now: datetime) -> Pair | None:
    """The second of the bundle, if its key is there and it can take over."""
    known = certificates_of(found.bundle)
    try:
        next_one = pair_of(known[1], found.next_key, "next CA")
        _refuse_other_times(next_one, now, "next CA")
    except (Unusable, IndexError):
        return None
    return next_one if is_authority(next_one.certificate) else None


def others_of(found: Contents, now: datetime) -> list[x509.Certificate]:
    """Those that stand behind the one that signs, and may still be met."""
    known = certificates_of(found.bundle)[1:]
    return [each for each in known if each.not_valid_after_utc > now and is_authority(each)]


def _has_signer(remembered: Contents, now: datetime) -> bool:
    try:
        signer_of(remembered, now)
    except Unusable:
        return False
    return True


def _refuse_other_times(pair: Pair, now: datetime, what: str) -> None:
    lived = pair.lived(now)
    if lived < 0:
        raise Unusable(f"the {what} is not valid yet: are the clocks right?")
    if lived >= _OVER:
        raise Unusable(f"the {what} has expired")


def _about_the_bundle(found: Contents, signer: Pair, now: datetime) -> Decision | None:
    successor, lived = successor_of(found, now), signer.lived(now)
    if successor is None and lived >= _SUCCESSOR_AFTER:
        return Decision(Step.ADD_SUCCESSOR, "the CA is past two thirds of its life")
    if successor is not None and successor.lived(now) >= _KNOWN_AFTER:
        return Decision(Step.SUCCEED, "the next CA is known for long enough", is_expected=True)
    if successor is not None and lived >= _LAST_MOMENT:
        return Decision(Step.SUCCEED, "the CA expires soon")
    if found.next_key and successor is None:
        return Decision(Step.TIDY, "the next CA cannot be used")
    if len(others_of(found, now)) + 1 < len(certificates_of(found.bundle)):
        return Decision(Step.TIDY, "some of the bundle has expired or is no CA", is_expected=True)
    return None


def _about_the_certificate(
    found: Contents, signer: Pair, names: Names, now: datetime
) -> Decision | None:
    try:
        _refuse_certificate(found, signer, names, now)
    except Unusable as problem:
        return Decision(Step.ISSUE, str(problem), problem.is_expected)
    return None


def _refuse_certificate(found: Contents, signer: Pair, names: Names, now: datetime) -> None:
    if not found.certificate:
        raise Unusable("there is no certificate", is_expected=True)
    known = certificates_of(found.certificate)
    if not known:
        raise Unusable("the certificate cannot be read")
    pair = pair_of(known[0], found.key, "certificate")
    if not is_signed_by(pair.certificate, signer.certificate):
        raise Unusable("the certificate is not signed by the CA")
    if names_in(pair.certificate) != {*names.general()}:
        raise Unusable("the certificate is for other names")
    _refuse_other_times(pair, now, "certificate")
    if pair.lived(now) >= _RENEWED_AFTER:
        raise Unusable("the certificate is past two thirds of its life", is_expected=True)
