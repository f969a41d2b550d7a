"""What the refusals of an API server mean for a migration: wait, look again, or give up."""

from dataclasses import dataclass
from typing import Final

from structlog.typing import FilteringBoundLogger

from rescheduler.kube import errors
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.deciding.facts import Intent
from rescheduler.migrate.deciding.surge import rehearsing
from rescheduler.migrate.worker.context import Context
from rescheduler.migrate.worker.memory import Memory
from rescheduler.migrate.worker.views import Views
from rescheduler.model.podmigration import Reason

ASK_AGAIN_SECONDS: Final = 0.25
"""How often a refusing budget is asked: it sees a new pod a moment after it is Ready."""
BUDGET_REFUSES: Final = "PodDisruptionBudget refuses the eviction for now"
"""In the log, and in the record where it lasts."""
_BUDGET_LAGS_SECONDS: Final = 3.0
_AT_LEISURE_SECONDS: Final = 2.0
_MOST_SURPRISES: Final = 5
_BACK_OFF_SECONDS: Final = (0.2, 0.5, 1.0, 2.0, 5.0)
# As S36 asks: three tries on fresh objects, one second apart.
_CONFLICT_TRIES: Final = 3
_CONFLICT_SECONDS: Final = 1.0


@dataclass(slots=True)
class ApiFailures:
    context: Context
    intent: Intent
    memory: Memory
    views: Views
    log: FilteringBoundLogger
    failures: int = 0
    surprises: int = 0
    conflicts: int = 0
    out_since: float | None = None

    def are_over(self) -> None:
        """An action was taken."""
        self.failures = 0
        self.surprises = 0
        self.out_since = None

    def pause_after(self, problem: errors.KubeError) -> float | None:
        """How long to wait before looking again; None: it is left to whoever comes next."""
        self.memory.budget_allows = False
        match problem:
            case errors.BudgetRefused():
                return self._after_budget(problem)
            case errors.Conflict():
                return self._after_conflict(problem)
            case errors.AlreadyExists() | errors.NotFound() if self.surprises < _MOST_SURPRISES:
                # Someone was faster, or our own write of before took effect after all.
                self.surprises += 1
                self.log.debug("object changed meanwhile: reading again", problem=str(problem))
                self.views.distrust()
                return _BACK_OFF_SECONDS[0]
            case errors.Unavailable() if self._is_worth_telling(problem):
                return self._after_refusal(problem)
            case (
                errors.AlreadyExists()
                | errors.NotFound()
                | errors.Unavailable()
                | errors.Throttled()
                | errors.Expired()
                # A token or a certificate that is being renewed.
                | errors.Unauthorized()
                | errors.Untrusted()
            ):
                return self._after_outage(problem)
        return self._after_refusal(problem)

    def _after_budget(self, problem: errors.KubeError) -> float:
        now, memory = self.context.clock.monotonic(), self.memory
        if memory.budget_refused_since is None:
            memory.budget_refused_since = now
            self.log.info(BUDGET_REFUSES, problem=str(problem))
        if now - memory.budget_refused_since < _BUDGET_LAGS_SECONDS:
            return ASK_AGAIN_SECONDS
        return _AT_LEISURE_SECONDS * self.context.jitter.uniform(0.5, 1.0)

    def _after_conflict(self, problem: errors.KubeError) -> float | None:
        self.conflicts += 1
        self.views.distrust()
        self.log.info(
            "write conflicted: somebody else changed the object",
            problem=str(problem),
            times=self.conflicts,
        )
        if self.conflicts <= _CONFLICT_TRIES:
            return _CONFLICT_SECONDS
        if self.memory.giving_up is None:
            self._give_up(Reason.REFUSED, f"it changed under every one of our tries: {problem}")
            return _CONFLICT_SECONDS
        # Not even taking back gets through.
        return self._after_outage(problem)

    def _after_outage(self, problem: errors.KubeError) -> float | None:
        # Whether a write took effect is not known; the next look tells.
        self.log.warning("request to the API server failed", problem=str(problem))
        self.context.trouble()
        self.views.distrust()
        now = self.context.clock.monotonic()
        self.out_since = now if self.out_since is None else self.out_since
        settings = self.intent.settings
        if now - self.out_since > settings.ready_timeout_seconds + settings.budget_timeout_seconds:
            return None
        self.failures += 1
        worst = len(_BACK_OFF_SECONDS)
        pause = problem.retry_after_seconds or _BACK_OFF_SECONDS[min(self.failures, worst) - 1]
        return pause * self.context.jitter.uniform(1.0, 1.5)

    def _is_worth_telling(self, problem: errors.KubeError) -> bool:
        """A webhook that is down may be so for long, and nobody would hear of it meanwhile."""
        is_lasting = self.failures >= len(_BACK_OFF_SECONDS) and self.memory.giving_up is None
        return is_lasting and rehearsing.is_of_silent_webhook(str(problem))

    def _after_refusal(self, problem: errors.KubeError) -> float | None:
        several = isinstance(problem, errors.SeveralBudgets)
        if self.memory.giving_up is None:
            self._give_up(Reason.SEVERAL_BUDGETS if several else Reason.REFUSED, str(problem))
            return 0.0
        if several:
            # After the adoption: the ReplicaSet removes the original without asking anyone.
            return _AT_LEISURE_SECONDS
        # Not even taking back is allowed: an operator has to look.
        self.log.error(
            "migration stuck: not even undoing it is allowed, an operator has to look",
            problem=str(problem),
        )
        return None

    def _give_up(self, reason: Reason, message: str) -> None:
        self.memory.giving_up = Outcome(moved=False, reason=reason, message=message)
        self.log.info("migration gives up", cause=reason, message=message)
