"""Answers of the API in which every free text wants to be a script. Pure.

No cluster would admit most of this, and a page that relies on that is one mistake away from running
it: so every text field of every document is filled, whether or not anybody could write there.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import inspect

from rescheduler.serve.dashboard.contract import ENDPOINTS
from rescheduler.serve.dashboard.documents.cluster import Cluster
from rescheduler.serve.dashboard.documents.events import Events

MARK: Final = "hostile"
"""In each of them: where it is shown as it stands, it was shown as text."""

PAYLOADS: Final = (
    f"{MARK}<img src=x onerror=alert('image')>",
    f"\"'><script>alert('{MARK}')</script>",
    f"javascript:alert('{MARK}')//",
    f"{MARK}' onmouseover='alert(1)' style='position:fixed' x='",
    f"</title></style></textarea><svg onload=alert('{MARK}')>",
    f"{MARK}{{{{constructor.constructor('alert(1)')()}}}}${{alert(2)}}",
    f"\u202e{MARK}\u2066\u0000\ufeff\u2028end",
    f"__proto__ {MARK} " + "wide" * 200,
    f"data:text/html,<script>parent.alert('{MARK}')</script>",
    f"../../{MARK}?x=%3Cscript%3Ealert(1)%3C/script%3E#/\\..",
)

# What the page decides by, and so has to be what it can be for the rest to be shown at all.
_AS_IT_IS: Final[Mapping[str, Any]] = {
    "loads": "requests",
    "may": ["approve", "reject", "undo"],
    "continue": "",
    "version": "1",
    "chapter": 1,
}
_MOMENT: Final = "2026-01-05T10:00:00Z"
_DEPTH: Final = 12


class Hostile:
    """Hands out the payloads one after the other, so that every kind of place gets several."""

    def __init__(self) -> None:
        self._given = 0

    def answers(self) -> dict[str, Any]:
        """By the name of the endpoint, as JSON."""
        return {
            each.name: self.cluster() if each.answer is Cluster else self.fill(each.answer)
            for each in ENDPOINTS
            if each.answer is not None
        }

    def events(self, names: Iterable[str]) -> dict[str, Any]:
        """What the stream says, by the name of the event."""
        kinds = {each.name: each.type for each in msgspec.structs.fields(Events)}
        return {name: self.fill(kinds[name]) for name in names}

    def fill(self, kind: Any) -> Any:  # noqa: ANN401 - a type, and what it is made of
        return self._of(inspect.type_info(kind), "", _DEPTH)

    def text(self) -> str:
        self._given += 1
        return PAYLOADS[self._given % len(PAYLOADS)]

    def _of(self, kind: inspect.Type, name: str, depth: int) -> Any:  # noqa: ANN401, C901, PLR0911
        if name in _AS_IT_IS:
            return _AS_IT_IS[name]
        match kind:
            case inspect.StructType():
                return {
                    each.encode_name: self._of(each.type, each.encode_name, depth - 1)
                    for each in kind.fields
                }
            case inspect.UnionType():
                return self._of(_worst(kind.types), name, depth)
            case inspect.ListType() | inspect.VarTupleType():
                return [self._of(kind.item_type, "", depth - 1) for _ in range(3)] if depth else []
            case inspect.DictType():
                return {self.text(): self._of(kind.value_type, "", depth - 1) for _ in range(2)}
            case inspect.StrType():
                return self.text()
            case inspect.DateTimeType():
                return _MOMENT
            case inspect.BoolType():
                return True
            case inspect.IntType():
                return 2
            case inspect.FloatType():
                return 47.5
            case inspect.AnyType():
                return {self.text(): self.text(), "before": self.text(), "list": [self.text()]}
        raise TypeError(f"nothing hostile is known for {kind}")

    def cluster(self) -> dict[str, Any]:
        """Its numbers have to fit each other; its names do not."""
        names = [f"{each} {number}" for number, each in enumerate(PAYLOADS)]
        nodes = range(len(names))
        columns = {
            "zone": [each % 2 for each in nodes],
            "pool": [0 for _ in nodes],
            "flags": [2**each if each < 7 else 0 for each in nodes],
            "cpu": [4000 for _ in nodes],
            "memory": [16384 for _ in nodes],
            "capacity": [110 for _ in nodes],
            "cpuLoad": [50 * each for each in nodes],
            "memoryLoad": [40 * each for each in nodes],
            "cpuPlanned": [300 for _ in nodes],
            "memoryPlanned": [300 for _ in nodes],
            "otherPods": [0 for _ in nodes],
            "otherCpu": [0 for _ in nodes],
            "otherMemory": [0 for _ in nodes],
        }
        pods = 3 * len(names)
        return {
            "version": "1",
            "takenAt": _MOMENT,
            "loads": "requests",
            "zones": [self.text(), self.text()],
            "pools": [self.text()],
            "namespaces": list(PAYLOADS),
            "kinds": ["Deployment", self.text()],
            "nodes": {"name": names, **columns},
            "workloads": {
                "namespace": list(nodes),
                "kind": [each % 2 for each in nodes],
                "name": names,
            },
            "pods": {
                "perNode": [3 for _ in nodes],
                "workload": [each % len(names) for each in range(pods)],
                "cpu": [100 for _ in range(pods)],
                "memory": [100 for _ in range(pods)],
                "state": [each % 5 for each in range(pods)],
            },
            "moves": [
                {
                    "namespace": self.text(),
                    "pod": self.text(),
                    "uid": self.text(),
                    "workload": number,
                    "from": number,
                    "to": (number + 1) % len(names),
                    "state": ("planned", "inProgress")[number % 2],
                    "step": self.text(),
                    "migration": self.text(),
                }
                for number in nodes
            ],
        }


def _worst(kinds: tuple[inspect.Type, ...]) -> inspect.Type:
    """Of those that a value may be: not null, and text where that is possible."""
    there = [each for each in kinds if not isinstance(each, inspect.NoneType)]
    texts = [each for each in there if isinstance(each, inspect.StrType)]
    return (texts or there)[0]


def check(answers: Mapping[str, Any]) -> None:
    """That they are answers the API could give at all: raises what the decoder says."""
    for each in ENDPOINTS:
        if each.answer is not None:
            msgspec.convert(answers[each.name], each.answer, strict=False)
