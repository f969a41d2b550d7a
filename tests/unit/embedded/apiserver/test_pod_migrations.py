"""PodMigrations are taken and refused as our resource definition says."""

from typing import Any

import pytest

from rescheduler.embedded.apiserver import pod_migrations
from rescheduler.kube import Object, errors
from rescheduler.wire import POD_MIGRATIONS
from tests.unit.embedded.support.server import Server, migration


@pytest.fixture
def server() -> Server:
    return Server()


def test_every_rule_of_the_resource_definition_has_its_meaning() -> None:
    def rules(schema: Any) -> set[str]:  # noqa: ANN401
        found = {each["rule"] for each in schema.get("x-kubernetes-validations", ())}
        return found.union(*map(rules, schema.get("properties", {}).values()))

    assert rules(pod_migrations.DEFINITION.schema) == {
        pod_migrations.UNCHANGED,
        *pod_migrations.RULES,
    }


def test_what_is_not_given_is_filled_in(server: Server) -> None:
    made = server.migration()
    assert made["spec"]["attempt"] == 1
    assert made["spec"]["mayRecreate"] is False
    assert made["status"] == {"phase": "Pending"}
    assert made["metadata"]["generation"] == 1


def test_a_status_is_nobodys_but_the_subresources(server: Server) -> None:
    body = {**migration(), "status": {"phase": "Completed"}}
    made = server.api.create(POD_MIGRATIONS, "default", body)
    assert made["status"] == {"phase": "Pending"}
    change: Object = {"status": {"phase": "InProgress", "step": "Check", "unknown": 1}}
    changed = server.api.patch(POD_MIGRATIONS, "default", "m", change, subresource="status")
    assert changed["status"] == {"phase": "InProgress", "step": "Check"}
    assert changed["metadata"]["generation"] == 1
    changed = server.api.patch(
        POD_MIGRATIONS, "default", "m", {"status": None}, subresource="status"
    )
    assert changed["status"] == {"phase": "Pending"}


def test_what_nobody_knows_is_dropped(server: Server) -> None:
    made = server.migration(color="blue", pod={"name": "web", "uid": "u", "colour": "red"})
    assert "color" not in made["spec"]
    assert made["spec"]["pod"] == {"name": "web", "uid": "u"}
    made = server.api.create(POD_MIGRATIONS, "default", {**migration("n"), "extra": 1})
    assert "extra" not in made


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ({"pod": None}, "spec.pod: Required value"),
        ({"source": None}, "spec.source: Required value"),
        ({"pod": {"uid": "u"}}, "spec.pod.name: Required value"),
        ({"pod": {"name": "web"}}, "spec.pod.uid: Required value: is needed, so that no later pod"),
        ({"pod": {"name": "", "uid": "u"}}, "at least 1 chars long"),
        ({"pod": {"name": "a", "uid": "u/v"}}, "should match"),
        ({"target": "n1"}, "the pod is to leave the node n1, so the target must be another node"),
        ({"target": 5}, 'must be of type string: "integer"'),
        ({"attempt": 0}, "greater than or equal to 1"),
        ({"attempt": 2**31}, "must be of type int32"),
        ({"attempt": "1"}, 'must be of type integer: "string"'),
        ({"asked": "yes"}, 'must be of type boolean: "string"'),
        ({"way": "Jump"}, 'supported values: "Surge", "Recreate", "Copy"'),
        ({"strategy": "x" * 254}, "may not be more than 253 bytes"),
        ({"group": {"id": "a"}}, "spec.group.size: Required value"),
        ({"settings": {"readyTimeout": "soon"}}, "must be a duration such as 30s, 5m or 1h30m"),
        ({"settings": {"temporaryBudget": {"minAvailable": 1.5}}}, "integer or string"),
    ],
)
def test_what_cannot_be_asked_for(server: Server, spec: Object, words: str) -> None:
    with pytest.raises(errors.Invalid) as refusal:
        server.migration(**spec)
    assert words in str(refusal.value)
    assert refusal.value.status == 422
    assert str(refusal.value).startswith('PodMigration.rescheduler.io "m" is invalid: ')


def test_its_name_is_a_label(server: Server) -> None:
    server.migration("m" * 63)
    with pytest.raises(errors.Invalid, match="may have 63 characters at most"):
        server.migration("m" * 64)


@pytest.mark.parametrize("duration", ["0", "30s", "1h30m", "1.5h", "100ms"])
def test_durations(server: Server, duration: str) -> None:
    made = server.migration(settings={"settle": duration})
    assert made["spec"]["settings"] == {"settle": duration}


def test_every_field_but_the_target_stays() -> None:
    spec = pod_migrations.DEFINITION.schema["properties"]["spec"]
    assert {*pod_migrations.NEEDED, *pod_migrations.OPTIONAL, "target"} == {*spec["properties"]}
    assert {*spec["required"]} == {*pod_migrations.NEEDED}


def test_a_target_that_was_left_out_is_set_once(server: Server) -> None:
    server.migration(target=None)
    with pytest.raises(errors.Invalid, match="so the target must be another node"):
        server.api.patch(POD_MIGRATIONS, "default", "m", {"spec": {"target": "n1"}})
    change: Object = {"spec": {"target": "n2", "asked": False}}
    with pytest.raises(errors.Invalid, match="the spec of a migration cannot be changed"):
        server.api.patch(POD_MIGRATIONS, "default", "m", change)
    chosen = server.api.patch(POD_MIGRATIONS, "default", "m", {"spec": {"target": "n2"}})
    assert chosen["spec"]["target"] == "n2"
    for target in ("n3", None):
        with pytest.raises(errors.Invalid, match="the spec of a migration cannot be changed"):
            server.api.patch(POD_MIGRATIONS, "default", "m", {"spec": {"target": target}})


def test_what_was_asked_for_stays(server: Server) -> None:
    server.migration()
    with pytest.raises(errors.Invalid, match="the spec of a migration cannot be changed"):
        server.api.patch(POD_MIGRATIONS, "default", "m", {"spec": {"target": "n3"}})
    changed = server.api.patch(POD_MIGRATIONS, "default", "m", {"metadata": {"labels": {"a": "b"}}})
    assert changed["metadata"]["labels"] == {"a": "b"}


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ({"phase": "Done"}, 'supported values: "Pending"'),
        ({"step": "Jump"}, "supported values"),
        ({"reason": "lower case"}, "should match"),
        ({"startTime": "yesterday"}, "must be of type date-time"),
        ({"fence": -1}, "greater than or equal to 0"),
        ({"conditions": [{"type": "Completed"}]}, "conditions[0].status: Required value"),
        ({"siblings": "a"}, 'must be of type array: "string"'),
    ],
)
def test_what_cannot_be_written_down(server: Server, status: Object, words: str) -> None:
    server.migration()
    with pytest.raises(errors.Invalid) as refusal:
        server.api.patch(POD_MIGRATIONS, "default", "m", {"status": status}, subresource="status")
    assert words in str(refusal.value)
