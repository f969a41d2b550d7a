"""What a snapshot does not show, and what to say to whoever would have to know it."""

from rescheduler.model.snapshot import Snapshot


def why_unknown(snapshot: Snapshot, source: str) -> str:
    """Why objects of this kind may be there that are not in the snapshot; empty: none is, or nobody
    has looked for any, as in a file that holds only some kinds.
    """
    for gap in snapshot.gaps:
        if gap.source == source and not gap.left_out:
            return gap.reason
    return ""


def was_left_out(snapshot: Snapshot, source: str) -> bool:
    """Nobody has looked: that something was not found means nothing."""
    return any(gap.source == source and gap.left_out for gap in snapshot.gaps)
