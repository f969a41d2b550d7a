"""`rescheduler install --print` prints what the manifests of the repository install."""

from typing import Any

import pytest
import yaml

from rescheduler import __version__
from rescheduler.cli.commands.install import to_look, to_move
from testbed.installing import MANIFESTS, files_of
from tests.unit.cli.running import Command

Document = dict[str, Any]
WRITERS = {"create", "update", "patch", "delete"}


def of_repository() -> list[Document]:
    found = [each for file in files_of(MANIFESTS) for each in yaml.safe_load_all(file.read_text())]
    [image] = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text())["images"]
    for each in found:
        if each["kind"] == "Deployment":
            [container] = each["spec"]["template"]["spec"]["containers"]
            container["image"] = f"{image['newName']}:{image['newTag']}"
    return found


def by_name(documents: list[Document]) -> dict[tuple[str, str], Document]:
    return {(each["kind"], each["metadata"]["name"]): each for each in documents}


def test_to_move_pods_it_is_what_is_in_the_repository(rescheduler: Command) -> None:
    printed = rescheduler("install", "--print", "--mode", "Auto")
    assert (printed.code, printed.err) == (0, "")
    assert by_name(list(yaml.safe_load_all(printed.out))) == by_name(of_repository())


def test_by_default_it_only_looks(rescheduler: Command) -> None:
    printed = list(yaml.safe_load_all(rescheduler("install", "--print").out))
    assert by_name(printed) == by_name(to_look(f"kube-rescheduler:{__version__}"))
    rules = [rule for each in printed for rule in each.get("rules", ())]
    written = {name for each in rules if set(each["verbs"]) & WRITERS for name in each["resources"]}
    assert written == {"rescheduleplans", "rescheduleplans/status"}
    deployment = by_name(printed)["Deployment", "rescheduler-scheduler"]["spec"]
    assert deployment["replicas"] == 1
    mode = {"name": "RESCHEDULER_MODE", "value": "DryRun"}
    assert deployment["template"]["spec"]["containers"][0]["env"][0] == mode


def test_what_is_approved_moves_with_the_same_rights(rescheduler: Command) -> None:
    printed = list(yaml.safe_load_all(rescheduler("install", "--print", "--mode", "Approve").out))
    expected = by_name(of_repository())
    container = expected["Deployment", "rescheduler-scheduler"]["spec"]["template"]["spec"]
    [found] = container["containers"]
    found["env"] = [{"name": "RESCHEDULER_MODE", "value": "Approve"}, *found["env"]]
    assert by_name(printed) == expected


def test_image_and_policies_can_be_chosen(rescheduler: Command) -> None:
    flags = ("--mode", "Auto", "--image", "here/rescheduler:7", "--no-admission-policy")
    printed = list(yaml.safe_load_all(rescheduler("install", "--print", *flags).out))
    kept = {key for key in by_name(to_move("any")) if not key[0].startswith("Mutating")}
    assert by_name(printed).keys() == kept
    [container] = by_name(printed)["Deployment", "rescheduler-scheduler"]["spec"]["template"][
        "spec"
    ]["containers"]
    assert container["image"] == "here/rescheduler:7"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        ((), "--print: is missing: rescheduler install --print | kubectl apply -f -"),
        (("--print", "--image", ""), "--image: is empty: name an image"),
    ],
)
def test_wrong_usage_is_told(rescheduler: Command, flags: tuple[str, ...], words: str) -> None:
    ended = rescheduler("install", *flags)
    assert ended.code == 2
    assert words in ended.err
