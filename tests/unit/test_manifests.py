"""What the manifests say agrees with the code, and with themselves."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler.config import Configuration
from rescheduler.config.migration import FALLBACKS, Migration, TemporaryBudget
from rescheduler.config.settings import document_of
from rescheduler.migrate.deciding.stages import Method, Phase, Stage
from rescheduler.model import names
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
        ("nodes", "patch"),
        *(("poddisruptionbudgets", verb) for verb in ("create", "delete")),
        *(("podmigrations", verb) for verb in ("create", "patch", "delete")),
        ("podmigrations/status", "patch"),
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
        (("status", "step"), Stage),
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
