"""What is explained of a pod, as text for people. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rescheduler.cli.render import pod_words
from rescheduler.cli.render.layout import Page, alike, counted, some_of
from rescheduler.cli.render.plan_tables import why
from rescheduler.model.moves import Way
from rescheduler.plan.explaining import Explanation
from rescheduler.plan.whatif import Remedy

_LABEL_WIDTH: Final = 12
_MOST_NODES: Final = 10
_MOST_REASONS: Final = 15
_WAYS: Final = {
    Way.SURGE: "surge: the new pod is Ready before the old one goes",
    Way.RECREATE: "recreate: the old pod goes before the new one comes",
}


def as_text(explained: Explanation, page: Page, *, everything: bool = False) -> str:
    """Everything: each node by itself, with all that keeps the pod from it."""
    lines: list[str] = []
    for label, told in _told(explained, everything=everything):
        lines += page.labelled(label, told, _LABEL_WIDTH)
    return "\n".join(lines) + "\n"


def _told(explained: Explanation, *, everything: bool) -> Iterator[tuple[str, list[str]]]:
    pod = explained.pod
    of = f", of {pod.owner.kind} {pod.owner.name}" if pod.owner else ", without a controller"
    yield "Pod", [f"{pod.full_name}{of}"]
    yield "Node", [pod.node or "none yet"]
    yield "Asks for", [pod_words.amounts(pod.requests)]
    yield (
        "Uses",
        [pod_words.amounts(explained.usage)] if explained.usage else ["nobody measures it"],
    )
    yield "Load", [_share(explained)] if explained.share else []
    yield "Priority", [str(pod.priority)]
    yield "Rules", pod_words.rules(pod, explained.claims) or ["none but room"]
    yield "Group", [f"moves with {some_of(explained.group)}"] if explained.group else []
    yield "May move", [*_may_move(explained)]
    could_move = not (explained.stays and explained.stays_when_asked)
    because = f"; {explained.recreated}" if explained.recreated else ""
    yield "Way", [_WAYS[explained.way] + because] if could_move else []
    yield "Fits on", [_fitting(explained, everything=everything)]
    yield "Not on", [*_not_fitting(explained, everything=everything)]
    yield "To move", [*to_move(explained.remedies, explained.nothing_helps)]
    yield "Plan", [*_planned(explained)]


def _share(explained: Explanation) -> str:
    told = ", ".join(f"{name} {points:.1f}" for name, points in explained.share.items())
    return f"{told} points of its node, by {explained.word}"


def _may_move(explained: Explanation) -> Iterator[str]:
    if not explained.stays:
        yield "yes"
        return
    yield "no:"
    yield from (f"- {reason}" for reason in explained.stays)
    if explained.stays_when_asked == explained.stays:
        return
    if not explained.stays_when_asked:
        yield "yes when a maintenance asks for it"
        return
    yield "nor when a maintenance asks for it:"
    yield from (f"- {reason}" for reason in explained.stays_when_asked)


def _fitting(explained: Explanation, *, everything: bool) -> str:
    nodes = [each.node for each in explained.verdicts if not each.reasons]
    shown = len(nodes) if everything else _MOST_NODES
    named = f": {some_of(nodes, shown)}" if nodes else ""
    return f"{len(nodes)} of {len(explained.verdicts)} other nodes{named}"


def _not_fitting(explained: Explanation, *, everything: bool) -> Iterator[str]:
    refusing = [each for each in explained.verdicts if each.reasons]
    if everything:
        yield from (f"{each.node}: {'; '.join(each.reasons)}" for each in refusing)
        return
    groups = list(alike((reason, each.node) for each in refusing for reason in each.reasons))
    for reason, nodes in groups[:_MOST_REASONS]:
        yield f"{counted(len(nodes), 'node')} ({some_of(nodes)}): {reason}"
    if len(groups) > _MOST_REASONS:
        yield f"and {counted(len(groups) - _MOST_REASONS, 'more reason')}; --all shows all"


def to_move(found: Sequence[Remedy], nothing_helps: str) -> Iterator[str]:
    """Or why nothing is known."""
    if nothing_helps:
        yield nothing_helps
    if len(found) == 1:
        yield f"this would let it: {found[0].words}"
    elif found:
        yield "any of these would let it:"
        yield from (f"- {each.words}" for each in found)


def _planned(explained: Explanation) -> Iterable[str]:
    move = explained.move
    if move is not None:
        yield f"moves it to {move.target} ({move.strategy}): {move.reason}"
        return
    why_not = ", as it may not move" if explained.stays else ""
    yield f"leaves it where it is{why_not}" + (":" if explained.reports else "")
    yield from (f"- {reason}" for reason in explained.refusals if reason not in explained.stays)
    for each in explained.reports:
        yield f"- {each.strategy}: {why(each)}"
