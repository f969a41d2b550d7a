"""A plan from a file: of `rescheduler plan -o json|yaml`, or a ReschedulePlan.

Whatever is wrong with it is told by its field, and nothing of it is used then.
"""

import sys
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from rescheduler.documents import reading
from rescheduler.documents.kinds import Count, Flag, Text
from rescheduler.documents.name_lists import Choice
from rescheduler.documents.places import Place, quoted
from rescheduler.documents.shapes import Anything, Section, Shape
from rescheduler.model import reschedule_plan
from rescheduler.model.moves import Move, Way

STDIN: Final = "-"
_LARGEST_BYTES: Final = 32 * 1024 * 1024
"""`rescheduler plan` names each node, and each pod that stays: 2 MB for 1,000 nodes."""
_STDIN_IN_WORDS: Final = "standard input"
_API_VERSION: Final = reschedule_plan.API_VERSION
_OF_COMMAND: Final = "Plan"
# As long as in a ReschedulePlan, which they end in.
_NAME: Final = Text(may_be_empty=False, longest=253)
_SHORT_NAME: Final = Text(may_be_empty=False, longest=63)
_MAYBE_A_NAME: Final = Text(longest=253)
_TEXT: Final = Text(may_be_empty=False)
_ANY_TEXT: Final = Text()
_ANYTHING: Final = Anything()
_DETAILS: Final[dict[str, Shape]] = {
    "from": _NAME,
    "to": _NAME,
    "strategy": _MAYBE_A_NAME,
    "reason": _ANY_TEXT,
    "way": Choice(tuple(Way)),
    "wave": Count(),
    "asked": Flag(),
    "group": _MAYBE_A_NAME,
}
_POD: Final = Section(
    {"namespace": _SHORT_NAME, "name": _NAME, "uid": _SHORT_NAME}, ("namespace", "name", "uid")
)
_OF_MANY: Final = "List"
_NEEDED: Final = ("pod", "from", "to")
_MOVE_OF_COMMAND: Final = Section({"pod": _POD, **_DETAILS}, _NEEDED)
_MOVE_OF_OBJECT: Final = Section(
    {"namespace": _SHORT_NAME, "pod": _NAME, "uid": _SHORT_NAME, **_DETAILS},
    ("namespace", "uid", *_NEEDED),
)
_OTHERS_OF_COMMAND: Final = (
    *("strategies", "imbalance", "loads", "nodes", "refusals", "notes", "steps", "seed", "curve"),
)
_OTHERS_OF_SPEC: Final = (
    *("origin", "mode", "summary", "undoes", "total", "leftOut"),
    *("loads", "imbalance", "overloaded", "nodes", "others"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    moves: tuple[Move, ...]
    taken_at: datetime
    """When the cluster was looked at."""
    cluster: str
    """The UID of its namespace kube-system; empty: nobody wrote it down."""
    summary: str = ""
    all_or_nothing: bool = False
    """It says so itself."""
    is_object: bool = False
    """Its moves stand in its spec."""

    def place_of(self, number: int, field: str) -> str:
        return f"{'spec.' if self.is_object else ''}moves[{number}].{field}"


def load(file: str) -> tuple[str, str]:
    """Its text, and what to call it. `-` is standard input. Raises ConfigurationError."""
    if file == STDIN:
        text = reading.text_of(sys.stdin.buffer, _STDIN_IN_WORDS, _LARGEST_BYTES)
        return text, _STDIN_IN_WORDS
    return reading.load_text(file, _LARGEST_BYTES), file


def read(text: str, source: str) -> PlanFile:
    """Raises ConfigurationError, with all that is wrong, each by its field."""
    return reading.parse(text, source, _read, largest_bytes=_LARGEST_BYTES)


def _read(place: Place) -> PlanFile | None:
    if not isinstance(place.value, dict):
        place.expected("a plan: what rescheduler plan -o yaml prints, or a ReschedulePlan")
        return None
    kind = place.value.get("kind")
    if isinstance(kind, str) and kind.endswith(_OF_MANY):
        place.at("kind").refuse(
            f"is {quoted(kind)}, and one plan is carried out at a time: "
            "rescheduler get plans PLAN -o yaml prints one"
        )
        return None
    reading.check_type(place.at("apiVersion"), [_API_VERSION])
    reading.check_type(place.at("kind"), [_OF_COMMAND, reschedule_plan.KIND])
    if kind == _OF_COMMAND:
        return _of_command(place)
    return _of_object(place) if kind == reschedule_plan.KIND else None


def _of_command(place: Place) -> PlanFile | None:
    known = dict.fromkeys(("apiVersion", "kind", "moves", *_OTHERS_OF_COMMAND), _ANYTHING)
    Section({**known, "takenAt": _TEXT, "cluster": _ANY_TEXT}, ("moves", "takenAt")).read(place)
    moves = _moves(place, _MOVE_OF_COMMAND, is_object=False)
    taken_at = _time(place.at("takenAt"))
    if taken_at is None or moves is None:
        return None
    cluster = str(place.at("cluster").value or "")
    return PlanFile(moves=moves, taken_at=taken_at, cluster=cluster)


def _of_object(place: Place) -> PlanFile | None:
    known = dict.fromkeys(("apiVersion", "kind", "metadata", "spec", "status"), _ANYTHING)
    Section(known, ("spec",)).read(place)
    spec = place.at("spec")
    if spec.value is None:
        spec.refuse("is needed: it has the moves")
        return None
    others = dict.fromkeys(("moves", *_OTHERS_OF_SPEC), _ANYTHING)
    said = Section(
        {**others, "decidedAt": _TEXT, "allOrNothing": Flag()}, ("moves", "decidedAt")
    ).read(spec)
    moves = _moves(spec, _MOVE_OF_OBJECT, is_object=True)
    taken_at = _time(spec.at("decidedAt"))
    if taken_at is None or moves is None:
        return None
    return PlanFile(
        moves=moves,
        taken_at=taken_at,
        cluster="",
        summary=str(spec.at("summary").value or ""),
        all_or_nothing=bool((said or {}).get("allOrNothing")),
        is_object=True,
    )


def _moves(plan: Place, shape: Section, *, is_object: bool) -> tuple[Move, ...] | None:
    if not isinstance(plan.value, dict) or "moves" not in plan.value:
        return None  # that it is missing is told already
    place = plan.at("moves")
    if not isinstance(place.value, list):
        place.expected("a list of moves")
        return None
    if not place.value:
        place.refuse("is empty: there is nothing to move")
        return None
    if len(place.value) > reschedule_plan.MOST_MOVES:
        most = reschedule_plan.MOST_MOVES
        place.refuse(f"has {len(place.value)} moves, and may have {most}: make it several files")
        return None
    first_places: dict[str, Place] = {}
    found = []
    for item in place.each():
        if item.value is None:
            item.expected("a move")
            continue
        given = shape.read(item) or {}
        move = _move(item, given, is_object=is_object)
        if move is None:
            continue
        # By either: one who copies a move by hand may change but one of them.
        firsts = [first_places.setdefault(each, item) for each in (move.uid, move.full_name)]
        if (first := next((each for each in firsts if each is not item), None)) is not None:
            item.refuse(f"moves {move.full_name} again, as {first} does: take one of them out")
            continue
        if move.source == move.target:
            item.at("to").refuse(f"is {quoted(move.target)}, where the pod comes from")
            continue
        found.append(move)
    return tuple(found)


def _move(item: Place, given: dict[str, object], *, is_object: bool) -> Move | None:
    pod = given.get("pod")
    named = {"namespace": given.get("namespace"), "name": pod, "uid": given.get("uid")}
    if not is_object:
        named = dict(pod) if isinstance(pod, dict) else {}
    texts = [named.get("namespace"), named.get("name"), named.get("uid")]
    texts += [given.get("from"), given.get("to")]
    if not all(isinstance(each, str) and each for each in texts):
        return None
    namespace, name, uid, source, target = map(str, texts)
    way, wave = given.get("way"), given.get("wave")
    if "way" in given and way is None:
        item.at("way").refuse("is empty")
    return Move(
        namespace=namespace,
        pod=name,
        uid=uid,
        source=source,
        target=target,
        strategy=str(given.get("strategy") or ""),
        reason=str(given.get("reason") or ""),
        way=Way(way) if isinstance(way, str) else Way.SURGE,
        asked=True,
        group=str(given.get("group") or ""),
        wave=wave if isinstance(wave, int) else 0,
    )


def _time(place: Place) -> datetime | None:
    if not isinstance(place.value, str):
        return None  # told already
    try:
        found = datetime.fromisoformat(place.value)
    except ValueError:
        found = None
    if found is None or found.tzinfo is None:
        place.refuse(f"expected a time such as 2026-11-18T09:30:00Z, found {quoted(place.value)}")
        return None
    return found
