"""`rescheduler config`: what is in force, a file to start from, and the schema."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from rescheduler import config
from tests.unit.cli.running import Command
from tools import configuration_schema, generate

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
EXAMPLE = Path("tests/unit/config/examples/rescheduler.yaml")


@pytest.fixture
def schema(rescheduler: Command) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(rescheduler("config", "schema").out)
    jsonschema.Draft202012Validator.check_schema(found)
    return found


def test_what_is_shipped_is_what_the_code_says() -> None:
    assert generate.SCHEMA.read_text() == configuration_schema.schema()
    assert generate.STARTING_FILE.read_text() == configuration_schema.starting_file()


def test_show_tells_where_each_value_comes_from(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(HEAD + "imbalanceThreshold: 20\nmigration: {readyTimeout: 1m}\n")
    ended = rescheduler("config", "show", "--config", str(path), "-o", "json")
    told = json.loads(ended.out)
    assert told["imbalanceThreshold"] == {"value": 20.0, "source": "file"}
    assert told["migration.readyTimeout"] == {"value": "1m", "source": "file"}
    assert told["maxReschedulePods"] == {"value": 10, "source": "default"}
    lines = rescheduler("config", "show", "--config", str(path)).out.splitlines()
    assert lines[0].split() == ["SETTING", "SOURCE", "VALUE"]
    assert ["migration.readyTimeout", "file", "1m"] in [line.split() for line in lines]


def test_show_knows_all_four_sources(
    rescheduler: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(
        HEAD + "imbalanceThreshold: 20\nmaxReschedulePods: 4\nclientConnection: {kubeconfig: a}\n"
    )
    monkeypatch.setenv("RESCHEDULER_MAX_RESCHEDULE_PODS", "3")
    monkeypatch.setenv("RESCHEDULER_CLIENT_CONNECTION_KUBECONFIG", "b")
    show = ("config", "show", "--config", str(path), "-o", "json")
    told = json.loads(rescheduler(*show, "--kubeconfig", "c").out)
    assert told["clientConnection.kubeconfig"] == {"value": "c", "source": "flag"}
    assert told["maxReschedulePods"] == {"value": 3, "source": "environment"}
    assert told["imbalanceThreshold"] == {"value": 20.0, "source": "file"}
    assert told["cpuThreshold"]["source"] == "default"
    without_flag = json.loads(rescheduler(*show).out)
    assert without_flag["clientConnection.kubeconfig"] == {"value": "b", "source": "environment"}


def test_show_names_a_variable_that_is_wrong(
    rescheduler: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RESCHEDULER_MAX_RESCHEDULE_PODS", "many")
    ended = rescheduler("config", "show")
    assert (ended.code, ended.out) == (1, "")
    assert "RESCHEDULER_MAX_RESCHEDULE_PODS" in ended.err


def test_show_tells_of_every_setting(rescheduler: Command) -> None:
    told = json.loads(rescheduler("config", "show", "-o", "json").out)
    assert set(told) == {path for path, _ in config.single_settings(config.Configuration())}
    assert {each["source"] for each in told.values()} == {"default"}


@pytest.mark.parametrize("path", sorted(EXAMPLE.parent.glob("*.yaml")), ids=lambda path: path.name)
def test_show_knows_where_everything_comes_from(rescheduler: Command, path: Path) -> None:
    told = json.loads(rescheduler("config", "show", "--config", str(path), "-o", "json").out)
    assert {each["source"] for each in told.values()} == {"file", "default"}


def test_a_file_to_start_from_is_all_defaults_and_valid(
    rescheduler: Command, schema: dict[str, Any]
) -> None:
    text = rescheduler("config", "init").out
    assert config.parse(text) == config.Configuration()
    jsonschema.validate(yaml.safe_load(text), schema)
    # With every setting taken in, too.
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("# ")]
    # One without a default is left out by leaving it as it is.
    given = [line for line in lines if not (line.lstrip().startswith("#") and line.endswith(":"))]
    assert config.parse("\n".join(given).replace("#", "")) == config.Configuration()


def test_the_schema_takes_what_the_code_takes(schema: dict[str, Any]) -> None:
    jsonschema.validate(config.to_document(config.Configuration()), schema)
    jsonschema.validate(yaml.safe_load(EXAMPLE.read_text()), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"imbalanceTreshold": 3},
        {"cpuThreshold": 0},
        {"cpuThreshold": 101},
        {"maxReschedulePods": "many"},
        {"reschedulingInterval": "soon"},
        {"reschedulingInterval": 30},
        {"enabledStrategies": ["Nothing"]},
        {"pods": {"jobs": "Maybe"}},
        {"pods": 3},
        {"kind": "Other"},
    ],
)
def test_it_refuses_what_the_code_refuses(schema: dict[str, Any], wrong: dict[str, Any]) -> None:
    document = {**yaml.safe_load(HEAD), **wrong}
    with pytest.raises(config.ConfigurationError):
        config.parse(yaml.safe_dump(document))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema)


def test_validate_is_here_too(rescheduler: Command) -> None:
    old = rescheduler("validate", "--config", str(EXAMPLE))
    new = rescheduler("config", "validate", "--config", str(EXAMPLE))
    assert (old.code, new.code) == (0, 0)
    assert old.out == new.out
