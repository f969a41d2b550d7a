"""Installs what `kubectl apply -k manifests/overlays/without-deployment` installs, faster."""

import asyncio
import copy
from pathlib import Path

import yaml

from testbed import build
from testbed.api import Api, ApiError, Object
from testbed.instance import Instance

MANIFESTS = Path(__file__).parent.parent / "manifests" / "rescheduler"
RBAC = MANIFESTS / "rbac.yaml"
GUARD = MANIFESTS.parent / "components" / "guard"

_SERVED_SECONDS = 60.0
_LOOK_AGAIN_SECONDS = 0.05
_SINCE_1_36 = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")


_TO_RUN_IT = ("config.yaml", "deployment.yaml")
"""Tests start the process themselves."""


def manifests() -> list[Object]:
    """All that the kustomization names, in its order, but for what runs it in the cluster."""
    return [
        document
        for file in files_of(MANIFESTS)
        if file.name not in _TO_RUN_IT
        for document in yaml.safe_load_all(file.read_text())
    ]


def files_of(folder: Path) -> list[Path]:
    """Of a kustomization and its components, in its order."""
    kustomization = yaml.safe_load((folder / "kustomization.yaml").read_text())
    own = [folder / each for each in kustomization.get("resources", ())]
    parts = [folder / each for each in kustomization.get("components", ())]
    return [*own, *(file for part in parts for file in files_of(part))]


async def install_rights(instance: Instance) -> None:
    """The custom resources, the rights and the admission policy. Returns when migrations can be
    written.
    """
    async with Api(instance.url, instance.tokens["admin"], instance.client_ssl()) as api:
        for manifest in manifests():
            # Servers before 1.36 have no such kind of this version: there it does without.
            if manifest["kind"] not in _SINCE_1_36 or manifest["apiVersion"] == build.POLICIES:
                await api.apply(manifest)
        await wait_until_served(api)


async def wait_until_served(api: Api) -> None:
    async with asyncio.timeout(_SERVED_SECONDS):
        while not await _is_served(api):  # noqa: ASYNC110 - a condition, then an answer of the server
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _is_served(api: Api) -> bool:
    kinds = {
        "podmigrations.rescheduler.io": "PodMigration",
        "rescheduleplans.rescheduler.io": "ReschedulePlan",
    }
    for name, kind in kinds.items():
        definition = await api.find("CustomResourceDefinition", None, name) or {}
        conditions = definition.get("status", {}).get("conditions") or ()
        states = {each["type"]: each["status"] for each in conditions}
        if states.get("Established") != "True":
            return False
        try:
            await api.list(kind, "default")
        except ApiError:
            return False
    return True


async def install_guard(api: Api, namespace: str) -> None:
    """What `manifests/components/guard` brings, for a process outside of the cluster that has its
    Lease and its Secret in this namespace.
    """
    for file in ("certificate.yaml", "webhook.yaml"):
        for document in yaml.safe_load_all((GUARD / file).read_text()):
            if document["metadata"].get("namespace"):
                document["metadata"]["namespace"] = namespace
            if document["kind"] != "Service":
                await api.apply(document)


def rights_within(namespace: str) -> list[Object]:
    """The rights that hold in one namespace only, in this one: each test elects its own leader."""
    found = []
    for document in yaml.safe_load_all(RBAC.read_text()):
        if document["kind"] in ("Role", "RoleBinding"):
            moved = copy.deepcopy(document)
            moved["metadata"]["namespace"] = namespace
            found.append(moved)
    return found
