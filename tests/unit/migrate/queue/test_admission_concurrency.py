"""How many migrations run at once, and when none begins."""

from rescheduler.config import CircuitBreaker
from rescheduler.migrate.deciding.actions import Outcome
from rescheduler.migrate.queue.admission import Breaker, Concurrency
from rescheduler.model.podmigration import Reason

GOOD = Outcome(moved=True, reason=Reason.COMPLETED, message="")
BAD = Outcome(moved=False, reason=Reason.COPY_FAILED, message="")
GAVE_WAY = Outcome(moved=False, reason=Reason.WORKLOAD_CHANGED, message="")


def test_trouble_halves_once_and_success_brings_it_back() -> None:
    many = Concurrency(8)
    assert many.allowed == 8
    many.trouble(now=100.0)
    many.trouble(now=100.1)
    assert many.allowed == 4
    for now in (200.0, 300.0, 400.0, 500.0):
        many.trouble(now)
    assert many.allowed == 1
    for _ in range(20):
        many.success()
    assert many.allowed == 8


def test_failures_in_a_row_pause_and_then_one_is_tried() -> None:
    breaker = Breaker(CircuitBreaker(failures=3, pause_seconds=60.0))
    for _ in range(2):
        assert not breaker.learn(BAD, 0.0)
    assert not breaker.is_on_trial
    assert breaker.learn(BAD, 10.0)
    assert not breaker.learn(BAD, 10.0)  # it was under way, and opens nothing
    assert breaker.pause_left(10.0) == 60.0
    assert breaker.pause_left(70.0) == 0.0
    assert breaker.is_on_trial
    assert breaker.learn(BAD, 75.0)
    assert breaker.pause_left(75.0) == 60.0
    breaker.learn(GOOD, 140.0)
    assert not breaker.is_on_trial
    assert breaker.pause_left(140.0) == 0.0


def test_giving_way_is_no_failure_and_success_forgets_them() -> None:
    breaker = Breaker(CircuitBreaker(failures=2, pause_seconds=60.0))
    for outcome in (BAD, GAVE_WAY, GAVE_WAY, GAVE_WAY, GOOD, BAD):
        breaker.learn(outcome, 0.0)
    assert not breaker.is_on_trial


def test_a_policy_that_refuses_some_pods_holds_up_no_other() -> None:
    breaker = Breaker(CircuitBreaker(failures=2, pause_seconds=60.0))
    words = "pods \"web-1\" is forbidden: ValidatingAdmissionPolicy 'p' denied request: no labels"
    for _ in range(10):
        breaker.learn(Outcome(moved=False, reason=Reason.REFUSED, message=words), 0.0)
    assert not breaker.is_on_trial
    no_right = 'pods "web-1" is forbidden: User "x" cannot patch resource "pods"'
    for _ in range(2):
        breaker.learn(Outcome(moved=False, reason=Reason.REFUSED, message=no_right), 0.0)
    assert breaker.is_on_trial


def test_it_can_be_switched_off() -> None:
    breaker = Breaker(CircuitBreaker(failures=0, pause_seconds=60.0))
    for _ in range(100):
        breaker.learn(BAD, 0.0)
    assert breaker.pause_left(0.0) == 0.0
    assert not breaker.is_on_trial


def test_one_that_cannot_be_finished_holds_nobody_else_up() -> None:
    breaker = Breaker(CircuitBreaker(failures=2, pause_seconds=60.0))
    stuck = Outcome(moved=False, reason=Reason.NOT_FINISHED, message="")
    for _ in range(10):
        breaker.learn(stuck, 0.0)
    assert not breaker.is_on_trial
