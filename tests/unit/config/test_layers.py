"""Flags before environment variables, those before the file, and that before the default."""

import json
from typing import Any

import pytest

from rescheduler import config
from rescheduler.config.layers import KINDS
from rescheduler.documents.settings import document_of
from tests.unit.config import samples

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"


def problems(text: str | None = None, **given: Any) -> list[str]:  # noqa: ANN401
    with pytest.raises(config.ConfigurationError) as refused:
        config.combine(text, "a.yaml", **given)
    return str(refused.value).splitlines()


def test_each_takes_precedence_over_the_next() -> None:
    text = HEAD + "cpuThreshold: 70\nmemoryThreshold: 60\nmaxReschedulePods: 5\n"
    loaded = config.combine(
        text,
        environment={"RESCHEDULER_CPU_THRESHOLD": "71", "RESCHEDULER_MAX_RESCHEDULE_PODS": "6"},
        flags={"maxReschedulePods": config.Flag("--max-moves", 7)},
    )
    found, sources = loaded.configuration, loaded.sources
    assert (found.max_reschedule_pods, sources["maxReschedulePods"]) == (7, "flag")
    assert (found.cpu_threshold_percent, sources["cpuThreshold"]) == (71.0, "environment")
    assert (found.memory_threshold_percent, sources["memoryThreshold"]) == (60.0, "file")
    assert (found.imbalance_threshold_percent, sources["imbalanceThreshold"]) == (20.0, "default")
    assert set(sources) == set(KINDS)


STOCK = """apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles: [{schedulerName: a, pluginConfig: [{name: Rescheduler, args: {cpuThreshold: 70}}]}]
"""


@pytest.mark.parametrize("text", [STOCK, HEAD + "clientConnection:\n"])
def test_a_section_that_the_file_lacks_or_leaves_empty_may_be_given_by_others(text: str) -> None:
    flags = {"clientConnection.kubeconfig": config.Flag("--kubeconfig", "mine")}
    loaded = config.combine(text, flags=flags)
    assert loaded.configuration.client_connection.kubeconfig == "mine"
    assert loaded.sources["clientConnection.kubeconfig"] == "flag"


def test_a_file_that_says_the_default_is_its_source_all_the_same() -> None:
    loaded = config.combine(HEAD + "leaderElection: {leaseDuration: 15s}")
    assert loaded.sources["leaderElection.leaseDuration"] == "file"
    assert loaded.sources["leaderElection.renewDeadline"] == "default"


def test_no_file_is_needed() -> None:
    assert config.combine(None).configuration == config.Configuration()
    loaded = config.combine(None, environment={"RESCHEDULER_SCOPE_NAMESPACES": "a, b"})
    assert loaded.configuration.scope.namespaces == ("a", "b")


def test_of_a_scheduler_configuration_too() -> None:
    text = (samples.EXAMPLES / "kube-scheduler.yaml").read_text()
    before = config.parse(text)
    environment = {
        "RESCHEDULER_RESCHEDULING_INTERVAL": "7s",
        "RESCHEDULER_LEADER_ELECTION_LEADER_ELECT": "false",
    }
    loaded = config.combine(text, environment=environment)
    after = loaded.configuration
    assert after.rescheduling_interval_seconds == 7
    assert not after.leader_election.leader_elect
    assert after.scheduler_names == before.scheduler_names
    assert after.verbs == before.verbs
    assert loaded.sources["reschedulingInterval"] == "environment"


@pytest.mark.parametrize(
    ("variable", "text", "field", "value"),
    [
        ("ENABLED_STRATEGIES", "NodeMaintenance,LoadBalancing", "enabledStrategies", None),
        ("ENABLED_STRATEGIES", "[NodeMaintenance, LoadBalancing]", "enabledStrategies", None),
        ("EXCLUDED_NAMESPACES", "[]", "excludedNamespaces", []),
        ("CLIENT_CONNECTION_KUBECONFIG", "80", "clientConnection.kubeconfig", "80"),
        ("EXCLUDED_POD_SELECTOR", "!keep", "excludedPodSelector", "!keep"),
        ("MAX_RESCHEDULE_PODS", "1%", "maxReschedulePods", "1%"),
        ("MAX_RESCHEDULE_PODS", "3", "maxReschedulePods", 3),
        ("COST_OPTIMIZATION_PRICES", "[{nodeSelector: a=b, price: 2}]", "", None),
    ],
)
def test_a_variable_is_read_as_its_setting_is_meant(
    variable: str, text: str, field: str, value: object
) -> None:
    loaded = config.combine(None, environment={f"RESCHEDULER_{variable}": text})
    if value is not None:
        found: Any = document_of(loaded.configuration)
        for step in field.split("."):
            found = found[step]
        assert found == value
    path = config.VARIABLES[f"RESCHEDULER_{variable}"]
    assert loaded.sources[path] == "environment"


WRONG_EVERYWHERE = """\
a.yaml: cpuThreshold: must be more than 0 and at most 100 (per cent), found 0
command line: --max-moves: must be at least 0 and at most 2147483647, found -1
environment: RESCHEDULER_CPU_TRESHOLD: unknown variable; did you mean "RESCHEDULER_CPU_THRESHOLD"?
environment: RESCHEDULER_ENABLED_STRATEGIES[1]: "Balance": unknown name; did you mean "LoadBalancing"?
environment: RESCHEDULER_MEMORY_THRESHOLD: must be more than 0 and at most 100 (per cent), found 101
environment: RESCHEDULER_QUITE_ANOTHER_THING: unknown variable; docs/configuration.md lists all
"""  # noqa: E501 - as it is printed


def test_what_is_wrong_is_told_by_its_name_and_all_at_once() -> None:
    said = problems(
        HEAD + "cpuThreshold: 0\n",
        environment={
            "RESCHEDULER_MEMORY_THRESHOLD": "101",
            "RESCHEDULER_CPU_TRESHOLD": "5",
            "RESCHEDULER_ENABLED_STRATEGIES": "NodeMaintenance,Balance",
            "RESCHEDULER_QUITE_ANOTHER_THING": "1",
        },
        flags={"maxReschedulePods": config.Flag("--max-moves", -1)},
    )
    assert sorted(said) == WRONG_EVERYWHERE.splitlines()


def test_a_contradiction_names_whoever_takes_precedence() -> None:
    """What is fine in the file may make no sense with a variable."""
    name = "RESCHEDULER_LEADER_ELECTION_RENEW_DEADLINE"
    [said] = problems(
        HEAD + "leaderElection: {leaseDuration: 20s, renewDeadline: 15s}", environment={name: "20s"}
    )
    assert said.startswith(f"environment: {name}: must be shorter than leaseDuration")
    [said] = problems(
        HEAD + "leaderElection: {renewDeadline: 12s}",
        environment={"RESCHEDULER_LEADER_ELECTION_LEASE_DURATION": "12s"},
    )
    assert said.startswith("a.yaml: leaderElection.renewDeadline: must be shorter than")


def test_what_others_put_into_the_environment_is_left_alone() -> None:
    """A kubelet names every Service there, and one may be called as we are."""
    environment = {
        "PATH": "/bin",
        "RESCHEDULER_SCHEDULER_SERVICE_HOST": "10.0.0.1",
        "RESCHEDULER_SCHEDULER_SERVICE_PORT": "8080",
        "RESCHEDULER_SCHEDULER_SERVICE_PORT_METRICS": "8080",
        "RESCHEDULER_SCHEDULER_PORT": "tcp://10.0.0.1:8080",
        "RESCHEDULER_SCHEDULER_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "RESCHEDULER_SCHEDULER_PORT_8080_TCP_ADDR": "10.0.0.1",
        "RESCHEDULER_CPU_THRESHOLD": "",
    }
    loaded = config.combine(None, environment=environment)
    assert loaded.configuration == config.Configuration()
    assert set(loaded.sources.values()) == {"default"}


def test_every_setting_has_a_variable_of_its_own() -> None:
    assert len(config.VARIABLES) == len(KINDS)
    assert config.variable("migration.temporaryBudget.minAvailable") == (
        "RESCHEDULER_MIGRATION_TEMPORARY_BUDGET_MIN_AVAILABLE"
    )


def given(document: Any, path: str) -> Any:  # noqa: ANN401 - any JSON
    for step in path.split("."):
        document = (document or {}).get(step)
    return document


def test_all_variables_together_say_what_a_file_would_say() -> None:
    """Each as text, the way that a shell has it."""
    values = {path: given(samples.COMPLETE_OWN, path) for path in KINDS}
    environment = {
        config.variable(path): value if isinstance(value, str) and value else json.dumps(value)
        for path, value in values.items()
        if value is not None
    }
    loaded = config.combine(None, environment=environment)
    assert loaded.configuration == config.parse(json.dumps(samples.COMPLETE_OWN))
    assert [path for path, source in loaded.sources.items() if source == "default"] == [
        path for path, value in values.items() if value is None
    ]
