"""What an evictor reads while it waits. Pure."""

from typing import Final

from rescheduler.model import podmigration
from rescheduler.model.objects import Object
from rescheduler.model.podmigration import Step

_WHO: Final = "kube-rescheduler"
_STEPS: Final = {
    Step.CHECK: "waiting for its turn",
    Step.MARK: "beginning",
    Step.CREATE: "making the copy",
    Step.WAIT_READY: "waiting until the copy is Ready",
    Step.WAIT_GROUP: "waiting for the others of its group",
    Step.LEAVE: "finishing its requests",
    Step.HAND_OVER: "handing over to the copy",
    Step.PROTECT: "protecting its workload",
    Step.STEER: "preparing for its successor",
    Step.EVICT: "evicting it",
    Step.WAIT_GONE: "waiting until it has ended",
    Step.WAIT_REPLACEMENT: "waiting until its successor is Ready",
    Step.CLEAN_UP: "tidying up",
    Step.TAKE_BACK: "taking the move back",
    Step.DONE: "done",
}


def asked(left: float) -> str:
    return f"{_WHO} moves it first: a migration has been asked for; {_until(left)}"


def moving(record: Object, left: float) -> str:
    target = podmigration.target_of(record)
    where = f"to {target}" if target else "to a node that is being chosen"
    step = podmigration.step_of(record)
    how = _STEPS.get(step, "under way") if step else "under way"
    return f"{_WHO} moves it first: migration {_name(record)} {where}, {how}; {_until(left)}"


def taking_over(record: Object, left: float) -> str:
    original = podmigration.pod_name(record)
    return (
        f"{_WHO} has it take the place of {original} (migration {_name(record)}), and moves it "
        f"then; {_until(left)}"
    )


def ending(record: Object, left: float) -> str:
    return (
        f"{_WHO} has moved it (migration {_name(record)}), and it is about to end; {_until(left)}"
    )


def until(said: str, left: float) -> str:
    return f"{said}; {_until(left)}"


def moved(record: Object, node: str) -> str:
    return (
        f"{_WHO} has moved it (migration {_name(record)}): what has its name now is its successor"
        f"{f', on {node}' if node else ''}"
    )


def again(record: Object, left: float) -> str:
    return f"{_WHO} moves it first, and tries again soon: {failed(record)}; {_until(left)}"


def turn(why: str, left: float) -> str:
    return f"{_WHO} lets one pod of a workload go at a time: {why}; {_until(left)}"


def failed(record: Object) -> str:
    said = podmigration.message_of(record) or podmigration.reason_of(record)
    return f"migration {_name(record)} failed: {said}"


def duration(seconds: float) -> str:
    """Such as `4m12s`; whole seconds, rounded up."""
    whole = int(-(-seconds // 1))
    minutes, rest = divmod(whole, 60)
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def _name(record: Object) -> str:
    metadata = record["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def _until(left: float) -> str:
    return f"the eviction passes in {duration(max(left, 0.0))} at the latest"
