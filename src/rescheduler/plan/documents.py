"""What is explained of a pod, a node or a plan, and the curve, as documents for machines. Pure."""

from rescheduler.model import plan_documents
from rescheduler.model.plan_documents import Document
from rescheduler.plan.curve import Curve, Point
from rescheduler.plan.explaining import Explanation
from rescheduler.plan.explaining_nodes import NodeExplanation, Resident
from rescheduler.plan.explaining_plans import PlanExplanation, Staying
from rescheduler.plan.whatif import Change, Remedy


def of_pod(explained: Explanation) -> Document:
    pod = explained.pod
    return {
        "apiVersion": plan_documents.API_VERSION,
        "kind": "Explanation",
        "pod": {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid},
        "node": pod.node or None,
        "owner": {"kind": pod.owner.kind, "name": pod.owner.name} if pod.owner else None,
        "priority": pod.priority,
        "requests": dict(sorted(pod.requests.items())),
        "usage": {
            name: plan_documents.number(each) for name, each in sorted(explained.usage.items())
        },
        "mayMove": not explained.stays,
        "stays": list(explained.stays),
        "mayMoveWhenAsked": not explained.stays_when_asked,
        "staysWhenAsked": list(explained.stays_when_asked),
        "way": str(explained.way),
        "recreated": explained.recreated,
        "group": list(explained.group),
        "nodes": [
            {"name": each.node, "fits": not each.reasons, "reasons": list(each.reasons)}
            for each in explained.verdicts
        ],
        "move": plan_documents.move(explained.move) if explained.move else None,
        "refusals": list(explained.refusals),
        "strategies": [*map(plan_documents.report, explained.reports)],
        "remedies": [*map(_remedy, explained.remedies)],
        "nothingHelps": explained.nothing_helps or None,
    }


def of_node(explained: NodeExplanation) -> Document:
    load = explained.load
    return {
        "apiVersion": plan_documents.API_VERSION,
        "kind": "NodeExplanation",
        "node": explained.node.name,
        "loads": explained.word,
        "load": plan_documents.node(load),
        "thresholds": plan_documents.numbers(explained.thresholds),
        "overloaded": list(explained.overloaded),
        "takesNoPods": list(explained.problems),
        "emptied": explained.is_emptied,
        "leaving": [*map(plan_documents.move, explained.leaving)],
        "coming": [*map(plan_documents.move, explained.coming)],
        "pods": [*map(_resident, explained.residents)],
        "notes": list(explained.notes),
    }


def _resident(each: Resident) -> Document:
    return {
        "name": each.full_name,
        "share": plan_documents.numbers(each.share),
        "partOfNode": each.is_part_of_node,
        "leaves": each.leaves,
        "reasons": list(each.reasons),
        "remedies": [*map(_remedy, each.remedies)],
        "nothingHelps": each.nothing_helps or None,
    }


def of_plan(explained: PlanExplanation) -> Document:
    return {
        "apiVersion": plan_documents.API_VERSION,
        "kind": "PlanExplanation",
        "plan": plan_documents.of_plan(explained.plan),
        "staying": [*map(_staying, explained.staying)],
    }


def _staying(each: Staying) -> Document:
    return {
        "pods": list(each.pods),
        "reasons": list(each.reasons),
        "asked": each.pods[0],
        "remedies": [*map(_remedy, each.remedies)],
        "nothingHelps": each.nothing_helps or None,
    }


def _remedy(each: Remedy) -> list[Document]:
    """Changes that have to be made together."""
    return [*map(_change, each.changes)]


def _change(change: Change) -> Document:
    return {
        "kind": str(change.kind),
        "of": change.subject,
        "words": change.words,
        **({"amount": change.amount} if change.amount is not None else {}),
        "details": dict(change.details),
    }


def of_curve(found: Curve) -> Document:
    return {
        "apiVersion": plan_documents.API_VERSION,
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
        "imbalance": plan_documents.numbers(point.imbalances),
        "overloaded": point.overloaded,
    }
