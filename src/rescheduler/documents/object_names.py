"""What may be the name of an object: the rules of Kubernetes. Pure."""

import re
from typing import Final

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_LONGEST_LABEL: Final = 63
_LONGEST: Final = 253


def why_no_name(text: str) -> str:
    """Of a pod, a node, or an object of ours; empty: it may be one."""
    if len(text) <= _LONGEST and _SUBDOMAIN.fullmatch(text):
        return ""
    return (
        "lower case letters, digits, '-' and '.' (which stand between letters and digits), "
        f"1 to {_LONGEST} characters"
    )


def why_no_namespace(text: str) -> str:
    """The same of a namespace."""
    if len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text):
        return ""
    return (
        "lower case letters, digits and '-' (not at the ends), "
        f"1 to {_LONGEST_LABEL} characters, no patterns"
    )
