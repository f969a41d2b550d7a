"""A changed file is taken up whole, or refused whole: then the last good one stays."""

import random
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest
from structlog.testing import capture_logs

from rescheduler import config
from rescheduler.clock import Clock
from rescheduler.controller.reloading import Reloading
from rescheduler.controller.settings import Settings
from rescheduler.documents.reading import load_text
from tests.unit.config import samples
from tests.unit.config.test_mutations import mutated, refusal_of

HEAD = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"
SMALL = {
    **samples.OWN_TYPE,
    "cpuThreshold": 70,
    "enabledStrategies": ["NodeMaintenance"],
    "scope": {"namespaces": ["team-a"], "nodeSelector": "pool=general"},
    "migration": {"readyTimeout": "1m"},
}
NOW = datetime(2026, 11, 18, tzinfo=UTC)


class StandingClock:
    def __init__(self) -> None:
        self.time = NOW

    def now(self) -> datetime:
        return self.time


class Scene:
    """A file, whoever follows it, and what was heard of it."""

    def __init__(self, path: Path, text: str = HEAD) -> None:
        self.path = path
        self.clock = StandingClock()
        path.write_text(text)
        self.settings = Settings(config.load(path))
        self._reloading = Reloading(
            self.settings, cast("Clock", self.clock), lambda: load_text(path), text
        )
        self.told = 0

    def look(self, times: int = 1) -> None:
        for _ in range(times):
            self._reloading.look(self.load)

    def load(self, text: str) -> config.Loaded:
        if "defect" in text:
            raise RuntimeError("a defect of ours")
        return config.combine(text, "a.yaml")

    def write(self, text: str) -> None:
        self.path.write_text(text)
        self.look(2)

    def hear(self) -> None:
        self.told += 1


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return Scene(tmp_path / "config.yaml")


def test_a_change_is_taken_up_and_told_once(scene: Scene) -> None:
    with scene.settings.heard_by(scene.hear):
        scene.write(HEAD + "cpuThreshold: 50")
        scene.look(5)
    assert scene.settings.configuration.cpu_threshold_percent == 50
    assert scene.settings.sources["cpuThreshold"] == "file"
    assert (scene.settings.changes, scene.told) == (1, 1)


def test_half_of_a_file_is_waited_for(scene: Scene) -> None:
    """What an editor has written so far may be a right configuration, but another one."""
    whole = HEAD + "cpuThreshold: 50\nexcludedNamespaces: [shop]\n"
    for end in (len(HEAD), len(HEAD) + 17, len(whole)):
        scene.path.write_text(whole[:end])
        scene.look()
    assert scene.settings.changes == 0
    scene.look()
    assert scene.settings.changes == 1
    assert scene.settings.configuration.excluded_namespaces == ("shop",)


def test_a_wrong_one_is_refused_until_it_is_mended(scene: Scene) -> None:
    scene.write(HEAD + "cpuThreshold: 50")
    scene.write(HEAD + "cpuThreshold: 60\nmemoryThreshold: 101")
    refused = scene.settings.refused
    assert refused is not None
    assert refused.since == NOW
    assert refused.message.startswith("a.yaml: memoryThreshold: must be more than 0")
    assert scene.settings.configuration.cpu_threshold_percent == 50
    scene.clock.time = NOW.replace(hour=1)
    scene.write(HEAD + "cpuThreshold: 0")
    assert scene.settings.refused is not None
    assert scene.settings.refused.since == NOW  # since when the file is not what is in force
    scene.write(HEAD + "cpuThreshold: 50")
    assert scene.settings.refused is None
    assert scene.settings.changes == 1


@pytest.mark.parametrize("lose", [Path.unlink, lambda path: path.write_bytes(b"\xff\xfe")])
def test_a_file_that_cannot_be_read_is_a_wrong_one(
    scene: Scene, lose: Callable[[Path], object]
) -> None:
    lose(scene.path)
    scene.look(3)
    assert scene.settings.refused is not None
    assert scene.settings.refusals == 1
    assert scene.settings.configuration == config.Configuration()


def test_a_text_on_which_we_fail_is_refused_and_the_next_one_is_looked_at(scene: Scene) -> None:
    with capture_logs() as logs:
        scene.write(HEAD + "# defect\n")
        scene.look(5)
    assert [line["event"] for line in logs if line.get("exc_info")] == [
        "configuration cannot be read: internal error, please report"
    ]
    assert scene.settings.refused is not None
    assert (
        scene.settings.refused.message
        == "configuration: cannot be read: internal error, see the log"
    )
    scene.write(HEAD + "cpuThreshold: 50")
    assert scene.settings.refused is None
    assert scene.settings.configuration.cpu_threshold_percent == 50


def test_what_needs_a_restart_is_named_and_stays(scene: Scene) -> None:
    scene.write(
        HEAD + "cpuThreshold: 50\nleaderElection: {resourceName: other}\n"
        "clientConnection: {kubeconfig: /elsewhere}"
    )
    found = scene.settings
    assert found.configuration == config.Configuration(cpu_threshold_percent=50.0)
    assert found.needs_restart == ("leaderElection.resourceName", "clientConnection.kubeconfig")
    scene.write(HEAD + "cpuThreshold: 50")
    assert not found.needs_restart


def test_a_config_map_that_is_swapped(tmp_path: Path) -> None:
    """As a kubelet does it: the file is a link to a link, of which the latter is replaced."""
    for version, text in (("..1", HEAD), ("..2", HEAD + "cpuThreshold: 50")):
        (tmp_path / version).mkdir()
        (tmp_path / version / "config.yaml").write_text(text)
    (tmp_path / "..data").symlink_to("..1")
    path = tmp_path / "config.yaml"
    path.symlink_to("..data/config.yaml")
    settings = Settings(config.load(path))
    clock = cast("Clock", StandingClock())
    reloading = Reloading(settings, clock, lambda: load_text(path), HEAD)
    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").rename(tmp_path / "..data")
    for _ in range(2):
        reloading.look(config.combine)
    assert settings.configuration.cpu_threshold_percent == 50


def test_a_thousand_broken_ones_change_nothing(scene: Scene) -> None:
    good = HEAD + "cpuThreshold: 55\n"
    scene.write(good)
    in_force = scene.settings.configuration
    luck, broken = random.Random(1000), 0  # noqa: S311 - to be repeated
    while broken < 1000:
        text = mutated(luck, SMALL)
        if refusal_of(text) is not None:
            scene.write(text)
            broken += 1
            assert scene.settings.configuration is in_force
            assert scene.settings.refused is not None
    assert scene.settings.refusals == 1000
    scene.write(good)
    assert scene.settings.refused is None
    assert scene.settings.configuration == in_force
