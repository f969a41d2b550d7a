"""Every metric of ours: its name, labels and meaning. docs/metrics.md is written from it.

No label holds a name that users give: pods, nodes and namespaces are in the log and the records.
Of accounts that evict, a bounded number is named.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

PREFIX: Final = "rescheduler_"


class Kind(StrEnum):
    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    name: str
    """In full, with `_total` where it counts."""
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Of a histogram: upper bounds, in seconds, or as its name says."""


_QUICK: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_MINUTES: Final = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0)


def _counter(name: str, text: str, *labels: str) -> Family:
    return Family(PREFIX + name, Kind.COUNTER, text, labels)


def _gauge(name: str, text: str, *labels: str) -> Family:
    return Family(PREFIX + name, Kind.GAUGE, text, labels)


def _histogram(name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Family:
    return Family(PREFIX + name, Kind.HISTOGRAM, text, labels, buckets)


# ---------------------------------------------------------------------- this replica

BUILD_INFO: Final = _gauge("build_info", "Always 1; its labels say what runs.", "version", "python")
READY: Final = _gauge("ready", "1 when /readyz says so.")
LEADER: Final = _gauge("leader", "1 on the replica that leads, else 0.")
LEADER_TRANSITIONS: Final = _counter(
    "leader_transitions_total", "How often this replica has become the leader."
)
DRY_RUN: Final = _gauge("dry_run", "1 when it only looks and plans (--dry-run).")
PAUSED: Final = _gauge("paused", "1 while nothing is begun because somebody paused it.")
CONFIGURATION_REFUSED: Final = _gauge(
    "configuration_refused",
    "1 while the configuration file is wrong and the last good one is in force.",
)

# ---------------------------------------------------------------------- passes and plans

PASSES: Final = _counter(
    "passes_total", "Passes made: observe, plan, begin to migrate; by how they ended.", "result"
)
PASS_SECONDS: Final = _histogram(
    "pass_duration_seconds", "How long a pass took, without the moves that it began.", _QUICK
)
LAST_SUCCESS: Final = _gauge(
    "last_success_timestamp_seconds",
    "When the last pass ended well, in Unix seconds; 0: none has, in this process.",
)
INTERVAL: Final = _gauge("pass_interval_seconds", "reschedulingInterval, as it is in force.")
PLAN_SECONDS: Final = _histogram(
    "plan_duration_seconds", "How long a strategy took to decide, in one pass.", _QUICK, "strategy"
)
PLANNED_MOVES: Final = _gauge("planned_moves", "Moves of the last plan.")
IMBALANCE: Final = _gauge(
    "cluster_imbalance_ratio",
    "The most loaded node that takes part minus the least, as a share of allocatable; now, and as"
    " planned.",
    "resource",
    "when",
)
OVERLOADED: Final = _gauge(
    "overloaded_nodes", "Nodes above cpuThreshold or memoryThreshold; now, and as planned.", "when"
)
REFUSED: Final = _gauge(
    "refused_pods", "Pods of the last plan that could have helped and stay, by why.", "reason"
)
NODES: Final = _gauge("nodes", "Nodes in memory at the last pass.")
PODS: Final = _gauge("pods", "Pods in memory at the last pass: rows of the table.")
CLASSES: Final = _gauge("pod_classes", "Kinds of alike pods in memory; each is kept once.")
UNREADABLE: Final = _gauge("unreadable_objects", "Objects that could not be read and are left out.")

# ---------------------------------------------------------------------- plans as objects

_SHARES: Final = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
PLANS: Final = _counter(
    "plans_total",
    "ReschedulePlans by what became of them. event: proposed, as somebody has to say yes, or nobody"
    " may move anything; approved, and begun; rejected; expired; superseded; completed, each move"
    " was made; incomplete, some were not.",
    "event",
)
PLANS_WAITING: Final = _gauge("plans_waiting", "ReschedulePlans that wait for approval.")
PREDICTION_ERROR: Final = _histogram(
    "prediction_error_ratio",
    "Of each plan that was observed after its end: by how much the loads of its nodes differ from"
    " what was predicted, in the mean, as a share of allocatable.",
    _SHARES,
    "strategy",
)
PREDICTIONS_FAILING: Final = _gauge(
    "predictions_failing",
    "1 while the predictions of a strategy fail again and again: in three of its last five plans.",
    "strategy",
)
BOUNCED: Final = _counter(
    "bounced_pods_total",
    "Pods that were moved again within an hour after the end of their plan, and nobody had asked"
    " for it.",
)

# ---------------------------------------------------------------------- moves

MOVES: Final = _counter(
    "moves_total",
    "Migrations that ended. result: completed; failed, and taken back; gave_way, as somebody had"
    " other plans with the pod. reason: as in the PodMigration.",
    "strategy",
    "way",
    "result",
    "reason",
)
MOVE_SECONDS: Final = _histogram(
    "move_duration_seconds", "From the beginning of a migration to its end.", _MINUTES, "result"
)
STEP_SECONDS: Final = _histogram(
    "step_duration_seconds", "How long migrations stayed at a step.", _MINUTES, "step"
)
RETRIES: Final = _counter(
    "retries_total", "Migrations that were begun again after one of the same pod had failed."
)
FALLBACKS: Final = _counter(
    "fallbacks_total",
    "Pods recreated although nobody steers their successors, by why. Where a scheduler that asks "
    "us brought one to its target, it is not counted.",
    "reason",
)
IN_PROGRESS: Final = _gauge("moves_in_progress", "Migrations under way, without those ending.")
ENDING: Final = _gauge(
    "moves_ending", "Migrations whose copy serves and whose original is told to end."
)
WAITING: Final = _gauge("moves_waiting", "Migrations that wait for their turn.")
ALLOWED: Final = _gauge(
    "moves_allowed", "Migrations that may run at once; fewer while the API server is in trouble."
)
BREAKER: Final = _gauge("circuit_breaker_open", "1 while none begins, as too many failed in a row.")

# ---------------------------------------------------------------------- what is seen

SYNCED: Final = _gauge("synced", "1 once everything needed has been listed.")
WATCH_LAG: Final = _gauge(
    "watch_lag_seconds",
    "Since something was last heard of a resource: so old what is known may be. A quiet one is"
    " heard of at least about every minute.",
    "resource",
)
WATCH_GAPS: Final = _counter(
    "watch_gaps_total", "How often a resource could not be seen any more.", "resource"
)
BLIND_SECONDS: Final = _gauge(
    "watch_blind_seconds", "For how long a resource has not been seen; 0: it is seen.", "resource"
)
API_REQUESTS: Final = _counter(
    "api_requests_total",
    "Requests to the API server, by the code of the answer; <error>: there was none.",
    "verb",
    "resource",
    "code",
)
API_SECONDS: Final = _histogram(
    "api_request_duration_seconds",
    "Until the API server began to answer; watches until they are open.",
    _QUICK,
    "verb",
)

# ---------------------------------------------------------------------- new pods

_MILLISECONDS: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5)
EXTENDER_REQUESTS: Final = _counter(
    "extender_requests_total",
    "Questions of a scheduler. result: ok; lenient, as every node was refused for its load alone,"
    " and so none was; open, as nothing was known yet; bad_request; error.",
    "verb",
    "result",
)
EXTENDER_SECONDS: Final = _histogram(
    "extender_request_duration_seconds",
    "Until a scheduler was answered, from the first byte of its question.",
    _MILLISECONDS,
    "verb",
)
EXTENDER_REFUSED: Final = _counter(
    "extender_refused_nodes_total",
    "Nodes that were refused for new pods: for their load, what is promised there or as we empty"
    " them (load), or as people do (maintenance).",
    "reason",
)
EXTENDER_STEERED: Final = _counter(
    "extender_steered_pods_total",
    "Successors of evicted pods that a scheduler asked about. not_steered: the target of their"
    " migration was not among the nodes.",
    "result",
)

# ---------------------------------------------------------------------- evictions by others

GUARD_EVICTIONS: Final = _counter(
    "guard_evictions_total",
    "Evictions by others that the guard was asked about. verdict: held, to be tried again by who"
    " evicts; granted, as the pod has gone, could not be moved or its patience is over; passed, as"
    " it is none of ours. reason: why, as docs/guard.md says.",
    "verdict",
    "reason",
)
GUARD_EVICTORS: Final = _counter(
    "guard_evictions_by_user_total",
    "The same by who evicts, of those that were held or granted. Of many users those that came"
    " first, and `other` for the rest.",
    "user",
    "verdict",
)
GUARD_SECONDS: Final = _histogram(
    "guard_request_duration_seconds",
    "Until an API server was answered about an eviction, from the first byte of its question.",
    _MILLISECONDS,
)
GUARD_HELD_SECONDS: Final = _histogram(
    "guard_held_seconds",
    "For how long evictions were held until they were granted, or found the pod gone.",
    _MINUTES,
)

CATALOGUE: Final = tuple(each for each in list(globals().values()) if isinstance(each, Family))
"""In their order."""
