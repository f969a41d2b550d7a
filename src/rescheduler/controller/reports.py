"""What a pass says in the log: why strategies did what they did, and one sentence about all."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from rescheduler.controller.passes import Pass
from rescheduler.migrate import Figures
from rescheduler.model.moves import Emptying, Move, Plan, Refusal
from rescheduler.model.moves import Report as StrategyReport
from rescheduler.model.pausing import Pause
from rescheduler.model.snapshot import Snapshot


class PlanReport:
    """Plan after plan: what was said of the one before would be noise if it were said again."""

    def __init__(self) -> None:
        self._strategies: dict[str, tuple[bool, bool]] = {}
        self._notes: set[str] = set()
        self._stay: dict[str, frozenset[Refusal]] = {}
        """By node in maintenance: which pods stay there, and why."""
        self._log = structlog.get_logger()

    def log(self, snapshot: Snapshot, decided: Plan) -> None:
        for report in decided.reports:
            self._log_strategy(report)
        self._log_maintenance(decided.emptying)
        self._log_notes(decided)
        self._log.debug(
            "plan made",
            moves=len(decided.moves),
            summary=decided.summary,
            nodes=len(snapshot.nodes),
            pods=len(snapshot.rows),
            unreadable=len(snapshot.unreadable),
        )
        in_maintenance = {pod.full_name for each in decided.emptying for pod in each.stay}
        for refusal in decided.refusals:
            if refusal.full_name not in in_maintenance:
                because = "; ".join(refusal.reasons)
                self._log.debug("pod stays", pod=refusal.full_name, because=because)

    def _log_strategy(self, report: StrategyReport) -> None:
        state = (report.acted, report.blind)
        is_news = report.acted or self._strategies.get(report.strategy) != state
        self._strategies[report.strategy] = state
        log = (
            (self._log.warning if report.blind else self._log.info) if is_news else self._log.debug
        )
        words = "strategy acted" if report.acted else "strategy skipped"
        log(words, strategy=report.strategy, because=report.summary)

    def _log_maintenance(self, emptying: Iterable[Emptying]) -> None:
        """Who is left on a node, and why: once as news, and then for those who look closely."""
        before, self._stay = self._stay, {}
        for each in emptying:
            known = before.get(each.node)
            self._stay[each.node] = frozenset(each.stay)
            log = self._log.info if known != frozenset(each.stay) else self._log.debug
            log("node in maintenance", node=each.node, left=each.left, summary=each.note)
            for pod in each.stay:
                log = self._log.debug if known and pod in known else self._log.warning
                because = "; ".join(pod.reasons)
                log(
                    "pod stays on node in maintenance",
                    node=each.node,
                    pod=pod.full_name,
                    because=because,
                )

    def _log_notes(self, decided: Plan) -> None:
        of_nodes = {each.note for each in decided.emptying}
        for note in decided.notes:
            if note in of_nodes:
                continue  # pod by pod it has just been told
            log = self._log.debug if note in self._notes else self._log.warning
            log("plan note", text=note)
        self._notes = set(decided.notes)


# ---------------------------------------------------------------------- one sentence a pass


class Counts(Protocol):
    """As far as the sentence needs the migrator."""

    @property
    def figures(self) -> Figures: ...

    @property
    def unfinished(self) -> int: ...


@dataclass(slots=True)
class PassReport:
    """Says what has come of each pass."""

    migrator: Counts | None
    """None: nothing is carried out."""
    opens: Callable[[], str] = lambda: ""
    """When the next window does, in words; empty: one is open."""
    _moved: int = 0
    _failed: int = 0
    """When the last sentence was said."""

    def log(self, seen: Pass, *, early: str, seconds: float, pause: Pause | None = None) -> None:
        """`early`: why it did not wait for its turn; empty: it did."""
        planned, refused = len(seen.plan.moves), len(seen.plan.refusals)
        nodes, pods = len(seen.snapshot.nodes), len(seen.snapshot.rows)
        figures = {"nodes": nodes, "pods": pods, "planned": planned, "refused": refused}
        said = f"saw {_counted(nodes, 'node')} and {_counted(pods, 'pod')}"
        if self.migrator is None:
            _log_moves(seen.plan.moves)
            said += f", would move {planned}"
        else:
            more, words = self._since_the_last(self.migrator, planned)
            figures |= more
            said += words
        said += f"; {_counted(refused, 'pod')} refused; {seen.plan.summary}"
        because = {"early": early} if early else {}
        if pause is not None and self.migrator is not None:
            because["paused"] = str(pause)
            said = f"{pause}, so nothing new begins (rescheduler resume); {said}"
        if self.migrator is not None and (opens := self.opens()):
            because["window"] = opens
            said = f"nothing is moved that nobody asked for: {opens}; {said}"
        structlog.get_logger().info(
            "pass ended", **figures, **because, seconds=round(seconds, 3), summary=said
        )

    def _since_the_last(self, migrator: Counts, planned: int) -> tuple[dict[str, Any], str]:
        figures, under_way = migrator.figures, migrator.unfinished
        moved, failed = figures.completed - self._moved, figures.failed - self._failed
        self._moved, self._failed = figures.completed, figures.failed
        told = {"moved": moved, "failed": failed, "under_way": under_way}
        return told | _state(figures, under_way), (
            f", planned {_counted(planned, 'move')}; since the last pass {moved} moved and "
            f"{failed} failed, {_in_words(figures, under_way)}"
        )


def _log_moves(moves: Iterable[Move]) -> None:
    for move in moves:
        structlog.get_logger().info(
            "pod would be moved",
            pod=move.full_name,
            source=move.source,
            target=move.target,
            strategy=move.strategy,
            reason=move.reason,
        )


def _state(figures: Figures, under_way: int) -> dict[str, Any]:
    """How many are moved at once, who waits and why; and how often it did not go as planned."""
    told: dict[str, Any] = {
        "in_flight": figures.in_flight,
        "ending": figures.ending,
        "allowed": figures.allowed,
        "waiting": _waiting(figures, under_way),
        "paused_seconds": round(figures.paused_seconds),
        "retries": figures.retries,
        "landed_elsewhere": figures.landed_elsewhere,
        "fallbacks": dict(figures.fallbacks),
    }
    return {name: value for name, value in told.items() if value}


def _in_words(figures: Figures, under_way: int) -> str:
    waiting = _waiting(figures, under_way)
    said = f"{under_way} under way"
    if waiting:
        said += f" ({waiting} of them wait, {figures.in_flight} of {figures.allowed} at once)"
    if figures.paused_seconds:
        said += f"; none begins for {figures.paused_seconds:.0f} s, as too many failed in a row"
    return said


def _waiting(figures: Figures, under_way: int) -> int:
    return max(0, under_way - figures.in_flight - figures.ending)


def _counted(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"
