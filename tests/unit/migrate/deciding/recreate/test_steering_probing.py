"""The pod that is shown to the API server, to see whether it steers."""

from typing import Any

import pytest

from rescheduler.migrate.deciding.recreate import probing
from tests.unit.migrate.deciding.recreate.steering_scenes import toy
from tests.unit.migrate.toy_controllers import PREFERRED
from tests.unit.migrate.toy_workload import ToyWorkload


def _body(cluster: ToyWorkload) -> dict[str, Any]:
    owner = cluster.intent.owner
    assert owner
    return probing.body(cluster.intent, owner, cluster.workloads[cluster.owner_uid])


def test_is_what_its_owner_would_make_under_another_name() -> None:
    cluster = toy()
    body = _body(cluster)
    template = cluster.workloads[cluster.owner_uid]["spec"]["template"]
    assert body["metadata"]["labels"] == template["metadata"]["labels"]
    assert body["spec"] == template["spec"]
    assert body["metadata"]["name"] == "web-0-probe-01234"
    (owner,) = body["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (cluster.owner_uid, True)


def test_has_the_disks_that_a_stateful_set_adds() -> None:
    cluster = toy()
    spec = cluster.workloads[cluster.owner_uid]["spec"]
    spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}}]
    mine: dict[str, Any] = {"name": "scratch", "emptyDir": {}}
    spec["template"]["spec"]["volumes"] = [mine, {"name": "data", "emptyDir": {}}]
    volumes = _body(cluster)["spec"]["volumes"]
    claimed = {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-0"}}
    assert volumes == [mine, claimed]
    assert spec["template"]["spec"]["volumes"][1] == {"name": "data", "emptyDir": {}}


def _wish(operator: str, *nodes: str) -> dict[str, Any]:
    fields = [{"key": "metadata.name", "operator": operator, "values": list(nodes)}]
    return {"weight": 100, "preference": {"matchFields": fields}}


@pytest.mark.parametrize(
    ("wishes", "is_steered"),
    [
        ([], False),
        ([_wish("In", "target")], True),
        ([_wish("NotIn", "source"), _wish("In", "target")], True),
        ([_wish("NotIn", "target")], False),
        ([_wish("In", "elsewhere")], False),
        ([{"weight": 1, "preference": {"matchExpressions": []}}], False),
    ],
)
def test_tells_our_preference_from_others(
    wishes: list[dict[str, Any]], *, is_steered: bool
) -> None:
    pod = {"spec": {"affinity": {"nodeAffinity": {PREFERRED: wishes}}}}
    assert probing.is_steered(pod, toy().intent) is is_steered


@pytest.mark.parametrize("spec", [{}, {"affinity": None}, {"affinity": {"nodeAffinity": None}}])
def test_a_pod_without_wishes_is_not_steered(spec: dict[str, Any]) -> None:
    assert not probing.is_steered({"spec": spec}, toy().intent)
