"""What somebody may have meant by a name that we do not know."""

import difflib
from collections.abc import Iterable

from rescheduler.documents.places import quoted


def nearest(name: str, known: Iterable[str], *, likeness: float = 0.6) -> str | None:
    """The known name most like this one, whatever its case; None when none is like it."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=likeness)
    return by_lower_case[matches[0]] if matches else None


def advice(name: str, known: Iterable[str]) -> str:
    """`did you mean "x"?`, or all the known names when none is near."""
    names = list(known)
    near = nearest(name, names)
    return f"did you mean {quoted(near)}?" if near else "known: " + ", ".join(names)
