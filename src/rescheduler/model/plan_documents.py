"""A plan as a document for machines: of commands, of files and of the dashboard. Pure.

The same plan gives the same bytes.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rescheduler.model.moves import Imbalance, Move, NodeLoad, Plan, Refusal, Report

Document = dict[str, Any]

API_VERSION: Final = "rescheduler.io/v1alpha1"
_DECIMALS: Final = 3


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
