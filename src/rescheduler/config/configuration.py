"""The configuration as the rest of the program sees it, whichever file it came from.

Each field says how it is called in the file, what is accepted there, and the default; the text
below a field gives the unit and the reason.
"""

# ruff: noqa: RUF009 - the calls return a dataclasses.field(...), not one default for all

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from rescheduler.config.dashboard import Dashboard
from rescheduler.config.forcing import Forced
from rescheduler.config.guard import Guard
from rescheduler.config.leading import LeaderElection
from rescheduler.config.migration import Groups, Migration
from rescheduler.config.node_autoscaler import NodeAutoscaler
from rescheduler.config.plans import AUTO, MODES, Plans
from rescheduler.config.pods import PodRules
from rescheduler.config.scheduling import VERBS, Extender, Filter, Score
from rescheduler.config.serving import Serving
from rescheduler.config.stability import InFlight, Stability
from rescheduler.config.strategies import (
    CostOptimizationSettings,
    NodeMaintenanceSettings,
    ResourceOptimizationSettings,
)
from rescheduler.config.usage import UsageSettings
from rescheduler.config.windows import Windows
from rescheduler.documents.durations import SECOND
from rescheduler.documents.kinds import (
    CountOrShare,
    Duration,
    LabelSelector,
    Percentage,
    Text,
)
from rescheduler.documents.name_lists import Choice, Choices, Namespaces
from rescheduler.documents.settings import setting, subsection
from rescheduler.model import strategies
from rescheduler.model.selectors import EVERYTHING, NOTHING, Selector
from rescheduler.model.windows import Window

STRATEGIES: Final = strategies.ALL
"""The names of all strategies that `enabledStrategies` may list."""

_FEW_PODS: Final[int | str] = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConnection:
    kubeconfig: str = setting("kubeconfig", Text(), default="")
    """Path of a kubeconfig file. Default empty: the service account of the pod we run in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The part of the cluster that is looked at and touched."""

    namespaces: tuple[str, ...] | None = setting(
        "namespaces", Namespaces(left_out_means="every namespace"), default=None
    )
    """Names of namespaces. Default None: every one. Never empty, as that reads as "none" too."""

    node_selector: Selector = setting(
        "nodeSelector", LabelSelector(empty=EVERYTHING), default=EVERYTHING
    )
    """Labels of the nodes. Default: all nodes."""

    def covers(self, namespace: str) -> bool:
        return self.namespaces is None or namespace in self.namespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    rescheduling_interval_seconds: float = setting(
        "reschedulingInterval", Duration(lowest=SECOND), default=30.0
    )
    """From one pass to the next, 1 s to 24 h. Default 30 s. A pass that cannot wait comes early: a
    node is labelled for maintenance or becomes hot, somebody asks for a move without a target, or
    the last one ended at maxReschedulePods and its pods serve elsewhere.
    """

    enabled_strategies: tuple[str, ...] = setting(
        "enabledStrategies", Choices(STRATEGIES), default=strategies.BY_DEFAULT
    )
    """Names of strategies. Default without those that empty nodes or move pods that run well where
    they are. May be empty.
    """

    cpu_threshold_percent: float = setting(
        "cpuThreshold", Percentage(zero_allowed=False), default=80.0
    )
    """A node whose CPU use is above this is overloaded, in per cent. Default 80."""

    memory_threshold_percent: float = setting(
        "memoryThreshold", Percentage(zero_allowed=False), default=80.0
    )
    """A node whose memory use is above this is overloaded, in per cent. Default 80."""

    imbalance_threshold_percent: float = setting(
        "imbalanceThreshold", Percentage(zero_allowed=True), default=20.0
    )
    """Differences of load between nodes up to this are left alone, in per cent. Default 20."""

    max_reschedule_pods: int | str = setting(
        "maxReschedulePods", CountOrShare(lowest_share=1), default=_FEW_PODS
    )
    """The most pods moved in one pass that nobody asked for: a number, or a share of the pods in
    scope such as "1%", rounded up; 0: no limit. Protects from a mistake, ours or in a
    configuration, that would move everything at once. Default 10.
    """

    excluded_namespaces: tuple[str, ...] = setting(
        "excludedNamespaces", Namespaces(), default=("kube-system", "kube-public")
    )
    """Names of namespaces whose pods stay. Default: those of the cluster itself. May be empty."""

    excluded_pod_selector: Selector = setting(
        "excludedPodSelector", LabelSelector(empty=NOTHING), default=NOTHING
    )
    """Pods with these labels stay. Default, and for an empty text: it matches no pod."""

    mode: str = setting("mode", Choice(MODES), default=AUTO)
    """`Auto`: what was decided is done. `Approve`: it waits until somebody says yes to the plan,
    but for what a person or a maintenance asked for. `DryRun`: plans are only written down, without
    any right to move anything. Default Auto; that of the Helm chart is DryRun.
    """

    windows: tuple[Window, ...] = setting("windows", Windows(), default=())
    """When something may be done without being asked: `days` of Mon to Sun (default: all), `hours`
    such as "22:00-06:00" (which end on the next day; default: all), by the clock on the wall of a
    `zone` such as Europe/Berlin (default: UTC). What a person or a maintenance asked for, and what
    somebody approved, does not wait. Default none: always.
    """

    plans: Plans = subsection("plans", default=Plans())
    leader_election: LeaderElection = subsection("leaderElection", default=LeaderElection())
    client_connection: ClientConnection = subsection("clientConnection", default=ClientConnection())
    scope: Scope = subsection("scope", default=Scope())
    pods: PodRules = subsection("pods", default=PodRules())
    stability: Stability = subsection("stability", default=Stability())
    in_flight: InFlight = subsection("inFlight", default=InFlight())
    node_maintenance: NodeMaintenanceSettings = subsection(
        "nodeMaintenance", default=NodeMaintenanceSettings()
    )
    resource_optimization: ResourceOptimizationSettings = subsection(
        "resourceOptimization", default=ResourceOptimizationSettings()
    )
    cost_optimization: CostOptimizationSettings = subsection(
        "costOptimization", default=CostOptimizationSettings()
    )
    node_autoscaler: NodeAutoscaler = subsection("nodeAutoscaler", default=NodeAutoscaler())
    groups: Groups = subsection("groups", default=Groups())
    migration: Migration = subsection("migration", default=Migration())
    usage: UsageSettings = subsection("usage", default=UsageSettings())
    serving: Serving = subsection("serving", default=Serving())
    extender: Extender = subsection("extender", default=Extender())
    filter: Filter = subsection("filter", default=Filter())
    score: Score = subsection("score", default=Score())
    guard: Guard = subsection("guard", default=Guard())
    dashboard: Dashboard = subsection("dashboard", default=Dashboard())

    verbs: tuple[str, ...] = ()
    """By the plugins of a scheduler configuration; those of `extender.verbs` come on top."""

    scheduler_names: tuple[str, ...] = ()
    """Of the profiles that have our plugin: their pods are ours to schedule. Default: none."""

    forced: Forced | None = None
    """Set while a node is drained by command, or for a record that says so; in no file."""

    @property
    def thresholds(self) -> Mapping[str, float]:
        """By resource: above which a node is overloaded, in per cent."""
        return {"cpu": self.cpu_threshold_percent, "memory": self.memory_threshold_percent}

    @property
    def answered(self) -> tuple[str, ...]:
        """The verbs of a scheduler that we answer, in its order."""
        return tuple(each for each in VERBS if each in (*self.verbs, *self.extender.verbs))
