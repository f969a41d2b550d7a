"""A move in a few words, as far as it has come. Pure."""

from typing import Final

from rescheduler.cli.render.layout import Page
from rescheduler.simulation.scenes import MoveLook, MoveScene

_STEPS: Final = {
    "Check": "is looked at",
    "Mark": "is marked",
    "Create": "gets its copy",
    "WaitReady": "copy starts",
    "WaitGroup": "waits for its group",
    "Leave": "serves out",
    "HandOver": "hands over",
    "Protect": "is guarded",
    "Steer": "is steered",
    "Evict": "is evicted",
    "WaitGone": "old pod ends",
    "WaitReplacement": "starts again",
    "CleanUp": "is cleared up",
    "TakeBack": "is taken back",
    "Done": "is done",
}
_UNDONE: Final = (MoveLook.PUT_OFF, MoveLook.FAILED)
LONGEST_STEP: Final = max(map(len, _STEPS.values()))


def step(move: MoveScene) -> str:
    match move.look:
        case MoveLook.WAITING:
            return "waits its turn"
        case MoveLook.MOVED:
            return f"{'recreated' if move.is_recreated else 'moved'}, {move.seconds:.0f} s"
        case MoveLook.PUT_OFF:
            return "put off"
        case MoveLook.FAILED:
            return "failed"
        case MoveLook.UNDER_WAY:
            return _STEPS.get(move.step, move.step)


def why(move: MoveScene) -> str:
    """What it ended by, when that is not what it was begun for."""
    return move.outcome if move.look in _UNDONE else move.reason


def where(move: MoveScene, page: Page) -> str:
    return f"{page.named(move.source)} {page.arrow} {page.named(move.target or '(to be chosen)')}"
