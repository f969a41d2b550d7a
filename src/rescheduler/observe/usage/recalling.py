"""The days before, as Prometheus remembers them: so a restart forgets nothing.

Asked for piece by piece, the newest first and one at a time, so that nobody has to answer a large
question. One that is not answered is asked again after an hour; meanwhile days are learnt as they
pass.

Pods of the past are known by their names alone. What is left of a name without what a controller
adds to it stands for the workload, and for nobody where two workloads share it.
"""

import math
import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, Protocol

import structlog

from rescheduler.config.usage import PrometheusSettings
from rescheduler.errors import ReschedulerError
from rescheduler.observe.usage.placement import Placement
from rescheduler.observe.usage.rhythms import SLOT_SECONDS, SLOTS, Rhythms
from rescheduler.prometheus import Course

_PIECE: Final = SLOTS // 2
"""Slots that are asked for at once."""
_REST_SECONDS: Final = 3600.0
"""After a question that was not answered."""
_ADDED: Final = "[bcdfghjklmnpqrstvwxz2456789]"
"""Of these letters are the names that controllers make up."""
STEM: Final = f"(.+?)(?:-[0-9]+|(?:-{_ADDED}{{8,10}})?-{_ADDED}{{5}})"
"""What comes before them: the name of a Deployment, StatefulSet, DaemonSet or ReplicaSet."""
_LABELS: Final = ("namespace", "workload")
_MILLICORES: Final = 1000.0

_STEM: Final = re.compile(STEM)


class Past(Protocol):
    """What we ask of `rescheduler.prometheus.Prometheus`."""

    async def query_range(
        self,
        query: str,
        labels: tuple[str, ...],
        *,
        begin: float,
        end: float,
        step_seconds: float,
    ) -> list[Course]: ...


class Recalling:
    def __init__(
        self, past: Past, settings: PrometheusSettings, rhythms: Rhythms, days: int
    ) -> None:
        self._past = past
        self._queries = (
            ("podCpuQuery", of_workloads(settings.pod_cpu_query), _MILLICORES),
            ("podMemoryQuery", of_workloads(settings.pod_memory_query), 1.0),
        )
        self._rhythms = rhythms
        pieces = range(days * SLOTS // _PIECE)
        self._left = [(piece, column) for piece in pieces for column in range(len(self._queries))]
        self._first_slot: int | None = None
        """That was not over when it began."""
        self._rests_until = -math.inf
        self._has_complained = False

    async def recall(self, placement: Placement, now: float) -> None:
        """One piece more, if there is one."""
        if not self._left or placement.unseen or now < self._rests_until:
            return
        if self._first_slot is None:
            self._first_slot = int(now // SLOT_SECONDS)
        piece, column = self._left[0]
        field, query, factor = self._queries[column]
        # As of the end of a slot, what is asked for is the mean of it.
        end = (self._first_slot - piece * _PIECE) * SLOT_SECONDS
        begin = end - (_PIECE - 1) * SLOT_SECONDS
        log = structlog.get_logger()
        try:
            courses = await self._past.query_range(
                query, _LABELS, begin=begin, end=end, step_seconds=SLOT_SECONDS
            )
        except ReschedulerError as problem:
            self._rests_until = now + _REST_SECONDS
            if not self._has_complained:
                self._has_complained = True
                why = f"{problem} (asked for usage.prometheus.{field} of the days before)"
                log.warning("days before are not known: loads are learnt as they pass", because=why)
            return
        self._left.pop(0)
        self._fill(courses, column, factor, workloads_by_stem(placement), now)
        if not self._left:
            log.info(
                "loads of the days before are known",
                workloads=len(self._rhythms.workloads),
                repeat=len(self._rhythms.with_rhythm()),
            )

    def _fill(
        self,
        courses: list[Course],
        column: int,
        factor: float,
        workloads: Mapping[str, str],
        now: float,
    ) -> None:
        for each in courses:
            if each.name in workloads:
                slots = [round(at / SLOT_SECONDS) - 1 for at in each.at.tolist()]
                figures = each.values * factor
                self._rhythms.fill(workloads[each.name], column, slots, figures, now)


def of_workloads(query: str, span_seconds: float = SLOT_SECONDS) -> str:
    """From PromQL for pods to the same for a mean pod of each workload, over so long."""
    named = f'label_replace({query}, "workload", "$1", "pod", "{STEM}")'
    mean = f"avg by (namespace, workload) ({named})"
    return f"avg_over_time(({mean})[{span_seconds:.0f}s:{span_seconds / 3:.0f}s])"


def workloads_by_stem(placement: Placement) -> Mapping[str, str]:
    """By namespace/stem, of the pods that are there now."""
    known = placement.workloads()
    found: defaultdict[str, set[str]] = defaultdict(set)
    for full_name, owner in zip(placement.pod_names, placement.pod_owners.tolist(), strict=True):
        if owner in known:
            namespace, name = full_name.split("/", 1)
            if stem := _STEM.fullmatch(name):
                found[f"{namespace}/{stem[1]}"].add(known[owner])
    return {stem: names.pop() for stem, names in found.items() if len(names) == 1}
