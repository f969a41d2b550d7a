"""The Helm chart installs what kustomize installs for the same choices, and takes it off again."""

import asyncio
import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trustme
import yaml

from testbed.api import Object
from testbed.instance import Instance
from tests.cluster.helm import CHART, Helm, setting
from tests.cluster.kubectl import (
    BROUGHT,
    BUDGET,
    CRD,
    DEPLOYED,
    LOOKING,
    MOVING,
    PLAN_CRD,
    POLICY,
    WITHOUT_POLICY,
    Kubectl,
    composed,
    until,
    with_operator,
)

__all__ = ["with_operator"]

WITH_POLICY = "admissionPolicy.enabled=true"
WEBHOOK = "validatingwebhookconfiguration.admissionregistration.k8s.io/rescheduler-guard"
WRITTEN = base64.b64encode(trustme.CA().cert_pem.bytes()).decode()
"""As the replicas write it."""
BY_ITSELF = {"apiservice.apiregistration.k8s.io/v1alpha1.rescheduler.io"}


# ------------------------------------------------------------------ the same objects


def by_name(text: str) -> dict[tuple[str, str], Object]:
    return {
        (each["kind"], each["metadata"]["name"]): _read(each)
        for each in yaml.safe_load_all(text)
        if each
    }


def _read(document: Object) -> Object:
    """Of a ConfigMap, what its files say, not how they are written."""
    if document["kind"] != "ConfigMap":
        return document
    files = {name: yaml.safe_load(text) for name, text in document["data"].items()}
    return {**document, "data": files}


@pytest.mark.parametrize(
    ("values", "components"),
    [
        ([], ["read-only"]),
        (["mode=Auto", WITH_POLICY], []),
        (["mode=Approve", WITH_POLICY], ["approve"]),
        (["mode=Auto", WITH_POLICY, "networkPolicy.enabled=true"], ["network-policy"]),
        (["mode=Auto", WITH_POLICY, "monitoring.enabled=true"], ["monitoring"]),
        (["mode=Auto", WITH_POLICY, "guard.enabled=true"], ["guard"]),
        (["mode=Auto", WITH_POLICY, "extender.enabled=true"], ["extender"]),
        (["mode=Auto", WITH_POLICY, "dashboard.enabled=true"], ["dashboard"]),
        (["dashboard.enabled=true"], ["dashboard", "read-only"]),
        (
            [
                "mode=Auto",
                WITH_POLICY,
                "guard.enabled=true",
                "extender.enabled=true",
                "dashboard.enabled=true",
                "networkPolicy.enabled=true",
                "monitoring.enabled=true",
            ],
            ["guard", "extender", "dashboard", "network-policy", "monitoring"],
        ),
        (
            ["networkPolicy.enabled=true", "monitoring.enabled=true"],
            ["network-policy", "monitoring", "read-only"],
        ),
    ],
    ids=lambda each: ",".join(each) or "defaults",
)
async def test_the_same_choice_gives_the_same_objects(
    kubectl: Path, tmp_path: Path, values: list[str], components: list[str]
) -> None:
    ours = by_name(await Helm(tmp_path)("template", "rescheduler", CHART, *setting(*values)))
    folder = composed(tmp_path / "mine", *components)
    theirs = by_name(await asyncio.to_thread(_kustomized, kubectl, folder))
    assert ours == theirs


async def test_the_same_without_the_policies(kubectl: Path, tmp_path: Path) -> None:
    values = setting("mode=Auto", "admissionPolicy.enabled=false")
    ours = by_name(await Helm(tmp_path)("template", "rescheduler", CHART, *values))
    assert ours == by_name(await asyncio.to_thread(_kustomized, kubectl, str(WITHOUT_POLICY)))


def _kustomized(kubectl: Path, folder: str) -> str:
    command = [str(kubectl), "kustomize", folder]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


async def test_every_value_has_its_effect(tmp_path: Path) -> None:
    values: dict[str, Any] = {
        "mode": "Auto",
        "image": {
            "repository": "here/rescheduler",
            "tag": "7",
            "pullPolicy": "Always",
            "pullSecrets": ["login"],
        },
        "replicas": 3,
        "verbosity": 4,
        "config": {"cpuThreshold": 70, "serving": {"port": 9000}},
        "resources": {"limits": {"memory": "1Gi"}},
        "nodeSelector": {"pool": "infra"},
        "tolerations": [{"key": "infra", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "podAnnotations": {"team": "a"},
        "podLabels": {"team": "a"},
        "priorityClass": {"create": False, "name": "ours"},
        "crds": {"keep": True},
        "monitoring": {"enabled": True, "labels": {"release": "prometheus"}},
    }
    file = tmp_path / "values.yaml"
    file.write_text(yaml.safe_dump(values))
    found = by_name(await Helm(tmp_path)("template", "rescheduler", CHART, "-f", str(file)))
    spec = found["Deployment", "rescheduler-scheduler"]["spec"]
    pod, metadata = spec["template"]["spec"], spec["template"]["metadata"]
    [container] = pod["containers"]
    assert spec["replicas"] == 3
    assert (container["image"], container["imagePullPolicy"]) == ("here/rescheduler:7", "Always")
    assert "--v=4" in container["args"]
    assert container["ports"] == [{"name": "http", "containerPort": 9000}]
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    assert pod["imagePullSecrets"] == [{"name": "login"}]
    assert pod["nodeSelector"] == {"kubernetes.io/os": "linux", "pool": "infra"}
    assert (pod["tolerations"], pod["affinity"]) == (values["tolerations"], values["affinity"])
    assert metadata["annotations"] == {"team": "a"}
    assert metadata["labels"] == {"app": "rescheduler-scheduler", "team": "a"}
    assert pod["priorityClassName"] == "ours"
    assert "PriorityClass" not in {kind for kind, _ in found}
    written = found["ConfigMap", "rescheduler-config"]["data"]["config.yaml"]
    assert (written["cpuThreshold"], written["memoryThreshold"]) == (70, 80)
    kept = found["CustomResourceDefinition", "podmigrations.rescheduler.io"]["metadata"]
    assert kept["annotations"]["helm.sh/resource-policy"] == "keep"
    for kind in ("ServiceMonitor", "PrometheusRule"):
        labels = found[kind, "rescheduler-scheduler"]["metadata"]["labels"]
        assert labels == {"app": "rescheduler-scheduler", "release": "prometheus"}


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("mode=Ask", "'/mode': value must be one of 'DryRun', 'Approve', 'Auto'"),
        ("config.mode=Auto", "'/config': additional properties 'mode' not allowed"),
        ("config.cpuTreshold=70", "'/config': additional properties 'cpuTreshold' not allowed"),
        ("config.cpuThreshold=170", "'/config/cpuThreshold': maximum: got 170, want 100"),
        ("replicas=0", "'/replicas': minimum: got 0, want 1"),
        ("extenders.enabled=true", "additional properties 'extenders' not allowed"),
    ],
)
async def test_refused_with_the_name_of_the_value(tmp_path: Path, value: str, words: str) -> None:
    done = await Helm(tmp_path).run("template", "rescheduler", CHART, *setting(value))
    assert done.returncode == 1
    assert words in done.stderr


@pytest.mark.parametrize("name", ["resourceName", "resourceNamespace"])
async def test_a_lease_that_its_role_does_not_grant_is_refused(tmp_path: Path, name: str) -> None:
    """At once, not by replicas that never lead."""
    values = setting("mode=Auto", f"config.leaderElection.{name}=other")
    done = await Helm(tmp_path).run("template", "rescheduler", CHART, *values)
    assert done.returncode == 1
    assert f"config.leaderElection.{name}: the role of this chart grants" in done.stderr


async def test_who_only_looks_guards_nobody(tmp_path: Path) -> None:
    values = setting("guard.enabled=true")
    done = await Helm(tmp_path).run("template", "rescheduler", CHART, *values)
    assert done.returncode == 1
    assert "guard.enabled needs mode: Auto" in done.stderr


async def test_a_guard_that_is_elsewhere_is_asked_by_its_url_alone(tmp_path: Path) -> None:
    url = "https://guard.example.com/guard"
    values = setting("mode=Auto", "guard.enabled=true", f"config.guard.url={url}")
    found = by_name(await Helm(tmp_path)("template", "rescheduler", CHART, *values))
    [only] = found["ValidatingWebhookConfiguration", "rescheduler-guard"]["webhooks"]
    assert only["clientConfig"] == {"url": url}


async def test_a_package_of_it_is_the_same(tmp_path: Path) -> None:
    """As a release has it."""
    helm = Helm(tmp_path)
    said = await helm("package", CHART, "-d", str(tmp_path))
    package = said.strip().rpartition(" ")[2]
    assert package.startswith(f"{tmp_path}/kube-rescheduler-")
    printed = await helm("template", "rescheduler", package)
    assert by_name(printed) == by_name(await helm("template", "rescheduler", CHART))


async def test_it_belongs_into_one_namespace(tmp_path: Path) -> None:
    done = await Helm(tmp_path).run("template", "rescheduler", CHART, "--namespace", "default")
    assert done.returncode == 1
    assert "kube-rescheduler belongs into kube-system: add --namespace kube-system" in done.stderr


# ------------------------------------------------------------------ on a real API server


async def test_installed_upgraded_and_uninstalled(
    with_operator: Instance, kubectl: Path, tmp_path: Path
) -> None:
    """First it only looks; NOTES say how to let it move pods, and that is done."""
    helm, kube = Helm(tmp_path, with_operator), Kubectl(kubectl, with_operator, tmp_path)
    before = await kube.inventory()

    said = await helm("install", "rescheduler", CHART)
    release = {"secret/sh.helm.release.v1.rescheduler.v1"}
    await until(kube, before | LOOKING | DEPLOYED | BY_ITSELF | release)
    assert "has no right to move anything" in said

    [line] = [each.strip() for each in said.splitlines() if each.endswith("mode=Auto")]
    command = line.replace("CHART", CHART).split()
    assert command[:2] == ["helm", "upgrade"]
    said = await helm(*command[1:])
    assert "kube-rescheduler moves pods, by LoadBalancing, ResourceOptimization." in said
    assert "are not steered" not in said  # it asked the server, which has the policies
    release.add("secret/sh.helm.release.v1.rescheduler.v2")
    acting = LOOKING | DEPLOYED | MOVING | POLICY | {BUDGET}
    await until(kube, before | acting | BY_ITSELF | release)

    await helm(*command[1:-2], *setting("monitoring.enabled=true", "crds.keep=true"))
    await helm("uninstall", "rescheduler")
    await until(kube, before | {CRD, PLAN_CRD} | BY_ITSELF)
    await kube("delete", CRD, PLAN_CRD)
    await until(kube, before)


async def test_a_guard_and_an_extender_are_upgraded_with_what_they_have_written(
    with_operator: Instance, kubectl: Path, tmp_path: Path
) -> None:
    """Certificates, and whom the API server is to trust, stay through an upgrade."""
    helm, kube = Helm(tmp_path, with_operator), Kubectl(kubectl, with_operator, tmp_path)
    before = await kube.inventory()
    guarding = setting("mode=Auto", "guard.enabled=true", "extender.enabled=true")
    everything = setting(
        "networkPolicy.enabled=true", "monitoring.enabled=true", "dashboard.enabled=true"
    )
    await helm("install", "rescheduler", CHART, *guarding)
    release = "secret/sh.helm.release.v1.rescheduler.v"
    acting = LOOKING | DEPLOYED | MOVING | POLICY | {BUDGET} | BY_ITSELF
    own = BROUGHT["guard"] | BROUGHT["extender"]
    await until(kube, before | acting | own | {f"{release}1"})
    for secret in ("guard", "extender"):
        written = json.dumps({"data": {"ca.crt": WRITTEN}})
        await kube("patch", "-n", "kube-system", f"secret/rescheduler-{secret}-tls", "-p", written)
    trusted = [{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": WRITTEN}]
    await kube("patch", WEBHOOK, "--type=json", "-p", json.dumps(trusted))

    await helm("upgrade", "rescheduler", CHART, *guarding, *everything)
    all_of_them = acting.union(*BROUGHT.values(), {f"{release}1", f"{release}2"})
    await until(kube, before | all_of_them)
    for secret in ("guard", "extender"):
        at = ("-n", "kube-system", f"secret/rescheduler-{secret}-tls")
        assert await kube("get", *at, "-o", r"jsonpath={.data.ca\.crt}") == WRITTEN
    bundle = "jsonpath={.webhooks[0].clientConfig.caBundle}"
    assert await kube("get", WEBHOOK, "-o", bundle) == WRITTEN

    await helm("uninstall", "rescheduler")
    await until(kube, before)


async def test_what_helm_prints_can_be_applied(
    with_operator: Instance, kubectl: Path, tmp_path: Path
) -> None:
    kube = Kubectl(kubectl, with_operator, tmp_path)
    before = await kube.inventory()
    file = tmp_path / "printed.yaml"
    looking, acting = setting("mode=DryRun"), setting("mode=Auto", WITH_POLICY)
    file.write_text(await Helm(tmp_path)("template", "rescheduler", CHART, *looking))
    await kube("apply", "-f", str(file))
    await until(kube, before | LOOKING | DEPLOYED | BY_ITSELF)
    file.write_text(await Helm(tmp_path)("template", "rescheduler", CHART, *acting))
    await kube("apply", "-f", str(file))
    await until(kube, before | LOOKING | DEPLOYED | MOVING | POLICY | {BUDGET} | BY_ITSELF)
    await kube("delete", "-f", str(file))
    await until(kube, before)
