"""From figures of pods to the rhythms of their workloads, and back to pods. Pure."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rescheduler.config import LearnedPatience
from rescheduler.model.usage import Usage
from rescheduler.model.usage_sources import REQUESTS
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.rhythms import Rhythms
from rescheduler.observe.usage.samples import Numbers


class Learning:
    def __init__(self, settings: LearnedPatience, source: str) -> None:
        self.rhythms = Rhythms(settings.days)
        # What pods ask for is the same all day.
        self._is_on = settings.enabled and source != REQUESTS

    def take(
        self,
        placement: Placement,
        cpu: Numbers,
        memory: Numbers,
        measured: npt.NDArray[np.bool_],
        now: float,
    ) -> None:
        """What pods use now, by row, of which those that are measured count."""
        if not self._is_on or placement.unseen:
            return
        workloads, of_pod = _numbered(placement)
        rows = np.flatnonzero((of_pod >= 0) & measured)
        on, size = of_pod[rows], len(workloads)
        counts = np.bincount(on, minlength=size)
        sums = [np.bincount(on, weights=each[rows], minlength=size) for each in (cpu, memory)]
        with np.errstate(invalid="ignore"):
            self.rhythms.add(workloads, np.stack(sums, axis=1) / counts[:, None], now)

    def foretold(self, usage: Usage, placement: Placement, now: float) -> Usage:
        """The same, with what is known of the hours to come."""
        if not self._is_on or usage.outage:
            return usage
        workloads, of_pod = _numbered(placement)
        ahead = self.rhythms.ahead(workloads, of_pod, usage.pod_cpu, usage.pod_memory, now)
        return usage if ahead is None else replace(usage, ahead=ahead)


def _numbered(placement: Placement) -> tuple[Sequence[str], npt.NDArray[np.intp]]:
    """The workloads, and by row of pods the place of its own among them; -1: it has none."""
    known = placement.workloads()
    names = list(dict.fromkeys(known.values()))
    places = {name: place for place, name in enumerate(names)}
    owners = np.asarray(placement.pod_owners)
    of_owner = np.full(int(owners.max(initial=-1)) + 2, -1, np.intp)
    for owner, name in known.items():
        of_owner[owner] = places[name]
    # Who has no owner, -1, finds the last row.
    return names, of_owner[owners]
