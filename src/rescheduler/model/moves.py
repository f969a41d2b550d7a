"""What planning gives and migrating takes."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    namespace: str
    pod: str
    uid: str
    source: str
    target: str
    strategy: str
    reason: str
    """In numbers, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why a pod that could have helped stays where it is."""

    namespace: str
    pod: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    moves: tuple[Move, ...]
    refusals: tuple[Refusal, ...]
    summary: str
    """Why the strategy acted or rested, in one sentence with numbers."""
