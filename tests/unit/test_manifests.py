"""What the manifests say agrees with the code, and with themselves."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from rescheduler import __version__, config
from rescheduler.cli.commands import cleanup
from rescheduler.config import Configuration, LeaderElection, dashboard, guard
from rescheduler.config.migration import FALLBACKS, Migration, TemporaryBudget
from rescheduler.config.scheduling import SERVICE
from rescheduler.config.stock_scheduler import Address, for_stock_scheduler
from rescheduler.controller.shutdown import GRACE_SECONDS
from rescheduler.documents.settings import document_of
from rescheduler.migrate.deciding import records
from rescheduler.model import names, reschedule_plan
from rescheduler.model.moves import Way as MoveWay
from rescheduler.model.podmigration import Phase, Step, Way
from rescheduler.serve.guard import PATH
from rescheduler.wire.resources import POD_MIGRATIONS, RESCHEDULE_PLANS, Resource
from testbed.installing import files_of
from tools import chart, generate
from tools import manifests as made

MANIFESTS = Path(__file__).parents[2] / "manifests"
INSTALLED = MANIFESTS / "rescheduler"
SECOND_SCHEDULER = INSTALLED / "scheduler.yaml"
OVERLAYS = sorted((MANIFESTS / "overlays").iterdir())
COMPONENTS = sorted((MANIFESTS / "components").iterdir())

Document = dict[str, Any]


def documents(path: Path) -> list[Document]:
    return list(yaml.safe_load_all(path.read_text()))


def kustomization(folder: Path) -> Document:
    [found] = documents(folder / "kustomization.yaml")
    return found


def installed() -> list[Document]:
    return [document for file in files_of(INSTALLED) for document in documents(file)]


def only(kind: str, name: str = "") -> Document:
    [found] = [
        each
        for each in installed()
        if each["kind"] == kind and (not name or each["metadata"]["name"] == name)
    ]
    return found


def of_component(name: str) -> list[Document]:
    files = files_of(MANIFESTS / "components" / name)
    return [document for file in files for document in documents(file)]


MIGRATIONS = "podmigrations.rescheduler.io"
PLANS = "rescheduleplans.rescheduler.io"


def schema(*path: str, of: str = MIGRATIONS) -> Any:  # noqa: ANN401
    [version] = only("CustomResourceDefinition", of)["spec"]["versions"]
    found = version["schema"]["openAPIV3Schema"]
    for name in path:
        found = found["properties"][name]
    return found


# ------------------------------------------------------------------ the folder


def test_every_file_is_installed() -> None:
    others = {"kustomization.yaml", SECOND_SCHEDULER.name}
    there = {path.name for path in INSTALLED.glob("*.yaml")} - others
    assert there == set(kustomization(INSTALLED)["resources"])
    assert kustomization(INSTALLED)["components"] == ["../components/admission-policy"]


@pytest.mark.parametrize("document", installed(), ids=lambda each: each["kind"])
def test_everything_carries_our_label(document: Document) -> None:
    assert document["metadata"]["labels"] == {"app": "rescheduler-scheduler"}


@pytest.mark.parametrize("folder", OVERLAYS, ids=lambda each: each.name)
def test_an_overlay_is_what_is_installed_and_components(folder: Path) -> None:
    overlay = kustomization(folder)
    assert [(folder / each).resolve() for each in overlay["resources"]] == [INSTALLED]
    parts = [(folder / each).resolve() for each in overlay.get("components", ())]
    assert set(parts) <= set(COMPONENTS)
    assert parts or overlay["patches"]


@pytest.mark.parametrize("folder", [*OVERLAYS, *COMPONENTS], ids=lambda each: each.name)
def test_a_patch_is_of_what_is_there(folder: Path) -> None:
    """One that meets nothing would be silent."""
    known = [(each["kind"], each["metadata"]["name"]) for each in installed()]
    for patch in kustomization(folder).get("patches", ()):
        target = patch.get("target") or _named(yaml.safe_load(patch["patch"]))
        met = [
            name
            for kind, name in known
            if kind == target["kind"] and target.get("name", name) == name
        ]
        assert met, target


def _named(patch: Document) -> Document:
    """Whom a patch is for that says it itself."""
    return {"kind": patch["kind"], "name": patch["metadata"]["name"]}


@pytest.mark.parametrize("folder", COMPONENTS, ids=lambda each: each.name)
def test_a_component_brings_all_its_files_and_grants_nothing_by_wildcard(folder: Path) -> None:
    found = kustomization(folder)
    assert found["kind"] == "Component"
    others = [path for path in folder.glob("*.yaml") if path.name != "kustomization.yaml"]
    applied = {path.name for path in others if not path.read_text().startswith("# Not applied")}
    assert applied == set(found.get("resources", ()))
    rules = [rule for each in of_component(folder.name) for rule in each.get("rules", ())]
    for rule in rules:
        values = [*rule["apiGroups"], *rule["resources"], *rule["verbs"]]
        assert not [value for value in values if "*" in value], rule


def test_the_resource_definition_is_that_of_the_package() -> None:
    """kustomize reads nothing outside of its folder, and the package ships no manifests."""
    for name in ("crd.yaml", "plan-crd.yaml"):
        ours = Path(__file__).parents[2] / "src/rescheduler" / name
        told = f"edit src/rescheduler/{name}, then: make generate"
        assert (INSTALLED / name).read_bytes() == ours.read_bytes(), told


# ------------------------------------------------------------------ how it runs in the cluster


def pod() -> Document:
    return dict(only("Deployment")["spec"]["template"]["spec"])


def container() -> Document:
    [found] = pod()["containers"]
    return dict(found)


def test_what_is_made_from_other_files_is_up_to_date() -> None:
    assert generate.ALERT_RULES.read_text() == made.alert_rules(), "run make generate"
    assert generate.EXAMPLES.read_text() == made.configuration_examples(), "run make generate"
    for path, text in (chart.files() | made.packaged()).items():
        assert path.read_text() == text, "run make generate"


def test_the_chart_is_of_this_version() -> None:
    [found] = documents(chart.CHART / "Chart.yaml")
    assert found["appVersion"] == __version__
    assert found["version"].startswith(".".join(__version__.split(".")[:3]))


def test_the_values_of_the_chart_are_those_of_the_manifests() -> None:
    [values] = documents(chart.CHART / "values.yaml")
    assert values["mode"] == "DryRun"
    types = {"apiVersion", "kind"}
    [text] = only("ConfigMap")["data"].values()
    assert values["config"] == {
        key: value for key, value in yaml.safe_load(text).items() if key not in types
    }


# ------------------------------------------------------------------ the components


def test_who_only_looks_is_left_no_right_to_write_but_plans() -> None:
    """What its component takes away is all that could write anything else; the API server is asked
    by a test on a real control plane.
    """
    gone = {
        (each["target"]["kind"], each["target"].get("name"))
        for each in kustomization(MANIFESTS / "components/read-only")["patches"]
        if "$patch: delete" in each["patch"]
    }
    writers = {
        (each["kind"], each["metadata"]["name"])
        for each in installed()
        for rule in each.get("rules", ())
        if not set(rule["verbs"]) <= {"list", "watch"}
        if {name.split("/")[0] for name in rule["resources"]} != {"rescheduleplans"}
    }
    assert writers == {
        ("ClusterRole", "rescheduler-scheduler-moving"),
        ("Role", "rescheduler-scheduler"),
    }
    assert writers <= gone
    assert {(f"{kind}Binding", name) for kind, name in writers} <= gone


def test_the_network_lets_in_who_asks_and_out_to_the_api_server() -> None:
    [policy] = of_component("network-policy")
    assert policy["spec"]["podSelector"] == only("Deployment")["spec"]["selector"]
    ways_in = [port["port"] for each in policy["spec"]["ingress"] for port in each["ports"]]
    ports = {each["name"] for each in container()["ports"]}
    # And those that other components open; a port that nobody has lets nobody in.
    assert set(ways_in) >= ports
    ways_out = [port["port"] for each in policy["spec"]["egress"] for port in each["ports"]]
    assert {443, 6443, 53} <= set(ways_out)


def test_what_is_scraped_is_where_it_listens() -> None:
    service, monitor, rules = of_component("monitoring")
    assert service["spec"]["selector"] == only("Deployment")["spec"]["selector"]["matchLabels"]
    [port] = service["spec"]["ports"]
    assert port["targetPort"] in [each["name"] for each in container()["ports"]]
    assert port["port"] == in_the_config_map().serving.port
    assert monitor["spec"]["selector"]["matchLabels"] == service["metadata"]["labels"]
    [endpoint] = monitor["spec"]["endpoints"]
    assert endpoint["port"] == port["name"]
    alerts = yaml.safe_load((MANIFESTS / "monitoring/alerts.yaml").read_text())
    assert rules["spec"] == alerts


# ------------------------------------------------------------------ how it runs in the cluster


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


# ------------------------------------------------------------------ the examples

EXAMPLES = INSTALLED / "examples"


@pytest.mark.parametrize("path", made.configurations(), ids=lambda each: each.stem)
def test_an_example_is_a_right_configuration(path: Path) -> None:
    assert (config.load(path) != Configuration()) == (path.stem != "balancing")


def test_every_example_is_among_them() -> None:
    others = {"quick-test.yaml", "kind-config.yaml", "configuration-examples.yaml"}
    assert {path.name for path in EXAMPLES.glob("*.yaml")} - others == {
        path.name for path in made.configurations()
    }
    for each in documents(EXAMPLES / "configuration-examples.yaml"):
        name = each["metadata"]["name"].removeprefix("rescheduler-example-")
        assert config.parse(each["data"]["config.yaml"]) == config.load(EXAMPLES / f"{name}.yaml")


def test_the_cluster_of_kind_has_nodes_to_move_between() -> None:
    """kind itself needs an image engine, which is not to be had here."""
    [cluster] = documents(EXAMPLES / "kind-config.yaml")
    assert (cluster["apiVersion"], cluster["kind"]) == ("kind.x-k8s.io/v1alpha4", "Cluster")
    roles = [each["role"] for each in cluster["nodes"]]
    assert roles == ["control-plane", "worker", "worker", "worker"]


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
        *(("rescheduleplans", verb) for verb in ("create", "delete")),
        ("rescheduleplans/status", "patch"),
        ("events", "create"),
        *(("leases", verb) for verb in ("create", "update")),
    }


def test_of_leases_only_our_own_can_be_changed() -> None:
    election = Configuration().leader_election
    roles = [each for each in installed() if each["kind"] == "Role"]
    assert {each["metadata"]["namespace"] for each in roles} == {election.resource_namespace}
    of_leases = [rule for rule in rules() if rule["resources"] == ["leases"]]
    for rule in of_leases:
        # The API server cannot tell the name of what is being created.
        if rule["verbs"] != ["create"]:
            assert rule["resourceNames"] == [election.resource_name]
    for each in installed():
        if each["kind"] == "ClusterRole":
            assert [rule for rule in each["rules"] if "leases" in rule["resources"]] == []


@pytest.mark.parametrize(
    "binding",
    [each for each in installed() if each["kind"].endswith("RoleBinding")],
    ids=lambda each: f"{each['kind']} {each['metadata']['name']}",
)
def test_a_binding_binds_what_is_there(binding: Document) -> None:
    account = only("ServiceAccount")["metadata"]
    role = only(binding["roleRef"]["kind"], binding["roleRef"]["name"])
    assert binding["metadata"]["name"] == role["metadata"]["name"]
    assert binding["metadata"].get("namespace") == role["metadata"].get("namespace")
    [subject] = binding["subjects"]
    assert (subject["namespace"], subject["name"]) == (account["namespace"], account["name"])


# ------------------------------------------------------------------ the custom resource


@pytest.mark.parametrize(
    ("name", "resource"), [(MIGRATIONS, POD_MIGRATIONS), (PLANS, RESCHEDULE_PLANS)]
)
def test_the_resource_is_the_one_that_is_observed(name: str, resource: Resource) -> None:
    spec = only("CustomResourceDefinition", name)["spec"]
    [version] = spec["versions"]
    assert f"{spec['group']}/{version['name']}" == resource.group_version
    assert spec["names"]["plural"] == resource.plural


@pytest.mark.parametrize(
    ("path", "constants"),
    [
        (("status", "phase"), reschedule_plan.Phase),
        (("status", "approval", "decision"), reschedule_plan.Decision),
        (("spec", "origin"), reschedule_plan.Origin),
        (("spec", "mode"), config.MODES),
    ],
    ids=lambda each: ".".join(each) if isinstance(each, tuple) else "",
)
def test_a_field_of_a_plan_may_say_what_the_code_says(
    path: tuple[str, ...],
    constants: Any,  # noqa: ANN401
) -> None:
    assert set(schema(*path, of=PLANS)["enum"]) == set(constants)


def test_a_plan_is_bounded_as_the_code_bounds_it() -> None:
    moves, standing = schema("spec", "moves", of=PLANS), schema("status", "moves", of=PLANS)
    assert moves["maxItems"] == standing["maxItems"] == reschedule_plan.MOST_MOVES
    assert set(standing["items"]["properties"]["state"]["enum"]) == set(reschedule_plan.State)
    assert set(moves["items"]["properties"]["way"]["enum"]) == set(MoveWay)


@pytest.mark.parametrize(
    ("path", "constants"),
    [
        (("status", "phase"), Phase),
        (("status", "step"), Step),
        (("status", "way"), Way),
        (("spec", "way"), Way),
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
    check("", schema(of=PLANS))


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
    assert kind["kind"] == only("CustomResourceDefinition", MIGRATIONS)["spec"]["names"]["kind"]


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
    ours = {each["metadata"]["name"] for each in installed() if each["kind"] == "ClusterRole"}
    assert {"system:kube-scheduler", "system:volume-scheduler"} | ours <= roles


# ------------------------------------------------------------------ the guard

GUARD = MANIFESTS / "components" / "guard"


def of_guard(kind: str) -> Document:
    files = kustomization(GUARD)["resources"]
    [found] = [
        document
        for file in files
        for document in documents(GUARD / file)
        if document["kind"] == kind
    ]
    return found


def test_the_guard_is_where_the_code_looks_for_it() -> None:
    webhook, service = of_guard("ValidatingWebhookConfiguration"), of_guard("Service")
    assert webhook["metadata"]["name"] == guard.WEBHOOK
    [only] = webhook["webhooks"]
    asked = only["clientConfig"]["service"]
    assert asked["name"] == service["metadata"]["name"] == guard.SERVICE
    assert asked["namespace"] == LeaderElection().resource_namespace
    assert asked["path"] == PATH
    [port] = service["spec"]["ports"]
    assert asked["port"] == port["port"]
    assert of_guard("Secret")["metadata"]["name"] == config.Guard().secret
    [rule] = of_guard("Role")["rules"]
    assert rule["resourceNames"] == [config.Guard().secret]
    [rule] = of_guard("ClusterRole")["rules"]
    assert rule["resourceNames"] == [guard.WEBHOOK]


def test_the_guard_fails_open() -> None:
    [only] = of_guard("ValidatingWebhookConfiguration")["webhooks"]
    assert only["failurePolicy"] == "Ignore"
    assert only["timeoutSeconds"] == 2
    by_ourselves = only["matchConditions"][0]["expression"]
    subject = of_guard("RoleBinding")["subjects"][0]
    named = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    assert by_ourselves == f"request.userInfo.username != '{named}'"


def test_the_guard_turns_itself_on() -> None:
    [patch] = [yaml.safe_load(each["patch"]) for each in kustomization(GUARD)["patches"]]
    [container] = patch["spec"]["template"]["spec"]["containers"]
    assert container["name"] == "rescheduler"
    told = {each["name"]: each["value"] for each in container["env"]}
    assert config.combine(None, "x", environment=told).configuration.guard.enabled
    [port] = container["ports"]
    [target] = of_guard("Service")["spec"]["ports"]
    assert (port["name"], port["containerPort"]) == (target["targetPort"], config.Guard().port)


# ------------------------------------------------------------------ the component for a scheduler


EXTENDER = MANIFESTS / "components" / "extender"


def of_extender(kind: str) -> Document:
    [found] = [each for each in of_component("extender") if each["kind"] == kind]
    return found


def test_the_extender_is_configured_as_the_file_beside_it_says() -> None:
    [patch] = kustomization(EXTENDER)["patches"]
    [container] = yaml.safe_load(patch["patch"])["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    by_environment = config.combine(None, "", environment=environment).configuration
    text = (EXTENDER / "settings.yaml").read_text()
    assert by_environment == config.parse(text, "settings.yaml")
    [port] = container["ports"]
    assert port["containerPort"] == by_environment.extender.port
    [served] = of_extender("Service")["spec"]["ports"]
    assert served["targetPort"] == port["name"]


def test_the_extender_may_touch_its_own_secret_and_nothing_else() -> None:
    secret = of_extender("Secret")
    assert "data" not in secret
    assert of_extender("Role")["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret["metadata"]["name"]],
            "verbs": ["get", "patch"],
        }
    ]
    text = (EXTENDER / "settings.yaml").read_text()
    settings = config.parse(text, "settings.yaml")
    assert secret["metadata"]["name"] == settings.extender.tls.secret
    assert secret["metadata"]["namespace"] == settings.leader_election.resource_namespace
    assert of_extender("Service")["metadata"]["name"] == SERVICE


# ------------------------------------------------------------------ the dashboard


DASHBOARD = MANIFESTS / "components" / "dashboard"


def of_dashboard(kind: str) -> Document:
    [found] = [each for each in of_component("dashboard") if each["kind"] == kind]
    return found


def test_the_dashboard_is_shown_to_whoever_has_a_token_over_tls() -> None:
    [patch] = kustomization(DASHBOARD)["patches"]
    [container] = yaml.safe_load(patch["patch"])["spec"]["template"]["spec"]["containers"]
    environment = {each["name"]: each["value"] for each in container["env"]}
    settings = config.combine(None, "", environment=environment).configuration.dashboard
    assert settings.enabled
    assert settings.needs_token
    assert not settings.actions
    assert settings.tls.secret == of_dashboard("Secret")["metadata"]["name"]
    [port] = container["ports"]
    assert port["containerPort"] == settings.port
    [served] = of_dashboard("Service")["spec"]["ports"]
    assert served["targetPort"] == port["name"]
    assert of_dashboard("Service")["metadata"]["name"] == dashboard.SERVICE


def test_the_dashboard_may_touch_its_own_secret_and_nothing_else() -> None:
    secret = of_dashboard("Secret")
    assert "data" not in secret
    assert of_dashboard("Role")["rules"] == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "resourceNames": [secret["metadata"]["name"]],
            "verbs": ["get", "patch"],
        }
    ]
