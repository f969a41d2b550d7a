"""What the manifests say agrees with the code, and with themselves."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler import __version__, config
from rescheduler.cli.commands import cleanup
from rescheduler.config import Configuration
from rescheduler.config.migration import FALLBACKS, Migration, TemporaryBudget
from rescheduler.config.stock_scheduler import Address, for_stock_scheduler
from rescheduler.controller.shutdown import GRACE_SECONDS
from rescheduler.documents.settings import document_of
from rescheduler.migrate.deciding import records
from rescheduler.model import names
from rescheduler.model.podmigration import Method, Phase, Step
from rescheduler.wire.resources import POD_MIGRATIONS

MANIFESTS = Path(__file__).parents[2] / "manifests"
INSTALLED = MANIFESTS / "rescheduler"
SECOND_SCHEDULER = INSTALLED / "scheduler.yaml"
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
    others = {"kustomization.yaml", SECOND_SCHEDULER.name}
    there = {path.name for path in INSTALLED.glob("*.yaml")} - others
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
    kept = set(records.KEPT_SETTINGS)
    assert set(schema("spec", "settings")["properties"]) == kept <= set(document_of(Migration()))


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


# ------------------------------------------------------------------ the admission policies


def policies(name: str) -> tuple[Document, Document]:
    """The policy of this name, and its binding."""
    kinds = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    policy, binding = (
        each
        for kind in kinds
        for each in installed()
        if each["kind"] == kind and each["metadata"]["name"] == name
    )
    assert binding["spec"]["policyName"] == name
    return policy, binding


def conditions_of(policy: Document) -> dict[str, str]:
    return {each["name"]: each["expression"] for each in policy["spec"]["matchConditions"]}


def test_steering_goes_by_our_labels() -> None:
    policy, binding = policies("rescheduler-steering")
    selector = binding["spec"]["paramRef"]["selector"]
    assert selector == {"matchLabels": {names.STEERING: "true"}}
    assert f"'{names.MIGRATED_FROM}' in" in conditions_of(policy)["no-copy-of-ours"]
    kind = policy["spec"]["paramKind"]
    assert kind["apiVersion"] == POD_MIGRATIONS.group_version
    assert kind["kind"] == only("CustomResourceDefinition")["spec"]["names"]["kind"]


def test_leaving_goes_by_our_label_and_our_reason() -> None:
    policy, _ = policies("rescheduler-leaving")
    selector = policy["spec"]["matchConstraints"]["objectSelector"]
    assert selector == {"matchLabels": {names.MIGRATION_STATUS: names.STATUS_IN_PROGRESS}}
    assert f"each.reason == '{names.LEAVING}'" in conditions_of(policy)["is-leaving"]


@pytest.mark.parametrize("name", ["rescheduler-steering", "rescheduler-leaving"])
def test_no_policy_is_ever_in_the_way(name: str) -> None:
    policy, binding = policies(name)
    assert policy["spec"]["failurePolicy"] == "Ignore"
    params = binding["spec"].get("paramRef", {"parameterNotFoundAction": "Allow"})
    assert params["parameterNotFoundAction"] == "Allow"


# ------------------------------------------------------------------ the second scheduler


def of_second_scheduler(kind: str) -> Document:
    [found] = [each for each in documents(SECOND_SCHEDULER) if each["kind"] == kind]
    return found


def test_one_file_configures_both_sides_of_the_second_scheduler() -> None:
    files = of_second_scheduler("ConfigMap")["data"]
    ours = config.parse(files["rescheduler.yaml"])
    assert ours.answered == ("filter", "score")
    assert ours.scheduler_names == ("rescheduler-scheduler",)
    at = Address(url=f"http://127.0.0.1:{ours.extender.port}")
    printed = for_stock_scheduler(yaml.safe_load(files["rescheduler.yaml"]), ours, at)
    assert yaml.safe_load(files["kube-scheduler.yaml"]) == printed
    [lease] = [
        rule["resourceNames"]
        for rule in of_second_scheduler("Role")["rules"]
        if "resourceNames" in rule
    ]
    assert lease == [printed["leaderElection"]["resourceName"]]


def test_both_are_restricted_and_read_the_same_folder() -> None:
    pod = of_second_scheduler("Deployment")["spec"]["template"]["spec"]
    scheduler, ours = pod["containers"]
    assert (
        f"--config={scheduler['volumeMounts'][0]['mountPath']}/kube-scheduler.yaml"
        in scheduler["args"]
    )
    assert f"--config={ours['volumeMounts'][0]['mountPath']}/rescheduler.yaml" in ours["args"]
    for each in (scheduler, ours):
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    assert pod["securityContext"]["runAsNonRoot"] is True


def test_the_second_scheduler_has_the_rights_of_both() -> None:
    roles = {
        each["roleRef"]["name"]
        for each in documents(SECOND_SCHEDULER)
        if each["kind"] in ("ClusterRoleBinding", "RoleBinding")
    }
    assert {"system:kube-scheduler", "system:volume-scheduler", "rescheduler-scheduler"} <= roles
