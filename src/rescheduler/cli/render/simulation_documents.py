"""A comparison as a document for machines. Pure: the same comparison gives the same bytes."""

from collections.abc import Sequence
from typing import Any, Final

from rescheduler.simulation.contending import Day
from rescheduler.simulation.described import Described
from rescheduler.simulation.dips import Cause
from rescheduler.simulation.happenings import Happening
from rescheduler.simulation.summaries import Course, Summary
from rescheduler.wire import NODES, PODS

Document = dict[str, Any]

_API_VERSION: Final = "rescheduler.io/v1alpha1"
_DECIMALS: Final = 3
_CAUSES: Final = {
    Cause.MOVE: "byMoves",
    Cause.RECREATE: "byRecreate",
    Cause.EVICTION: "byEvictions",
    Cause.OTHER: "byOthers",
}


def of_comparison(summaries: Sequence[Summary], day: Day, notes: Sequence[str]) -> Document:
    return {
        "apiVersion": _API_VERSION,
        "kind": "SimulationComparison",
        "cluster": _cluster(day.described),
        "scenario": day.scenario.name,
        "seed": day.seed,
        "hours": day.hours,
        "thresholdPercent": day.threshold_percent,
        "faults": {each.name: each.rate for each in day.faults},
        "happenings": [*map(_happening, day.happenings)],
        "contenders": [*map(_contender, summaries)],
        "notes": list(notes),
    }


def _cluster(described: Described) -> Document:
    return {
        "nodes": described.count(NODES),
        "pods": described.count(PODS),
        "workloads": len(described.loads),
    }


def _happening(happening: Happening) -> Document:
    return {
        "atSeconds": round(happening.at),
        "what": str(happening.what),
        "name": happening.name,
        **({"replicas": happening.replicas} if happening.replicas else {}),
        **({"lastsSeconds": round(happening.lasts)} if happening.lasts else {}),
    }


def _contender(summary: Summary) -> Document:
    cpu, memory = (
        {
            "deviation": _course(summary.deviation[place]),
            "gap": _course(summary.gap[place]),
            "meanPercent": _course(summary.used[place]),
        }
        for place in (0, 1)
    )
    return {
        "name": summary.name,
        "moved": summary.moved,
        "movedByStrategy": summary.by_strategy,
        "putOff": summary.put_off,
        "failed": summary.failed,
        "failedByReason": summary.reasons,
        "unfinished": summary.unfinished,
        "dips": {name: summary.dips[cause] for cause, name in _CAUSES.items()},
        "missingPodSeconds": {
            name: _number(summary.missing_seconds[cause]) for cause, name in _CAUSES.items()
        },
        "drains": {
            "seconds": [*map(_number, summary.drain_seconds)],
            "unfinished": summary.unfinished_drains,
        },
        "cpu": cpu,
        "memory": memory,
        "hotNodeMinutes": _number(summary.hot_minutes),
        "pendingPodMinutes": _number(summary.pending_minutes),
        "hotNodes": _course(summary.hot),
        "nodesInUse": _course(summary.nodes),
        "costPerHour": None if summary.cost is None else _course(summary.cost),
        "pointSeconds": summary.point_seconds,
    }


def _course(course: Course) -> Document:
    return {
        "mean": _number(course.mean),
        "before": _number(course.before),
        "after": _number(course.after),
        "points": [*map(_number, course.points)],
    }


def _number(figure: float) -> float:
    return round(float(figure), _DECIMALS)
