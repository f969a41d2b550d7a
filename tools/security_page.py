"""The rights by feature in docs/security.md, read from the manifests that grant them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

ROOT: Final = Path(__file__).parent.parent
BEGIN: Final = "<!-- From here on written by `make generate`, from the roles in the manifests. -->"

_RBAC: Final = ROOT / "manifests/rescheduler/rbac.yaml"
_COMPONENTS: Final = ROOT / "manifests/components"
_FEATURES: Final = {
    ("ClusterRole", "rescheduler-scheduler"): "observe and plan",
    ("ClusterRole", "rescheduler-scheduler-moving"): "move pods",
    ("Role", "rescheduler-scheduler"): "one leader",
    ("Role", "rescheduler-scheduler-plans"): "plans as objects",
}
"""Of what is always installed; what a component grants has its name."""
_ROLES: Final = ("Role", "ClusterRole")

_HEAD: Final = """
| feature | resource | verbs | where |
|---|---|---|---|
"""


def table() -> str:
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows())


def rows() -> Iterator[tuple[str, str, str, str]]:
    for document in _documents(_RBAC):
        if document["kind"] in _ROLES:
            key = (document["kind"], document["metadata"]["name"])
            yield from _of(document, _FEATURES[key])
    for component in sorted(_COMPONENTS.iterdir()):
        feature = f"component `{component.name}`"
        roles = [role for role in _roles_in(component) if "rules" in role]
        for role in roles:
            yield from _of(role, feature)
        if not roles:
            yield (feature, "none", "", "")


def _roles_in(component: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(component.glob("*.yaml")):
        yield from (each for each in _documents(file) if each["kind"] in _ROLES)


def _of(role: dict[str, Any], feature: str) -> Iterator[tuple[str, str, str, str]]:
    place = "cluster" if role["kind"] == "ClusterRole" else f"`{role['metadata']['namespace']}`"
    for rule in role["rules"]:
        only = "".join(f", only `{name}`" for name in rule.get("resourceNames", ()))
        for group in rule["apiGroups"]:
            names = [_named(each, group) for each in rule["resources"]]
            yield (feature, ", ".join(names) + only, ", ".join(rule["verbs"]), place)


def _named(resource: str, group: str) -> str:
    name, slash, below = resource.partition("/")
    return f"`{name}.{group}{slash}{below}`" if group else f"`{resource}`"


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(path.read_text())
