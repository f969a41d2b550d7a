"""`rescheduler config scheduler`: for a stock kube-scheduler, from the file that configures us."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.cli.running import Command

EXAMPLE = Path("tests/unit/config/examples/kube-scheduler.yaml")
OWN = "apiVersion: rescheduler.io/v1alpha1\nkind: ReschedulerConfiguration\n"


def printed(rescheduler: Command, *arguments: str) -> dict[str, Any]:
    ended = rescheduler("config", "scheduler", *arguments)
    assert ended.code == 0, ended
    found: dict[str, Any] = yaml.safe_load(ended.out)
    return found


def test_names_of_ours_go_and_settings_stay(rescheduler: Command) -> None:
    found = printed(rescheduler, "-f", str(EXAMPLE))
    given = yaml.safe_load(EXAMPLE.read_text())
    assert found["profiles"][0].pop("plugins", None) is None
    del given["profiles"][0]["plugins"]
    [extender] = found.pop("extenders")
    assert found == given
    assert extender == {
        "urlPrefix": "http://127.0.0.1:8082",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 13,
        "bindVerb": "bind",
        "ignorable": True,
        "nodeCacheCapable": True,
        "httpTimeout": "5s",
    }


def test_other_plugins_and_extenders_stay(rescheduler: Command, tmp_path: Path) -> None:
    document = yaml.safe_load(EXAMPLE.read_text())
    other = {"urlPrefix": "http://127.0.0.1:9", "filterVerb": "f"}
    document["profiles"][0]["plugins"] = {
        "score": {"enabled": [{"name": "Rescheduler"}, {"name": "NodeResourcesFit", "weight": 2}]},
        "filter": {"disabled": [{"name": "NodePorts"}]},
    }
    document["extenders"] = [other]
    path = tmp_path / "scheduler.yaml"
    path.write_text(yaml.safe_dump(document))
    found = printed(rescheduler, "-f", str(path))
    assert found["profiles"][0]["plugins"] == {
        "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 2}]},
        "filter": {"disabled": [{"name": "NodePorts"}]},
    }
    first, ours = found["extenders"]
    assert first == other
    assert "filterVerb" not in ours
    assert ours["httpTimeout"] == "1s"
    # What it prints, given again, has us in it once.
    again = tmp_path / "again.yaml"
    document["extenders"] = found["extenders"]
    again.write_text(yaml.safe_dump(document))
    assert printed(rescheduler, "-f", str(again))["extenders"] == [other, ours]


def test_of_our_own_kind_of_file_with_tls(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN + "extender: {verbs: [score], port: 9000}\n")
    url, files = "https://rescheduler.kube-system:9000/", ("--ca-file", "/ca", "--cert-file", "/c")
    found = printed(rescheduler, "-f", str(path), "--url", url, *files, "--key-file", "/k")
    assert found["profiles"] == [{"schedulerName": "default-scheduler"}]
    [ours] = found["extenders"]
    assert ours["urlPrefix"] == url.rstrip("/")
    assert ours["enableHTTPS"] is True
    assert ours["tlsConfig"] == {"caFile": "/ca", "certFile": "/c", "keyFile": "/k"}


def test_of_a_certificate_of_our_own_with_flags_alone(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN + "extender: {verbs: [score], bindAddress: '', tls: {secret: own}}\n")
    flags = ("--url", "https://10.0.0.7", "--ca-file", "/ca")
    [ours] = printed(rescheduler, "-f", str(path), *flags)["extenders"]
    name = "rescheduler-extender.kube-system.svc"
    assert ours["tlsConfig"] == {"serverName": name, "caFile": "/ca"}
    [ours] = printed(rescheduler, "-f", str(path), *flags, "--server-name", "we")["extenders"]
    assert ours["tlsConfig"] == {"serverName": "we", "caFile": "/ca"}


def test_files_of_others_need_to_be_said_whom_to_trust(
    rescheduler: Command, tmp_path: Path
) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN + "extender: {verbs: [score], tls: {certFile: /c, keyFile: /k}}\n")
    ended = rescheduler("config", "scheduler", "-f", str(path))
    assert ended.code == 2
    assert "--ca-file: is needed" in ended.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--url", "ftp://x"), "--url: must begin with http:// or https://"),
        (("--url", "https://x"), "--ca-file: is needed"),
        (("--cert-file", "c"), "--key-file: is needed, as --cert-file is given"),
        (("--key-file", "c"), "--cert-file: is needed, as --key-file is given"),
    ],
)
def test_wrong_flags(rescheduler: Command, flags: tuple[str, ...], words: str) -> None:
    ended = rescheduler("config", "scheduler", "-f", str(EXAMPLE), *flags)
    assert ended.code == 2
    assert words in ended.err


def test_a_file_that_switches_nothing_on(rescheduler: Command, tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(OWN)
    ended = rescheduler("config", "scheduler", "-f", str(path))
    assert ended.code == 1
    assert "list them in extender.verbs" in ended.err
    assert ended.out == ""
