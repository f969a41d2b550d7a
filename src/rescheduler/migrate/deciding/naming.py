"""Names of what a migration makes: its record, its label, its copy, its budget. Pure.

All are known before the thing exists, so that one whose create was never answered is found again.
"""

import hashlib
import re
from datetime import datetime
from typing import Final

_NAME_LIMIT: Final = 63
"""A pod's name becomes its host name, which is cut there; and what is made on the way is labelled
with the name of the record.
"""
_BUDGET_LIMIT: Final = 253
_HASH_LENGTH: Final = 10
_ID_LENGTH: Final = 16
_PREFIX: Final = "rescheduled-"
_STANDALONE: Final = re.compile(r"rescheduled-(?P<name>.+)-\d{8}t\d{6}z")
_BUDGET: Final = "-rescheduler-pdb"


def record_name(pod: str, uid: str, attempt: int) -> str:
    """The same for every request to move this pod, so that a repeated one is one migration."""
    return _shortened(pod, f"-{_digest(uid)}-{attempt}")


def migration_id(uid: str, attempt: int) -> str:
    """What the pods are labelled with. Another for each attempt: a copy of the last one may still
    be on its way out.
    """
    return hashlib.sha256(f"{uid}/{attempt}".encode()).hexdigest()[:_ID_LENGTH]


def copy_name(replica_set: str, migration: str) -> str:
    return _shortened(replica_set, "-" + migration[:_HASH_LENGTH])


def standalone_name(pod: str, at: datetime) -> str:
    """`rescheduled-<name>-<time>`. A time with letters in it cannot be read as the ordinal of a
    StatefulSet; and a second move does not pile up prefixes.
    """
    before = _STANDALONE.fullmatch(pod)
    base = before["name"] if before else pod
    suffix = at.strftime("-%Y%m%dt%H%M%Sz")
    room = _NAME_LIMIT - len(_PREFIX) - len(suffix)
    # What was cut before ends in such a digest already, and is short enough.
    return _PREFIX + (base if len(base) <= room else _digested(base, room)) + suffix


def budget_name(workload: str) -> str:
    room = _BUDGET_LIMIT - len(_BUDGET)
    return (workload if len(workload) <= room else _digested(workload, room)) + _BUDGET


def _digested(name: str, room: int) -> str:
    """Of names that begin alike, each has another."""
    return _shortened(name, "-" + _digest(name), room)


def _shortened(name: str, suffix: str, room: int = _NAME_LIMIT) -> str:
    return name[: room - len(suffix)].rstrip("-.") + suffix


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]
