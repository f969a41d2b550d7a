"""What the manifests say agrees with the code, and with themselves."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler import __version__, config
from rescheduler.cli.commands import cleanup
from rescheduler.config import Configuration
from rescheduler.config.migration import FALLBACKS, Migration, TemporaryBudget
from rescheduler.controller.shutdown import GRACE_SECONDS
from rescheduler.documents.settings import document_of
from rescheduler.model import names
from rescheduler.model.podmigration import Method, Phase, Step
from rescheduler.wire.resources import POD_MIGRATIONS

MANIFESTS = Path(__file__).parents[2] / "manifests"
INSTALLED = MANIFESTS / "rescheduler"
OVERLAYS = sorted((MANIFESTS / "overlays").iterdir())

Document = dict[str, Any]


def documents(path: Path) -> list[Document]:
    return list(yaml.safe_load_all(path.read_text()))


def kustomization(folder: Path) -> Document:
    [found] = documents(folder / "kustomization.yaml")
    return found


def installed() -> list[Document]:
    files = kustomization(INSTALLED)["resources"]
    return [document for file in files for document in documents(INSTALLED / file)]


def only(kind: str) -> Document:
    [found] = [each for each in installed() if each["kind"] == kind]
    return found


def schema(*path: str) -> Any:  # noqa: ANN401
    [version] = only("CustomResourceDefinition")["spec"]["versions"]
    found = version["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found


# ------------------------------------------------------------------ the folder


def test_every_file_is_installed() -> None:
    there = {path.name for path in INSTALLED.glob("*.yaml")} - {"kustomization.yaml"}
    assert there == set(kustomization(INSTALLED)["resources"])


@pytest.mark.parametrize("document", installed(), ids=lambda each: each["kind"])
def test_everything_carries_our_label(document: Document) -> None:
    assert document["metadata"]["labels"] == {"app": "rescheduler-scheduler"}


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda each: each.name)
def test_an_overlay_changes_what_is_there(folder: Path) -> None:
    overlay = kustomization(folder)
    assert [(folder / each).resolve() for each in overlay["resources"]] == [INSTALLED]
    patches = [yaml.safe_load(each["patch"]) for each in overlay["patches"]]
    known = [(each["apiVersion"], each["kind"], each["metadata"]["name"]) for each in installed()]
    assert patches
    for patch in patches:
        assert (patch["apiVersion"], patch["kind"], patch["metadata"]["name"]) in known


def test_the_resource_definition_is_that_of_the_package() -> None:
    """kustomize reads nothing outside of its folder, and the package ships no manifests."""
    ours = Path(__file__).parents[2] / "src/rescheduler/crd.yaml"
    told = "edit src/rescheduler/crd.yaml, then: make generate"
    assert (INSTALLED / "crd.yaml").read_bytes() == ours.read_bytes(), told


# ------------------------------------------------------------------ how it runs in the cluster


def pod() -> Document:
    return dict(only("Deployment")["spec"]["template"]["spec"])


def container() -> Document:
    [found] = pod()["containers"]
    return dict(found)


def test_it_is_where_cleanup_says_that_it_is() -> None:
    deployment = only("Deployment")["metadata"]
    assert (deployment["namespace"], deployment["name"]) == ("kube-system", "rescheduler-scheduler")
    assert f"-n {deployment['namespace']} scale deployment {deployment['name']}" in (
        Path(cleanup.__file__).read_text()
    )


def test_two_replicas_share_one_lease_and_are_selected_by_one_label() -> None:
    spec = only("Deployment")["spec"]
    assert spec["replicas"] == 2
    label = {"matchLabels": {"app": "rescheduler-scheduler"}}
    [spread] = pod()["topologySpreadConstraints"]
    selectors = (spec["selector"], spread["labelSelector"], only("PodDisruptionBudget")["spec"])
    assert [each.get("selector", each) for each in selectors] == [label] * 3
    assert spec["template"]["metadata"]["labels"] == label["matchLabels"]
    assert in_the_config_map().leader_election == Configuration().leader_election
    assert pod()["serviceAccountName"] == only("ServiceAccount")["metadata"]["name"]
    assert pod()["priorityClassName"] == only("PriorityClass")["metadata"]["name"]


def in_the_config_map() -> Configuration:
    [text] = only("ConfigMap")["data"].values()
    return config.parse(text)


def test_the_config_map_says_the_defaults() -> None:
    assert in_the_config_map() == Configuration()


def test_it_is_started_with_the_configuration_that_is_mounted() -> None:
    [name] = only("ConfigMap")["data"]
    [mount] = container()["volumeMounts"]
    [volume] = pod()["volumes"]
    assert f"--config={mount['mountPath']}/{name}" in container()["args"]
    assert "subPath" not in mount
    assert volume == {
        "name": mount["name"],
        "configMap": {"name": only("ConfigMap")["metadata"]["name"]},
    }


def test_it_can_write_to_no_file_and_become_nobody_else() -> None:
    """The restricted pod security, which a test on a real control plane holds it to, says nothing
    of files.
    """
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert all(each["readOnly"] for each in container()["volumeMounts"])


def test_probes_ask_where_it_listens() -> None:
    [port] = container()["ports"]
    assert port["containerPort"] == in_the_config_map().serving.port
    for probe in ("livenessProbe", "readinessProbe"):
        assert container()[probe]["httpGet"]["port"] == port["name"]


def test_an_orderly_end_fits_into_the_time_that_a_pod_has() -> None:
    assert pod()["terminationGracePeriodSeconds"] >= GRACE_SECONDS + 5


def test_the_image_is_of_this_version_and_of_no_registry() -> None:
    [image] = kustomization(INSTALLED)["images"]
    assert image["name"] == container()["image"]
    assert image["newTag"] == __version__
    assert "/" not in image["newName"]


@pytest.mark.parametrize("path", sorted((INSTALLED / "examples").glob("*.yaml")), ids=str)
def test_an_example_is_a_right_configuration(path: Path) -> None:
    assert config.load(path) != Configuration()


# ------------------------------------------------------------------ the rights


def rules() -> list[Document]:
    return [rule for each in installed() for rule in each.get("rules", ())]


def test_grants_nothing_by_wildcard() -> None:
    assert rules()
    for rule in rules():
        values = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        assert not [value for value in values if "*" in value], rule


def test_changes_nothing_of_users_but_pods_and_nodes() -> None:
    """Workloads, Services and the like are only looked at."""
    written = {
        (resource, verb)
        for rule in rules()
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if verb not in ("get", "list", "watch")
    }
    assert written <= {
        *(("pods", verb) for verb in ("create", "patch", "delete")),
        ("pods/eviction", "create"),
        ("pods/status", "patch"),
        ("nodes", "patch"),
        *(("poddisruptionbudgets", verb) for verb in ("create", "delete")),
        *(("podmigrations", verb) for verb in ("create", "patch", "delete")),
        ("podmigrations/status", "patch"),
        ("events", "create"),
        *(("leases", verb) for verb in ("create", "update")),
    }


def test_of_leases_only_our_own_can_be_changed() -> None:
    election = Configuration().leader_election
    assert only("Role")["metadata"]["namespace"] == election.resource_namespace
    of_leases = [rule for rule in rules() if rule["resources"] == ["leases"]]
    for rule in of_leases:
        # The API server cannot tell the name of what is being created.
        if rule["verbs"] != ["create"]:
            assert rule["resourceNames"] == [election.resource_name]
    assert [rule for rule in only("ClusterRole")["rules"] if "leases" in rule["resources"]] == []


@pytest.mark.parametrize("kind", ["ClusterRoleBinding", "RoleBinding"])
def test_a_binding_binds_what_is_there(kind: str) -> None:
    binding, account = only(kind), only("ServiceAccount")["metadata"]
    role = only(binding["roleRef"]["kind"])
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    assert binding["metadata"].get("namespace") == role["metadata"].get("namespace")
    [subject] = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["namespace"], account["name"])


# ------------------------------------------------------------------ the custom resource


def test_the_resource_is_the_one_that_is_observed() -> None:
    spec = only("CustomResourceDefinition")["spec"]
    [version] = spec["versions"]
    assert f"{spec['group']}/{version['name']}" == POD_MIGRATIONS.group_version
    assert spec["names"]["plural"] == POD_MIGRATIONS.plural


@pytest.mark.parametrize(
    ("path", "constants"),
    [
        (("status", "phase"), Phase),
        (("status", "step"), Step),
        (("status", "method"), Method),
        (("spec", "method"), Method),
        (("spec", "settings", "fallback"), FALLBACKS),
    ],
    ids=lambda each: ".".join(each) if isinstance(each, tuple) else "",
)
def test_a_field_may_say_what_the_code_says(path: tuple[str, ...], constants: Any) -> None:  # noqa: ANN401
    assert set(schema(*path)["enum"]) == set(constants)


def test_settings_have_the_names_of_the_configuration() -> None:
    budget = TemporaryBudget(min_available=1, max_unavailable=1)
    assert set(schema("spec", "settings", "temporaryBudget")["properties"]) == set(
        document_of(budget)
    )
    assert set(schema("spec", "settings")["properties"]) <= set(document_of(Migration()))


def test_every_text_has_a_limit_and_every_object_its_fields() -> None:
    """Without limits the API server cannot tell what its rules cost, and an object without fields
    loses whatever is written into it.
    """

    def check(place: str, found: Document) -> None:
        if found.get("type") == "object":
            assert found.get("properties"), place
        elif found.get("type") == "string":
            limits = {"maxLength", "enum", "format"} & set(found)
            assert limits, place
        for name, field in found.get("properties", {}).items():
            check(f"{place}.{name}", field)
        if "items" in found:
            check(f"{place}[]", found["items"])

    check("", schema())


# ------------------------------------------------------------------ the admission policy


def test_the_policy_goes_by_our_labels() -> None:
    policy, binding = only("MutatingAdmissionPolicy"), only("MutatingAdmissionPolicyBinding")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    selector = binding["spec"]["paramRef"]["selector"]
    assert selector == {"matchLabels": {names.STEERING: "true"}}
    conditions = {each["name"]: each["expression"] for each in policy["spec"]["matchConditions"]}
    assert f"'{names.MIGRATED_FROM}' in" in conditions["no-copy-of-ours"]
    kind = policy["spec"]["paramKind"]
    assert kind["apiVersion"] == POD_MIGRATIONS.group_version
    assert kind["kind"] == only("CustomResourceDefinition")["spec"]["names"]["kind"]


def test_the_policy_is_never_in_the_way() -> None:
    policy, binding = only("MutatingAdmissionPolicy"), only("MutatingAdmissionPolicyBinding")
    assert policy["spec"]["failurePolicy"] == "Ignore"
    assert binding["spec"]["paramRef"]["parameterNotFoundAction"] == "Allow"
