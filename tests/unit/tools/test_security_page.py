"""docs/security.md says what the manifests grant, and its promises hold there."""

from pathlib import Path

import yaml

from tools import generate, security_page

MANIFESTS = Path(__file__).parents[3] / "manifests"


def test_the_page_is_what_the_manifests_grant() -> None:
    assert generate.SECURITY.read_text() == generate.security(), "write it anew: make generate"


def rules() -> list[dict[str, list[str]]]:
    """Of every role in the manifests, wherever it stands."""
    documents = [
        document
        for path in MANIFESTS.rglob("*.yaml")
        if path.name != "kustomization.yaml"
        for document in yaml.safe_load_all(path.read_text())
    ]
    return [
        rule
        for document in documents
        if document and document.get("kind") in ("Role", "ClusterRole")
        for rule in document["rules"]
    ]


def test_every_role_is_on_it() -> None:
    rows = list(security_page.rows())
    resources = {each for rule in rules() for each in rule["resources"]}
    shown = " ".join(row[1] for row in rows)
    assert len(rows) > 20
    assert [each for each in resources if each.partition("/")[0] not in shown] == []


def test_what_it_never_needs_is_not_granted() -> None:
    for rule in rules():
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert not {"escalate", "bind", "impersonate"} & {*rule["verbs"]}
        assert not {"pods/exec", "nodes/proxy", "configmaps"} & {*rule["resources"]}
        if "secrets" in rule["resources"]:
            assert len(rule["resourceNames"]) == 1
        if {"apps", "batch"} & {*rule["apiGroups"]}:
            assert {*rule["verbs"]} == {"list", "watch"}
