"""Names of copies: known before the copy exists, so that one whose create was never answered is
found again. Pure.
"""

import hashlib
import re
from datetime import datetime

_SUFFIX_LENGTH = 10
# A pod's name becomes its host name, which is cut at 63.
_NAME_LIMIT = 63
_PREFIX = "rescheduled-"
_STANDALONE = re.compile(r"rescheduled-(?P<name>.+)-\d{8}t\d{6}z")


def copy_name(replica_set: str, migration: str) -> str:
    suffix = "-" + migration[:_SUFFIX_LENGTH]
    return replica_set[: _NAME_LIMIT - len(suffix)].rstrip("-.") + suffix


def standalone_name(pod: str, at: datetime) -> str:
    """`rescheduled-<name>-<time>`. A time with letters in it cannot be read as the ordinal of a
    StatefulSet; and a second move does not pile up prefixes.
    """
    before = _STANDALONE.fullmatch(pod)
    base = before["name"] if before else pod
    suffix = at.strftime("-%Y%m%dt%H%M%Sz")
    if len(_PREFIX) + len(base) + len(suffix) > _NAME_LIMIT:
        digest = "-" + hashlib.sha256(base.encode()).hexdigest()[:_SUFFIX_LENGTH]
        # What was cut before ends in such a digest already, and is short enough.
        base = base[: _NAME_LIMIT - len(_PREFIX) - len(suffix) - len(digest)].rstrip("-.") + digest
    return _PREFIX + base + suffix
