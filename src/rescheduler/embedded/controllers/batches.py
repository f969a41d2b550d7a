"""Acts in batches that grow while they succeed, so that what fails for all fails for few."""

from collections.abc import Callable

from rescheduler.kube import errors


def slow_start(count: int, act: Callable[[], object]) -> errors.KubeError | None:
    """Acts up to `count` times: once, then twice, then four times, as long as none of a batch is
    refused. Gives the first refusal.
    """
    left, size = count, 1
    while left > 0:
        size = min(size, left)
        refused = [problem for _ in range(size) if (problem := _refusal(act)) is not None]
        if refused:
            return refused[0]
        left -= size
        size *= 2
    return None


def is_for_ending_namespace(refused: errors.KubeError) -> bool:
    """Then there is nothing to be done about it, and nothing to be told."""
    return "because it is being terminated" in str(refused)


def _refusal(act: Callable[[], object]) -> errors.KubeError | None:
    try:
        act()
    except errors.KubeError as problem:
        return problem
    return None
