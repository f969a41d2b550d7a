"""Figures as text for people, and as JSON for machines. Pure."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from rescheduler.cli.render.layout import Page, some_of
from rescheduler.cli.render.snapshot_figures import Figures, Imbalance, Load, NodeLoad
from rescheduler.model import resources
from rescheduler.model.snapshot import Gap

_MOST_NAMED: Final = 5
"""Pending pods in a sentence."""
_LABEL_WIDTH: Final = 12
_UNKNOWN: Final = "<unknown>"
_NONE: Final = "<none>"
_BINARY_UNITS: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi")


# ------------------------------------------------------------------ for people


def as_text(figures: Figures, page: Page) -> str:
    """The table, then what stands in no table, a line each."""
    rows = _rows(figures)
    lines = [*page.table(rows, numbers=range(2, len(rows[0]))), ""]
    for label, told in _sentences(figures):
        lines += page.labelled(label, told, _LABEL_WIDTH)
    return "\n".join(lines) + "\n"


def _rows(figures: Figures) -> list[list[str]]:
    head = ["NAME", "STATUS", "CPU", "MEMORY", "PODS"]
    if figures.usage_source:
        head += ["CPU-USED", "MEM-USED"]
    rows = [[node.name, _status(node), *_cells(node.load, figures)] for node in figures.nodes]
    return [head, *rows, ["TOTAL", "", *_cells(figures.total, figures)]]


def _status(node: NodeLoad) -> str:
    said = ["Ready" if node.ready else "NotReady"] + (["Cordoned"] if node.cordoned else [])
    return ",".join(said)


def _cells(load: Load, figures: Figures) -> list[str]:
    cpu, memory, pods = (
        (load.requested[name], load.allocatable[name])
        for name in (resources.CPU, resources.MEMORY, resources.PODS)
    )
    cells = [
        f"{_cores(cpu[0])}/{_cores(cpu[1])} {_percent(load.percent(resources.CPU))}",
        f"{_bytes(*memory)} {_percent(load.percent(resources.MEMORY))}",
        f"{pods[0]}/{pods[1]}",
    ]
    if figures.usage_source:
        for name in (resources.CPU, resources.MEMORY):
            known = load.used is not None
            cells.append(_percent(load.used_percent(name)) if known else _UNKNOWN)
    return cells


def _cores(thousandths: int) -> str:
    text = f"{thousandths / 1000:.2f}" if thousandths < 100_000 else f"{thousandths / 1000:.0f}"  # noqa: PLR2004
    return text.rstrip("0").rstrip(".") if "." in text else text


def _bytes(part: int, whole: int) -> str:
    """Both in the unit that suits the larger."""
    power = min(int(math.log(max(part, whole, 1), 1024) + 1e-9), len(_BINARY_UNITS) - 1)
    one, other = (f"{each / 1024**power:.1f}".removesuffix(".0") for each in (part, whole))
    return f"{one}/{other}{_BINARY_UNITS[power]}"


def _percent(percent: float | None) -> str:
    return "-" if percent is None else f"{percent:.0f}%"


def _sentences(figures: Figures) -> Iterable[tuple[str, Sequence[str]]]:
    yield "As of", [figures.taken_at] if figures.taken_at else []
    yield "Pods", [_pods(figures)]
    yield "Pending", [_pending(figures)]
    yield "Imbalance", [*_imbalances(figures)]
    yield "Usage", [_usage(figures)] if figures.usage_source else []
    yield "Not seen", gap_lines(figures.gaps)
    yield "Unreadable", figures.unreadable


def gap_lines(gaps: Iterable[Gap]) -> list[str]:
    """One line each, but for the many kinds that a file of kubectl's does not have."""
    together: dict[str, list[str]] = {}
    lines = []
    for gap in gaps:
        if gap.reason.endswith(f" {gap.source}"):
            together.setdefault(gap.reason.removesuffix(gap.source), []).append(gap.source)
        else:
            lines.append(f"{gap.source}: {gap.reason}")
    return [*lines, *(what + ", ".join(missing) for what, missing in together.items())]


def _pods(figures: Figures) -> str:
    leaving = f", {figures.leaving} of them on their way out" if figures.leaving else ""
    return f"{figures.pods}{leaving}"


def _pending(figures: Figures) -> str:
    parts = [_unbound(figures)] if figures.pending else []
    if figures.gated:
        parts.append(f"{figures.gated} held back by scheduling gates")
    return "; ".join(parts) or _NONE


def _unbound(figures: Figures) -> str:
    lost = f" ({figures.unschedulable} found no node)" if figures.unschedulable else ""
    return f"{len(figures.pending)}{lost}: {some_of(figures.pending, _MOST_NAMED)}"


def _imbalances(figures: Figures) -> Iterable[str]:
    if not figures.imbalance:
        yield f"{_NONE}: {figures.can_take_pods} of {len(figures.nodes)} nodes can take pods"
    for resource, found in figures.imbalance.items():
        most, least = f"{found.most_percent:.1f}%", f"{found.least_percent:.1f}%"
        between = f"{found.most} {most}, {found.least} {least}" if found.points else f"all {most}"
        what = resource if resource == resources.PODS else f"{resource} requests"
        yield f"{what} {found.points:.1f} points ({between})"


def _usage(figures: Figures) -> str:
    if figures.usage_outage:
        return f"unknown: {figures.usage_outage}"
    unknown = [node for node in figures.nodes if node.load.used is None]
    if not unknown:
        return f"measured by {figures.usage_source}"
    first = f"{unknown[0].name}: {unknown[0].usage_unknown}"
    return f"measured by {figures.usage_source}; unknown of {len(unknown)} nodes, such as {first}"


# ------------------------------------------------------------------ for machines


def as_json(figures: Figures) -> str:
    document = {
        "takenAt": figures.taken_at or None,
        "nodes": [
            {
                "name": node.name,
                "ready": node.ready,
                "cordoned": node.cordoned,
                **_load(node.load),
                **({"usageUnknown": node.usage_unknown} if node.usage_unknown else {}),
            }
            for node in figures.nodes
        ],
        "total": _load(figures.total),
        "pods": {
            "count": figures.pods,
            "leaving": figures.leaving,
            "gated": figures.gated,
            "unschedulable": figures.unschedulable,
            "pending": list(figures.pending),
        },
        "imbalance": {name: _imbalance(found) for name, found in figures.imbalance.items()},
        "usage": {"source": figures.usage_source or None, "outage": figures.usage_outage or None},
        "gaps": [
            {"source": gap.source, "reason": gap.reason, "forbidden": gap.forbidden}
            for gap in figures.gaps
        ],
        "unreadable": list(figures.unreadable),
    }
    return msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"


def _load(load: Load) -> dict[str, Any]:
    percents = {name: load.percent(name) for name in load.requested}
    return {
        "requested": _named(load.requested),
        "allocatable": _named(load.allocatable),
        "requestedPercent": percents,
        "used": None if load.used is None else _named(load.used),
    }


def _named(amounts: Any) -> dict[str, Any]:  # noqa: ANN401 - whole or not, by resource
    return {_UNITS[name]: amount for name, amount in amounts.items()}


_UNITS: Final = {
    resources.CPU: "cpuMillicores",
    resources.MEMORY: "memoryBytes",
    resources.PODS: "pods",
}


def _imbalance(found: Imbalance) -> dict[str, Any]:
    return {
        "points": found.points,
        "most": {"node": found.most, "percent": found.most_percent},
        "least": {"node": found.least, "percent": found.least_percent},
    }
