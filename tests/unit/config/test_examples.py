"""The files as the requirements show them (S8, S9)."""

import pytest

from rescheduler import config
from rescheduler.model import selectors
from rescheduler.model.windows import Window
from tests.unit.config import samples

DEFAULTS = config.Configuration()


def test_the_defaults_are_those_of_the_requirements() -> None:
    assert DEFAULTS.rescheduling_interval_seconds == 30.0
    assert DEFAULTS.enabled_strategies == ("LoadBalancing", "ResourceOptimization")
    assert DEFAULTS.cpu_threshold_percent == DEFAULTS.memory_threshold_percent == 80.0
    assert DEFAULTS.imbalance_threshold_percent == 20.0
    assert DEFAULTS.max_reschedule_pods == 10
    assert DEFAULTS.excluded_namespaces == ("kube-system", "kube-public")
    assert DEFAULTS.excluded_pod_selector == selectors.NOTHING
    assert DEFAULTS.leader_election.leader_elect
    assert DEFAULTS.client_connection.kubeconfig == ""
    assert DEFAULTS.scope == config.Scope(namespaces=None, node_selector=selectors.EVERYTHING)
    assert DEFAULTS.pods.priority_threshold is None
    assert (DEFAULTS.pods.min_pod_age_seconds, DEFAULTS.pods.min_replicas) == (0, 1)
    assert (DEFAULTS.pods.empty_dir, DEFAULTS.pods.local_storage) == ("Allowed", "WhenAsked")
    assert (DEFAULTS.pods.jobs, DEFAULTS.pods.bare_pods) == ("Never", "WhenAsked")
    assert (DEFAULTS.pods.recreate, DEFAULTS.pods.group_label) == ("WhenAsked", "")
    assert DEFAULTS.pods.other_controllers == "WhenAsked"
    assert (DEFAULTS.stability.margin_points, DEFAULTS.stability.move_cost_percent) == (5, 20)
    assert DEFAULTS.stability.cooldown == config.Cooldown(
        pod_seconds=3600, workload_seconds=1800, node_seconds=600
    )
    assert DEFAULTS.in_flight == config.InFlight(per_node=10, per_namespace=0, per_workload=0)
    assert not DEFAULTS.node_maintenance.cordoned_nodes
    assert DEFAULTS.node_maintenance.excluded_namespaces == "Stay"
    assert DEFAULTS.resource_optimization.cpu_target_percent is None
    assert DEFAULTS.resource_optimization.memory_target_percent is None
    assert DEFAULTS.cost_optimization.prices == ()
    assert DEFAULTS.cost_optimization.move_cost_percent == 0.25
    assert DEFAULTS.migration.ready_timeout_seconds == 300
    assert DEFAULTS.migration.settle_seconds == 0
    assert DEFAULTS.migration.linger_seconds == 12
    assert DEFAULTS.migration.eviction_grace_period_seconds == 30
    assert DEFAULTS.migration.budget_timeout_seconds == 60
    assert DEFAULTS.usage.source == "auto"
    assert (DEFAULTS.usage.interval_seconds, DEFAULTS.usage.window_seconds) == (30, 300)
    assert (DEFAULTS.usage.max_age_seconds, DEFAULTS.usage.debounce) == (180, 3)
    assert DEFAULTS.usage.percentile == 90
    assert DEFAULTS.usage.prometheus.url == ""
    assert DEFAULTS.serving == config.Serving(bind_address="", port=8081, debug_port=0)
    assert DEFAULTS.extender == config.Extender(
        verbs=(), bind_address="127.0.0.1", port=8082, tls=config.Tls()
    )
    assert DEFAULTS.filter == config.Filter(strict=False)
    assert DEFAULTS.score == config.Score(cpu_weight=1.0, memory_weight=1.0, balance_bonus=2.0)
    assert DEFAULTS.guard == config.Guard(
        enabled=False, bind_address="", port=8443, patience_seconds=300.0, url="", tls=config.Tls()
    )
    assert DEFAULTS.dashboard == config.Dashboard(
        enabled=False,
        bind_address="127.0.0.1",
        port=8080,
        authentication="ByAddress",
        actions=False,
        base_path="",
        tls=config.Tls(),
    )
    assert DEFAULTS.answered == ()
    assert DEFAULTS.verbs == ()
    assert DEFAULTS.scheduler_names == ()


def test_own_file_that_writes_out_every_default() -> None:
    assert config.load(samples.EXAMPLES / "rescheduler.yaml") == DEFAULTS


def test_own_file_with_nothing_in_it_gives_the_defaults() -> None:
    assert samples.parsed(samples.own()) == DEFAULTS


def test_scheduler_file_that_writes_out_every_default() -> None:
    path = samples.EXAMPLES / "kube-scheduler-without-verbs.yaml"
    assert config.load(str(path)) == config.Configuration(
        scheduler_names=("rescheduler-scheduler",)
    )


def test_scheduler_file_with_verbs() -> None:
    assert config.load(samples.EXAMPLES / "kube-scheduler.yaml") == config.Configuration(
        enabled_strategies=("LoadBalancing", "ResourceOptimization", "NodeMaintenance"),
        memory_threshold_percent=75.0,
        excluded_pod_selector=selectors.parse("app=database"),
        leader_election=config.LeaderElection(leader_elect=False),
        client_connection=config.ClientConnection(kubeconfig="/etc/kubernetes/scheduler.conf"),
        verbs=("filter", "score", "preBind"),
        scheduler_names=("rescheduler-scheduler",),
    )


COMPLETE = config.Configuration(
    rescheduling_interval_seconds=90.0,
    enabled_strategies=("NodeMaintenance",),
    cpu_threshold_percent=70.0,
    memory_threshold_percent=60.5,
    imbalance_threshold_percent=0.0,
    max_reschedule_pods=0,
    excluded_namespaces=("kube-system",),
    excluded_pod_selector=selectors.parse("!movable,app in (cache,db)"),
    mode="Approve",
    windows=(
        Window(days=("Mon", "Sat"), begin=22 * 60 + 30, end=6 * 60, zone="Europe/Berlin"),
        Window(days=("Sun",)),
    ),
    plans=config.Plans(expire_after_seconds=172800.0, review_seconds=0.0, keep=7),
    leader_election=config.LeaderElection(leader_elect=False),
    client_connection=config.ClientConnection(kubeconfig="/etc/kubeconfig"),
    scope=config.Scope(
        namespaces=("team-a", "team-b"), node_selector=selectors.parse("pool=general")
    ),
    pods=config.PodRules(
        priority_threshold=-5,
        min_pod_age_seconds=7 * 86400.0,
        min_replicas=2,
        empty_dir=config.WHEN_ASKED,
        local_storage=config.ALLOWED,
        jobs=config.ALLOWED,
        bare_pods=config.ALLOWED,
        recreate=config.ALLOWED,
        other_controllers=config.ALLOWED,
        group_label="example.com/group",
    ),
    stability=config.Stability(
        margin_points=7.5,
        move_cost_percent=1.0,
        cooldown=config.Cooldown(pod_seconds=60.0, workload_seconds=0.0, node_seconds=86400.0),
    ),
    in_flight=config.InFlight(per_node=3, per_namespace=4, per_workload=5),
    node_maintenance=config.NodeMaintenanceSettings(
        cordoned_nodes=True, removed_nodes=True, excluded_namespaces=config.MOVE
    ),
    resource_optimization=config.ResourceOptimizationSettings(
        cpu_target_percent=70.0, memory_target_percent=50.5
    ),
    cost_optimization=config.CostOptimizationSettings(
        prices=(
            config.Price(node_selector=selectors.parse("spot"), price=0.25),
            config.Price(node_selector=selectors.EVERYTHING, price=1.0),
        ),
        move_cost_percent=0.5,
    ),
    node_autoscaler=config.NodeAutoscaler(
        node_selector=selectors.parse("pool=spot"),
        scale_down_utilization_percent=65.5,
        packed_nodes=selectors.parse("pool=packed"),
    ),
    groups=config.Groups(allow_recreate=True),
    migration=config.Migration(
        way="Recreate",
        coordination=False,
        fallback="Never",
        workers=3,
        ready_timeout_seconds=600.0,
        settle_seconds=0.5,
        linger_seconds=20.0,
        eviction_grace_period_seconds=45,
        budget_timeout_seconds=0.0,
        steer_timeout_seconds=5.0,
        clean_up_timeout_seconds=600.0,
        do_not_disrupt_seconds=0.0,
        temporary_budget=config.TemporaryBudget(enabled=False, max_unavailable="25%"),
        retry=config.Retry(attempts=5, back_off_seconds=120.0),
        circuit_breaker=config.CircuitBreaker(failures=0, pause_seconds=60.0),
        retention=config.Retention(max_age_seconds=3600.0, max_count=7),
    ),
    serving=config.Serving(bind_address="127.0.0.1", port=9081, debug_port=6060),
    extender=config.Extender(
        verbs=("filter", "preBind"),
        bind_address="10.0.0.1",
        port=9082,
        tls=config.Tls(
            cert_file="/tls/tls.crt", key_file="/tls/tls.key", client_ca_file="/tls/clients.crt"
        ),
    ),
    filter=config.Filter(strict=True),
    score=config.Score(cpu_weight=3.0, memory_weight=0.5, balance_bonus=0.0),
    guard=config.Guard(
        enabled=True,
        bind_address="10.0.0.1",
        port=9443,
        patience_seconds=600.0,
        url="https://10.0.0.1:9443/guard",
        tls=config.Tls(
            cert_file="/guard/tls.crt",
            key_file="/guard/tls.key",
            client_ca_file="/guard/clients.crt",
        ),
    ),
    dashboard=config.Dashboard(
        enabled=True,
        bind_address="10.0.0.1",
        port=9444,
        authentication="Token",
        actions=True,
        cluster_name="production",
        base_path="/rescheduler",
        tls=config.Tls(
            cert_file="/dashboard/tls.crt",
            key_file="/dashboard/tls.key",
            client_ca_file="/dashboard/clients.crt",
        ),
    ),
    usage=config.UsageSettings(
        source="prometheus",
        interval_seconds=15.0,
        window_seconds=600.0,
        percentile=95.0,
        max_age_seconds=120.0,
        debounce=5,
        learned_patience=config.LearnedPatience(enabled=True, days=14),
        prometheus=config.PrometheusSettings(
            url="https://prometheus.monitoring:9090/prefix",
            node_cpu_query="node_cpu",
            node_memory_query="node_memory",
            node_timestamp_query="",
            pod_cpu_query="pod_cpu",
            pod_memory_query="pod_memory",
            token_file="",
            ca_file="/etc/prometheus/ca.crt",
            basic_auth=config.BasicAuth(
                username="reader",
                password_file="/etc/prometheus/password",  # noqa: S106 - the name of a file
            ),
            timeout_seconds=5.0,
        ),
    ),
)


def test_own_file_with_every_field() -> None:
    assert samples.parsed(samples.COMPLETE_OWN) == COMPLETE


def test_scheduler_file_with_every_field_that_a_stock_scheduler_knows() -> None:
    configuration = samples.parsed(samples.COMPLETE_STOCK)
    assert config.to_document(configuration) == config.to_document(COMPLETE)
    assert configuration.verbs == ("score",)
    assert configuration.scheduler_names == ("rescheduler-scheduler",)


@pytest.mark.parametrize("profiles", [[], [{"schedulerName": "default-scheduler"}]])
def test_scheduler_file_without_our_plugin_gives_the_defaults(profiles: list[object]) -> None:
    assert samples.parsed(samples.stock(*profiles)) == DEFAULTS
