"""Scheduler configurations: profiles, plugins, and profiles that disagree."""

import pytest

from rescheduler import config
from tests.unit.config import samples
from tests.unit.config.samples import profile, stock


def test_profiles_complete_each_other() -> None:
    configuration = samples.parsed(
        stock(
            profile("a", cpuThreshold=70, scope={"nodeSelector": "x"}),
            {"schedulerName": "foreign"},
            profile("b", cpuThreshold=70.0, memoryThreshold=60, scope={"namespaces": ["n"]}),
        )
    )
    assert configuration.cpu_threshold_percent == 70
    assert configuration.memory_threshold_percent == 60
    assert configuration.scope.namespaces == ("n",)
    assert str(configuration.scope.node_selector) == "x"
    assert configuration.scheduler_names == ("a", "b")


def test_profiles_that_contradict_each_other_are_named_with_both_values() -> None:
    document = stock(
        profile("a", cpuThreshold=70, migration={"settle": "1s"}, excludedNamespaces=["x"]),
        profile("b", cpuThreshold=75, migration={"settle": "2s"}, excludedNamespaces=[]),
    )
    args = "pluginConfig[0].args"
    assert samples.problems(document) == [
        (
            f"profiles[1].{args}.cpuThreshold",
            f"contradicts profiles[0].{args}.cpuThreshold: 70 there, 75 here",
        ),
        (
            f"profiles[1].{args}.migration.settle",
            f'contradicts profiles[0].{args}.migration.settle: "1s" there, "2s" here',
        ),
        (
            f"profiles[1].{args}.excludedNamespaces",
            f'contradicts profiles[0].{args}.excludedNamespaces: ["x"] there, [] here',
        ),
    ]


def test_profiles_that_enable_different_verbs_contradict_each_other() -> None:
    document = stock(profile("a", points=("score", "filter")), profile("b"))
    ((path, message),) = samples.problems(document)
    assert path == "profiles[1].plugins"
    assert message == (
        "contradicts profiles[0].plugins: "
        "Rescheduler is enabled at filter, score there, at none here"
    )


@pytest.mark.parametrize(
    ("points", "verbs"),
    [
        ((), ()),
        (("filter",), ("filter",)),
        (("preBind", "score"), ("score", "preBind")),
    ],
)
def test_verbs(points: tuple[str, ...], verbs: tuple[str, ...]) -> None:
    assert samples.parsed(stock(profile(points=points))).verbs == verbs


def test_a_profile_with_plugins_only_is_ours_too() -> None:
    ours = profile(points=("filter",))
    del ours["pluginConfig"]
    configuration = samples.parsed(stock(ours))
    assert configuration.scheduler_names == ("ours",)
    assert "filter" in configuration.verbs


def test_a_profile_that_only_disables_our_plugin_is_not_ours() -> None:
    disabling = {"plugins": {"filter": {"disabled": [{"name": "Rescheduler"}]}}}
    assert samples.parsed(stock(disabling)) == config.Configuration()


def test_a_single_profile_may_have_no_name() -> None:
    ours = profile()
    del ours["schedulerName"]
    assert samples.parsed(stock(ours)).scheduler_names == ("default-scheduler",)


@pytest.mark.parametrize("empty", ["plugins", "pluginConfig"])
def test_empty_sections_of_a_profile(empty: str) -> None:
    document = stock({**profile(), empty: None})
    assert samples.parsed(document).cpu_threshold_percent == 80


REFUSED = [
    (
        stock(profile("a"), profile("a")),
        "profiles[1].schedulerName",
        'duplicate of profiles[0].schedulerName ("a")',
    ),
    (
        stock(profile("a"), {}),
        "profiles[1].schedulerName",
        "required, as there are several profiles",
    ),
    (stock({"schedulerName": ""}), "profiles[0].schedulerName", "must not be empty"),
    (
        stock({"schedulerName": 5}),
        "profiles[0].schedulerName",
        "expected a string, found the number 5; put it in quotes",
    ),
    (
        stock(profile(points=("reserve",))),
        "profiles[0].plugins.reserve",
        "Rescheduler cannot be enabled here, only at filter, score, preBind",
    ),
    (
        stock({"pluginConfig": [{"name": "Reschedular", "args": {"cpuThreshold": 1}}]}),
        "profiles[0].pluginConfig[0].name",
        'unknown plugin "Reschedular"; did you mean "Rescheduler"?',
    ),
    (
        stock({"plugins": {"filter": {"enabled": [{"name": "rescheduler"}]}}}),
        "profiles[0].plugins.filter.enabled[0].name",
        'unknown plugin "rescheduler"; did you mean "Rescheduler"?',
    ),
    (
        stock({"pluginConfig": [{"name": "Rescheduler"}, {"name": "Rescheduler"}]}),
        "profiles[0].pluginConfig[1].name",
        'duplicate of profiles[0].pluginConfig[0].name ("Rescheduler")',
    ),
    (
        stock({"pluginConfig": [{"args": {}}]}),
        "profiles[0].pluginConfig[0].name",
        "required field is missing",
    ),
    (
        stock(profile(leaderElection={})),
        "profiles[0].pluginConfig[0].args.leaderElection",
        "unknown field; known: reschedulingInterval, ",
    ),
    (
        stock(profile("a"), profile("b", cpuThreshold="x")),
        "profiles[1].pluginConfig[0].args.cpuThreshold",
        'expected a number, found the string "x"',
    ),
    (
        {**stock(), "profiles": {}},
        "profiles",
        "expected a list, found a mapping",
    ),
    (stock("x"), "profiles[0]", 'expected a mapping, found the string "x"'),
    (
        stock(leaderElection={"leaderElect": "true"}),
        "leaderElection.leaderElect",
        'expected true or false, found the string "true"',
    ),
    (stock(cpuThreshold=5), "cpuThreshold", "unknown field; known: apiVersion, "),
]


@pytest.mark.parametrize(("document", "path", "message"), REFUSED)
def test_refused(document: object, path: str, message: str) -> None:
    ((found_path, found),) = samples.problems(document)
    assert found_path == path
    assert found.startswith(message)
