"""What the API server lacks, by what it says that it serves."""

from collections.abc import Mapping

import pytest
from structlog.testing import capture_logs

from rescheduler.controller import server_lacks
from rescheduler.kube import KubeApi, errors
from tests.unit.embedded.support.server import Server

POLICIES = {"admissionregistration.k8s.io/v1": frozenset({"mutatingadmissionpolicies"})}
RESIZE = {"v1": frozenset({"pods", "pods/resize"})}


class Serving:
    """A server with these resources."""

    def __init__(self, served: Mapping[str, frozenset[str]] | None) -> None:
        self._served = served

    async def served(self, group_version: str) -> frozenset[str]:
        if self._served is None:
            raise errors.Unavailable("away")
        return self._served.get(group_version, frozenset())


async def told(served: Mapping[str, frozenset[str]] | None) -> list[str]:
    kube: KubeApi = Serving(served)  # type: ignore[assignment] # it is asked for nothing else
    with capture_logs() as lines:
        await server_lacks.tell(kube)
    return [f"{each['log_level']} {each.get('feature', each['event'])}" for each in lines]


@pytest.mark.parametrize(
    ("served", "expected"),
    [
        (POLICIES | RESIZE, []),
        (RESIZE, ["warning MutatingAdmissionPolicy v1"]),
        (POLICIES, ["warning in-place resize"]),
        (None, ["info what the API server lacks is not known"]),
    ],
    ids=["all", "1.35", "no resize", "away"],
)
async def test_what_is_missing_is_told(
    served: Mapping[str, frozenset[str]] | None, expected: list[str]
) -> None:
    assert await told(served) == expected


def test_the_embedded_cluster_lacks_nothing() -> None:
    api = Server().api
    for each in server_lacks.FEATURES:
        assert each.resource in api.served(each.group_version)
