"""Matrices of tests that are too many for every run: some of them, drawn anew each time."""

import os
import random
from collections.abc import Sequence
from typing import Any


def drawn(
    cases: Sequence[Any], *, matrix: str, share: float, also_embedded: bool = False
) -> list[Any]:
    """A share of the cases; all of them where the variable `<MATRIX>_MATRIX` is "all", and on the
    embedded cluster alone, where most take next to no time (`also_embedded`: these do not).

    The same in every worker of a run, by a seed that its first lines tell: DRAW_SEED brings a draw
    back.
    """
    alone = os.environ.get("CLUSTERS") == "embedded" and not also_embedded
    if os.environ.get(f"{matrix}_MATRIX") == "all" or alone:
        return list(cases)
    lots = random.Random(os.environ["DRAW_SEED"])  # noqa: S311 - draws tests
    chosen = lots.sample(range(len(cases)), max(1, round(len(cases) * share)))
    return [cases[number] for number in sorted(chosen)]
