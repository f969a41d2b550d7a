"""What came of the demo, in words. Pure."""

from typing import Final

from rescheduler.cli.render import load_pictures
from rescheduler.cli.render.layout import Page, counted
from rescheduler.config import settings_beside_defaults
from rescheduler.model import resources
from rescheduler.simulation.demo import CONFIGURATION, Ending
from rescheduler.simulation.scenes import Scene

_LABELS: Final = 11
_MOST_TOLD: Final = 5


def as_text(ending: Ending, real_seconds: float, again: str, page: Page) -> str:
    """`again`: the command that shows the same once more."""
    lines = page.wrapped(_headline(ending))
    for label, told in (
        ("moved", [_moved(ending)]),
        ("failed", _failed(ending)),
        ("dips", _dips(ending)),
        ("emptied", [_emptied(ending)] if ending.emptied else []),
        ("drained", [_drained(ending)] if ending.drained else []),
        ("imbalance", _imbalance(ending, page)),
        ("cpu used", _pictures(ending, page)),
        ("settings", [_settings()]),
        ("took", [_took(ending, real_seconds)]),
        ("again", [again]),
    ):
        lines += page.labelled(label, told, _LABELS)
    return "\n".join(lines) + "\n"


def _headline(ending: Ending) -> str:
    moved = sum(ending.moved.values())
    interrupted = "" if ending.is_whole else "Interrupted. "
    if not ending.is_well:
        return f"{interrupted}Not all went well: see failed, dips, emptied and drained below."
    if not moved:
        return f"{interrupted}Nothing was moved."
    return f"{interrupted}{counted(moved, 'pod')} moved, and nothing dipped."


def _moved(ending: Ending) -> str:
    moved = sum(ending.moved.values())
    by_strategy = ", ".join(f"{name} {count}" for name, count in sorted(ending.moved.items()))
    words = f"{moved}{f' ({by_strategy})' if by_strategy else ''}"
    if ending.recreated:
        words += f"; {ending.recreated} of them of StatefulSets, recreated one at a time"
    if ending.put_off:
        words += f"; {counted(ending.put_off, 'move')} put off and planned anew"
    return words


def _failed(ending: Ending) -> list[str]:
    if not ending.failed:
        return ["0"]
    told = [f"{each.pod}: {each.outcome}" for each in ending.failed[:_MOST_TOLD]]
    return [_counted_with_more(len(ending.failed), len(told)), *told]


def _dips(ending: Ending) -> list[str]:
    if not ending.dips:
        words = "0: no workload was short of Ready pods at any moment"
        words += ", but for those recreated" if ending.recreated else ""
        words += f"; {ending.guarded} budgets allowed no disruption" if ending.guarded else ""
        return [words]
    told = [str(each) for each in ending.dips[:_MOST_TOLD]]
    return [_counted_with_more(len(ending.dips), len(told)), *told]


def _counted_with_more(count: int, told: int) -> str:
    return f"{count}, the first {told}:" if told < count else f"{count}:"


def _emptied(ending: Ending) -> str:
    if ending.left_on_it:
        return f"{ending.emptied}, but for {counted(ending.left_on_it, 'pod')}"
    return f"{ending.emptied}, for maintenance"


def _drained(ending: Ending) -> str:
    if ending.drain_seconds is None:
        return f"{ending.drained}, by somebody else; it did not come to its end"
    seconds = f"{ending.drain_seconds:.0f} s"
    return f"{ending.drained}, by somebody else with plain evictions, in {seconds}"


def _imbalance(ending: Ending, page: Page) -> list[str]:
    if ending.before is None or ending.after is None:
        return []
    before, after = ending.before.imbalance, ending.after.imbalance
    words = ", ".join(
        f"{name} {points:.1f} {page.arrow} {after.get(name, 0.0):.1f}"
        for name, points in before.items()
    )
    return [f"{words} points"]


def _pictures(ending: Ending, page: Page) -> list[str]:
    """How many nodes have how much to do."""
    if ending.before is None or ending.after is None:
        return []
    before, after = load_pictures.rows(_loads(ending.before), _loads(ending.after), page=page)
    return [f"0% |{before}| 100%  nodes before", f"0% |{after}| 100%  nodes after"]


def _loads(scene: Scene) -> list[float]:
    return [each.used.get(resources.CPU, 0.0) for each in scene.nodes if each.takes_pods]


def _settings() -> str:
    """With which all this came out."""
    given = settings_beside_defaults(CONFIGURATION).items()
    return "the defaults, and " + ", ".join(f"{name}: {_value(each)}" for name, each in given)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"[{', '.join(map(str, value))}]" if isinstance(value, list) else str(value)


def _took(ending: Ending, real_seconds: float) -> str:
    minutes, seconds = divmod(round(ending.virtual_seconds), 60)
    hours, minutes = divmod(minutes, 60)
    there = f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
    return f"{there} in the cluster, {real_seconds:.1f} s here"
