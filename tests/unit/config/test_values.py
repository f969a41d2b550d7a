"""Single values: what is accepted, and how a refusal reads."""

import pytest

from rescheduler import config
from rescheduler.model import selectors
from tests.unit.config import samples

SHARE = 'expected a whole number, or a percentage such as "25%", found'
REFUSED = [
    ("cpuThreshold", True, "expected a number, found true"),
    ("cpuThreshold", "80", 'expected a number, found the string "80"; write it without quotes'),
    ("cpuThreshold", "high", 'expected a number, found the string "high"'),
    ("cpuThreshold", None, "expected a number, found null"),
    ("cpuThreshold", [80], "expected a number, found a list"),
    ("cpuThreshold", 0, "must be more than 0 and at most 100 (per cent), found 0"),
    ("memoryThreshold", 100.1, "must be more than 0 and at most 100 (per cent), found 100.1"),
    ("memoryThreshold", -1, "must be more than 0 and at most 100 (per cent), found -1"),
    ("imbalanceThreshold", -0.1, "must be at least 0 and at most 100 (per cent), found -0.1"),
    ("maxReschedulePods", 1.0, f"{SHARE} the number 1.0"),
    ("maxReschedulePods", False, f"{SHARE} false"),
    ("maxReschedulePods", "10", f'{SHARE} the string "10"; write it without quotes'),
    ("maxReschedulePods", "0%", 'must be at least "1%", found "0%"'),
    ("maxReschedulePods", "101%", f'{SHARE} the string "101%"'),
    ("maxReschedulePods", -1, "must be at least 0 and at most 2147483647, found -1"),
    ("maxReschedulePods", 2**31, "must be at least 0 and at most 2147483647, found 2147483648"),
    ("maxReschedulePods", 10**30, f"{SHARE} the number 1e+30"),
    ("reschedulingInterval", "999ms", 'must be between 1s and 24h, found "999ms"'),
    ("reschedulingInterval", "24h0m0.001s", 'must be between 1s and 24h, found "24h0m0.001s"'),
    ("reschedulingInterval", "-30s", 'must be between 1s and 24h, found "-30s"'),
    (
        "reschedulingInterval",
        30,
        'expected a duration such as "30s" or "1m30s", found the number 30',
    ),
    (
        "reschedulingInterval",
        "30",
        'expected a duration such as "30s" or "1m30s", found "30": a unit is missing',
    ),
    (
        "enabledStrategies",
        "LoadBalancing",
        'expected a list of names, found the string "LoadBalancing"',
    ),
    ("excludedNamespaces", None, "expected a list of names, found null"),
    (
        "excludedPodSelector",
        "a=b c",
        "not a label selector: expected ',' or the end at character 5, found 'c'",
    ),
    ("excludedPodSelector", 5, "expected a label selector as a string, found the number 5"),
    ("excludedPodSelector", {"a": "b"}, "expected a label selector as a string, found a mapping"),
    ("leaderElection", True, "expected a mapping, found true"),
    ("scope", [], "expected a mapping, found a list"),
]


@pytest.mark.parametrize(("field", "value", "message"), REFUSED)
def test_refused_value(field: str, value: object, message: str) -> None:
    ((path, found),) = samples.problems(samples.own(**{field: value}))
    assert path == field
    assert found.startswith(message)


REFUSED_IN_SECTIONS = [
    ({"scope": {"namespaces": []}}, "scope.namespaces", "leave the field out"),
    ({"scope": {"namespaces": None}}, "scope.namespaces", "leave the field out"),
    ({"scope": {"namespaces": ["*"]}}, "scope.namespaces[0]", "no patterns"),
    ({"scope": {"namespaces": ["a", "b", "a"]}}, "scope.namespaces[2]", "scope.namespaces[0]"),
    ({"scope": {"namespaces": ["a", ""]}}, "scope.namespaces[1]", "not the name of a namespace"),
    ({"scope": {"namespaces": ["a" * 64]}}, "scope.namespaces[0]", "not the name of a namespace"),
    ({"scope": {"namespaces": ["a", 5]}}, "scope.namespaces[1]", "put it in quotes"),
    ({"scope": {"nodeSelector": "-a"}}, "scope.nodeSelector", "label key '-a'"),
    ({"migration": {"readyTimeout": "0s"}}, "migration.readyTimeout", "between 1ms and 24h"),
    ({"migration": {"settle": "-1s"}}, "migration.settle", "between 0s and 24h"),
    ({"migration": {"settle": 0}}, "migration.settle", "expected a duration"),
    ({"migration": {"budgetTimeout": "25h"}}, "migration.budgetTimeout", "between 0s and 24h"),
    ({"migration": {"evictionGracePeriod": "0s"}}, "migration.evictionGracePeriod", "between 1s"),
    (
        {"migration": {"evictionGracePeriod": "1500ms"}},
        "migration.evictionGracePeriod",
        "whole seconds",
    ),
    ({"enabledStrategies": ["Loadbalance"]}, "enabledStrategies[0]", '"LoadBalancing"'),
    (
        {"enabledStrategies": ["x"]},
        "enabledStrategies[0]",
        "known: NodeMaintenance, TopologySpread, ResourceOptimization, CostOptimization, LoadBala",
    ),
    ({"leaderElection": {"leaderElect": "yes"}}, "leaderElection.leaderElect", "true or false"),
    ({"leaderElection": {"leaderElect": 1}}, "leaderElection.leaderElect", "true or false"),
    ({"clientConnection": {"kubeconfig": 1}}, "clientConnection.kubeconfig", "a string"),
    ({"serving": {"port": 65536}}, "serving.port", "at least 0 and at most 65535"),
    ({"serving": {"port": "8081"}}, "serving.port", "a whole number"),
    ({"serving": {"bindAddress": "localhost"}}, "serving.bindAddress", "must be an IP address"),
    ({"serving": {"bindAddress": 0}}, "serving.bindAddress", "a string"),
    ({"serving": {"debugPort": 8081}}, "serving.debugPort", "a port of their own"),
    ({"serving": {"port": 8082}}, "extender.port", "a port of its own"),
    ({"extender": {"verbs": ["bind"]}}, "extender.verbs[0]", "unknown name"),
    ({"extender": {"port": 0}}, "extender.port", "at least 1 and at most 65535"),
    (
        {"extender": {"verbs": ["filter"], "bindAddress": ""}},
        "extender.bindAddress",
        "reaches beyond this machine",
    ),
    (
        {"extender": {"tls": {"certFile": "a"}}},
        "extender.tls.keyFile",
        "required, as extender.tls.certFile is given",
    ),
    (
        {"extender": {"tls": {"keyFile": "a"}}},
        "extender.tls.certFile",
        "required, as extender.tls.keyFile is given",
    ),
    (
        {"extender": {"tls": {"clientCaFile": "a"}}},
        "extender.tls.clientCaFile",
        "has no effect without TLS",
    ),
    (
        {"extender": {"tls": {"secret": "own", "certFile": "a", "keyFile": "b"}}},
        "extender.tls.secret",
        "is given beside certFile: one of them",
    ),
    (
        {
            "extender": {
                "verbs": ["preBind"],
                "bindAddress": "",
                "tls": {"secret": "own"},
            }
        },
        "extender.tls.clientCaFile",
        "whoever reaches the port could bind pods",
    ),
    (
        {
            "extender": {
                "verbs": ["preBind"],
                "bindAddress": "10.0.0.1",
                "tls": {"certFile": "a", "keyFile": "b"},
            }
        },
        "extender.tls.clientCaFile",
        "whoever reaches the port could bind pods",
    ),
    ({"score": {"cpuWeight": 0, "memoryWeight": 0}}, "score.cpuWeight", "make one of them 1"),
    ({"score": {"balanceBonus": 11}}, "score.balanceBonus", "at most 10"),
    ({"filter": {"strict": "yes"}}, "filter.strict", "true or false"),
    ({"guard": {"patience": "0s"}}, "guard.patience", "between 1s and 24h"),
    ({"guard": {"url": "http://here"}}, "guard.url", "must begin with https://"),
    (
        {"guard": {"tls": {"certFile": "a"}}},
        "guard.tls.keyFile",
        "required, as guard.tls.certFile is given",
    ),
    (
        {"guard": {"enabled": True, "port": 8081, "tls": {"certFile": "a", "keyFile": "b"}}},
        "guard.port",
        "is serving.port, too",
    ),
    ({"dashboard": {"basePath": "rescheduler/"}}, "dashboard.basePath", "begins with a slash"),
    ({"dashboard": {"authentication": "Nobody"}}, "dashboard.authentication", "None"),
    (
        {"dashboard": {"authentication": "None", "bindAddress": "10.0.0.1"}},
        "dashboard.authentication",
        "whoever reaches the port would see every pod",
    ),
    (
        {"dashboard": {"enabled": True, "port": 8081}},
        "dashboard.port",
        "is serving.port, too",
    ),
    (
        {"dashboard": {"tls": {"keyFile": "a"}}},
        "dashboard.tls.certFile",
        "required, as dashboard.tls.keyFile is given",
    ),
    ({"verbs": {}}, "verbs", "unknown field"),
    ({"schedulerNames": []}, "schedulerNames", "unknown field"),
]


@pytest.mark.parametrize(("fields", "path", "part"), REFUSED_IN_SECTIONS)
def test_refused_in_a_section(fields: dict[str, object], path: str, part: str) -> None:
    ((found_path, message),) = samples.problems(samples.own(**fields))
    assert found_path == path
    assert part in message


@pytest.mark.parametrize(
    "fields",
    [
        {"cpuThreshold": 100, "memoryThreshold": 0.001, "imbalanceThreshold": 0},
        {"imbalanceThreshold": 100, "maxReschedulePods": 0},
        {"maxReschedulePods": "1%"},
        {"reschedulingInterval": "1s"},
        {"reschedulingInterval": "24h"},
        {"enabledStrategies": list(config.STRATEGIES)},
        {"enabledStrategies": [], "excludedNamespaces": []},
        {"scope": None, "migration": {}},
    ],
)
def test_accepted_at_the_bounds(fields: dict[str, object]) -> None:
    samples.parsed(samples.own(**fields))


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_pod_selector_excludes_no_pod(text: str) -> None:
    configuration = samples.parsed(samples.own(excludedPodSelector=text))
    assert not configuration.excluded_pod_selector.matches({})
    assert not configuration.excluded_pod_selector.matches({"a": "b"})


def test_an_empty_node_selector_is_all_nodes() -> None:
    configuration = samples.parsed(samples.own(scope={"nodeSelector": ""}))
    assert configuration.scope.node_selector == selectors.EVERYTHING


def test_all_problems_at_once_in_order_of_appearance() -> None:
    document = samples.own(
        migration={"settle": 1, "patience": "1s"},
        cpuTreshold=1,
        scope={"namespaces": ["A", "b", "b"]},
        cpuThreshold="x",
    )
    assert [path for path, _ in samples.problems(document)] == [
        "migration.settle",
        "migration.patience",
        "cpuTreshold",
        "scope.namespaces[0]",
        "scope.namespaces[2]",
        "cpuThreshold",
    ]


def test_the_error_prints_a_line_for_each_problem() -> None:
    text = "apiVersion: rescheduler.io/v1alpha1\nkind: Rescheduler\ncpuTreshold: 1\n"
    with pytest.raises(config.ConfigurationError) as caught:
        config.parse(text, "dir/file.yaml")
    assert str(caught.value).splitlines() == [
        'dir/file.yaml: kind: expected "ReschedulerConfiguration", found the string "Rescheduler"',
        'dir/file.yaml: cpuTreshold: unknown field; did you mean "cpuThreshold"?',
    ]


def test_a_name_that_could_dress_up_the_output_is_quoted() -> None:
    ((path, _),) = samples.problems(samples.own(**{"a\n\x1b[2Jb.c": 1}))
    assert path == r'["a\n\u001b[2Jb.c"]'
