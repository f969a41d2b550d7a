"""The configuration: one file in, one frozen `Configuration` out, or every problem at once.

In: the text of a `ReschedulerConfiguration`, or of a `KubeSchedulerConfiguration` as operators of a
scheduler have it. Only `load` reads a file; all else is pure.
Out: a `Configuration`, complete and checked, or a `ConfigurationError` that names each problem by
its path; never half of it, and no other error.

Flags and environment variables take precedence over the file; they are handed in.

Not here: reading the environment, watching the file for changes, and any use of the settings.
"""

from rescheduler.config.configuration import (
    STRATEGIES,
    ClientConnection,
    Configuration,
    Scope,
)
from rescheduler.config.dashboard import Dashboard
from rescheduler.config.forcing import Forced
from rescheduler.config.guard import Guard
from rescheduler.config.layers import VARIABLES, Flag, Source, variable
from rescheduler.config.leading import LeaderElection
from rescheduler.config.loading import (
    Loaded,
    combine,
    from_profiles,
    load,
    parse,
    settings_beside_defaults,
    single_settings,
    to_document,
)
from rescheduler.config.migration import (
    CircuitBreaker,
    Groups,
    Migration,
    Retention,
    Retry,
    TemporaryBudget,
)
from rescheduler.config.node_autoscaler import NodeAutoscaler
from rescheduler.config.plans import APPROVE, AUTO, DRY_RUN, MODES, Plans
from rescheduler.config.pods import ALLOWED, NEVER, WHEN_ASKED, PodRules, permits
from rescheduler.config.scheduling import Extender, Filter, Score
from rescheduler.config.serving import Serving
from rescheduler.config.stability import Cooldown, InFlight, Stability
from rescheduler.config.strategies import (
    MOVE,
    STAY,
    CostOptimizationSettings,
    NodeMaintenanceSettings,
    Price,
    ResourceOptimizationSettings,
)
from rescheduler.config.tls import Tls
from rescheduler.config.usage import BasicAuth, LearnedPatience, PrometheusSettings, UsageSettings
from rescheduler.errors import ConfigurationError, Problem

__all__ = [
    "ALLOWED",
    "APPROVE",
    "AUTO",
    "DRY_RUN",
    "MODES",
    "MOVE",
    "NEVER",
    "STAY",
    "STRATEGIES",
    "VARIABLES",
    "WHEN_ASKED",
    "BasicAuth",
    "CircuitBreaker",
    "ClientConnection",
    "Configuration",
    "ConfigurationError",
    "Cooldown",
    "CostOptimizationSettings",
    "Dashboard",
    "Extender",
    "Filter",
    "Flag",
    "Forced",
    "Groups",
    "Guard",
    "InFlight",
    "LeaderElection",
    "LearnedPatience",
    "Loaded",
    "Migration",
    "NodeAutoscaler",
    "NodeMaintenanceSettings",
    "Plans",
    "PodRules",
    "Price",
    "Problem",
    "PrometheusSettings",
    "ResourceOptimizationSettings",
    "Retention",
    "Retry",
    "Scope",
    "Score",
    "Serving",
    "Source",
    "Stability",
    "TemporaryBudget",
    "Tls",
    "UsageSettings",
    "combine",
    "from_profiles",
    "load",
    "parse",
    "permits",
    "settings_beside_defaults",
    "single_settings",
    "to_document",
    "variable",
]
