"""The configuration: one file in, one frozen `Configuration` out, or every problem at once.

In: the text of a `ReschedulerConfiguration`, or of a `KubeSchedulerConfiguration` as operators of a
scheduler have it. Only `load` reads a file; all else is pure.
Out: a `Configuration`, complete and checked, or a `ConfigurationError` that names each problem by
its path; never half of it, and no other error.

Not here: flags and environment, watching the file for changes, and any use of the settings.
"""

from rescheduler.config.configuration import (
    STRATEGIES,
    ClientConnection,
    Configuration,
    Scope,
    Verbs,
)
from rescheduler.config.documents import load, parse, settings_beside_defaults, to_document
from rescheduler.config.forcing import Forced
from rescheduler.config.leading import LeaderElection
from rescheduler.config.migration import (
    CircuitBreaker,
    Groups,
    Migration,
    Retention,
    Retry,
    TemporaryBudget,
)
from rescheduler.config.node_autoscaler import NodeAutoscaler
from rescheduler.config.pods import ALLOWED, NEVER, WHEN_ASKED, PodRules, permits
from rescheduler.config.stability import Cooldown, InFlight, Stability
from rescheduler.config.strategies import (
    MOVE,
    STAY,
    CostOptimizationSettings,
    NodeMaintenanceSettings,
    Price,
    ResourceOptimizationSettings,
)
from rescheduler.config.usage import BasicAuth, PrometheusSettings, UsageSettings
from rescheduler.errors import ConfigurationError, Problem

__all__ = [
    "ALLOWED",
    "MOVE",
    "NEVER",
    "STAY",
    "STRATEGIES",
    "WHEN_ASKED",
    "BasicAuth",
    "CircuitBreaker",
    "ClientConnection",
    "Configuration",
    "ConfigurationError",
    "Cooldown",
    "CostOptimizationSettings",
    "Forced",
    "Groups",
    "InFlight",
    "LeaderElection",
    "Migration",
    "NodeAutoscaler",
    "NodeMaintenanceSettings",
    "PodRules",
    "Price",
    "Problem",
    "PrometheusSettings",
    "ResourceOptimizationSettings",
    "Retention",
    "Retry",
    "Scope",
    "Stability",
    "TemporaryBudget",
    "UsageSettings",
    "Verbs",
    "load",
    "parse",
    "permits",
    "settings_beside_defaults",
    "to_document",
]
