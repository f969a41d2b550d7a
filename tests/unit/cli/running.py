"""The command line as tests call it."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Ended:
    code: object
    out: str
    err: str


class Command(Protocol):
    def __call__(self, *arguments: str) -> Ended: ...
