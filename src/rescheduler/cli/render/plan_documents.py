"""A plan, and its curve, as documents for machines. Pure.

The same plan gives the same bytes.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan, Refusal, Report
from rescheduler.plan.curve import Curve, Point

Document = dict[str, Any]

API_VERSION: Final = "rescheduler.io/v1alpha1"
_DECIMALS: Final = 3
_NOT_PLAIN: Final = re.compile(r"[^\n -~]")
_FIRST_OF_TWO: Final = 0x10000
"""From this character on, JSON writes two numbers."""
_WIDEST: Final = 2**31 - 1
"""Of a line of YAML: strings stay whole."""


def of_plan(plan: Plan) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "moves": [*map(move, plan.moves)],
        "strategies": [*map(report, plan.reports)],
        "imbalance": {each.resource: _imbalance(each) for each in plan.imbalances},
        "loads": plan.word,
        "nodes": [*map(node, plan.nodes)],
        "refusals": [*_grouped(plan.refusals)],
        "notes": list(plan.notes),
        "steps": plan.steps,
        "seed": plan.seed,
    }


def with_origin(document: Document, taken_at: str, cluster: str) -> Document:
    """When and of which cluster it was made, for whoever applies it; as far as that is known."""
    types = {key: document[key] for key in ("apiVersion", "kind")}
    known = {"takenAt": taken_at, "cluster": cluster}
    return {**types, **{key: value for key, value in known.items() if value}, **document}


def of_curve(found: Curve) -> Document:
    return {
        "apiVersion": API_VERSION,
        "kind": "Curve",
        "loads": found.word,
        "maxReschedulePods": found.chosen or 0,
        "inFlight": found.in_flight,
        "now": _point(found.now),
        "points": [{"limit": each.limit, **_point(each)} for each in found.points],
        "isWhole": found.is_whole,
    }


def _point(point: Point) -> Document:
    return {
        "moves": point.moves,
        "asked": point.asked,
        "strategies": dict(point.by_strategy),
        "imbalance": numbers(point.imbalances),
        "overloaded": point.overloaded,
    }


def move(move: Move) -> Document:
    return {
        "pod": {"namespace": move.namespace, "name": move.pod, "uid": move.uid},
        "from": move.source,
        "to": move.target,
        "strategy": move.strategy,
        "reason": move.reason,
        "way": str(move.way),
        "wave": move.wave,
        "asked": move.asked,
        **({"group": move.group} if move.group else {}),
    }


def report(report: Report) -> Document:
    return {
        "name": report.strategy,
        "acted": report.acted,
        "summary": report.summary,
        "figures": numbers(report.figures),
    }


def _imbalance(found: Imbalance) -> Document:
    return {
        "before": number(found.before),
        "after": number(found.after),
        "most": found.most,
        "least": found.least,
    }


def node(node: NodeLoad) -> Document:
    return {
        "name": node.node,
        "eligible": node.eligible,
        "before": {**numbers(node.before), "pods": node.pods_before},
        "after": {**numbers(node.after), "pods": node.pods_after},
    }


def _grouped(refusals: Iterable[Refusal]) -> Iterable[Document]:
    """By reason, those of the most pods first."""
    pods: dict[str, list[str]] = {}
    for each in refusals:
        for reason in each.reasons:
            pods.setdefault(reason, []).append(each.full_name)
    for reason in sorted(pods, key=lambda each: (-len(pods[each]), each)):
        yield {"reason": reason, "count": len(pods[reason]), "pods": pods[reason]}


def numbers(figures: Mapping[str, float]) -> dict[str, float | None]:
    return {name: number(figures[name]) for name in sorted(figures)}


def number(figure: float) -> float | None:
    """What is not known is neither a number in JSON nor in YAML."""
    return round(float(figure), _DECIMALS) if math.isfinite(figure) else None


# ------------------------------------------------------------------ as text


def as_text(document: Document, form: str) -> str:
    return _as_yaml(document) if form == "yaml" else _as_json(document)


def _as_json(document: Document) -> str:
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode()
    # A terminal may obey characters that JSON allows as they are; they stand in strings only.
    return _NOT_PLAIN.sub(lambda found: _escaped(found[0]), text) + "\n"


def _escaped(character: str) -> str:
    number = ord(character)
    if number < _FIRST_OF_TWO:
        return f"\\u{number:04x}"
    number -= _FIRST_OF_TWO
    return f"\\u{0xD800 + (number >> 10):04x}\\u{0xDC00 + (number & 0x3FF):04x}"


def _as_yaml(document: Document) -> str:
    import yaml  # slow to import, and seldom asked for

    # The one in C is many times faster, and writes the same.
    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(document, Dumper=dumper, sort_keys=False, width=_WIDEST))
