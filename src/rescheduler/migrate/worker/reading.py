"""What it means for a migration when it may not look."""

from collections.abc import Iterator
from contextlib import contextmanager

from rescheduler.kube import errors


@contextmanager
def sees_or_waits() -> Iterator[None]:
    """Whoever may not look decides nothing: a refusal to be read is no refusal of an action. It is
    sat out like an outage, and left to the next run if it lasts.
    """
    try:
        yield
    except (errors.Forbidden, errors.Invalid) as problem:
        raise errors.Unavailable(str(problem), status=problem.status) from problem
