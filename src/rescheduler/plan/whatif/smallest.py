"""The smallest amount that is enough, found by asking."""

from collections.abc import Callable


def smallest(is_enough: Callable[[int], bool], most: int) -> int:
    """Of 1 to `most`, which is enough; whatever is more than enough is, too."""
    low, high = 0, 1
    while high < most and not is_enough(high):
        low, high = high, 2 * high
    high = min(high, most)
    while high - low > 1:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return high
