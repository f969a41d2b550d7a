"""Each component of the manifests, alone and with the others: installed, unchanged when applied
again, and gone without a trace.
"""

import json
from pathlib import Path

import pytest

from testbed.api import Object
from testbed.instance import Instance
from tests.cluster.kubectl import (
    BROUGHT,
    BUDGET,
    DEPLOYED,
    LOOKING,
    MOVING,
    POLICY,
    Kubectl,
    composed,
    until,
    with_operator,
)

__all__ = ["with_operator"]

BY_ITSELF = {"apiservice.apiregistration.k8s.io/v1alpha1.rescheduler.io"}
ACTING = LOOKING | MOVING | POLICY | DEPLOYED | {BUDGET}


@pytest.mark.parametrize(
    ("components", "expected"),
    [
        (["network-policy"], ACTING | BROUGHT["network-policy"]),
        (["monitoring"], ACTING | BROUGHT["monitoring"]),
        (["extender"], ACTING | BROUGHT["extender"]),
        (["read-only"], LOOKING | DEPLOYED),
        (["approve"], ACTING),
        (["guard"], ACTING | BROUGHT["guard"]),
        (["dashboard"], ACTING | BROUGHT["dashboard"]),
        (
            ["network-policy", "monitoring", "guard", "extender", "dashboard"],
            ACTING.union(*BROUGHT.values()),
        ),
        (
            ["network-policy", "monitoring", "dashboard", "read-only"],
            LOOKING.union(
                DEPLOYED, *(BROUGHT[each] for each in ("network-policy", "monitoring", "dashboard"))
            ),
        ),
    ],
    ids=[
        "network policy",
        "monitoring",
        "extender",
        "read-only",
        "approve",
        "guard",
        "dashboard",
        "all that act",
        "all that look",
    ],
)
async def test_installed_and_gone(
    with_operator: Instance,
    kubectl: Path,
    tmp_path: Path,
    components: list[str],
    expected: set[str],
) -> None:
    kube = Kubectl(kubectl, with_operator, tmp_path)
    before = await kube.inventory()
    folder = composed(tmp_path / "mine", *components)
    # As the API server merges: what is applied again changes nothing, not even a version.
    applying = ("apply", "--server-side", "-k", folder)
    await kube(*applying)
    await until(kube, before | expected | BY_ITSELF)
    versions = await _versions(kube, folder)
    await kube(*applying)
    assert await _versions(kube, folder) == versions
    await kube("delete", "-k", folder)
    await until(kube, before)


async def _versions(kube: Kubectl, folder: str) -> dict[str, str]:
    found = json.loads(await kube("get", "-k", folder, "-o", "json"))["items"]
    return {
        f"{each['kind']}/{each['metadata']['name']}": str(each["metadata"][_version_of(each)])
        for each in found
    }


def _version_of(item: Object) -> str:
    """The status of a definition is written by the API server, whenever it comes to it."""
    is_definition = item["kind"] == "CustomResourceDefinition"
    return "generation" if is_definition else "resourceVersion"
