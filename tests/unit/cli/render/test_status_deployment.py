"""With nobody leading: what is wrong with the Deployment, and the command for it."""

from typing import Any

import pytest
import yaml

from rescheduler.cli.render.status_deployment import Installed, selector_of, trouble_with

LEASE = "kube-system/rescheduler"
PODS = "app=rescheduler-scheduler"


def shipped() -> dict[str, Any]:
    with open("manifests/rescheduler/deployment.yaml", encoding="utf-8") as file:  # noqa: PTH123
        found: dict[str, Any] = next(yaml.safe_load_all(file))
    return found


def installed(*pods: dict[str, Any], replicas: int = 2, **status: Any) -> Installed:  # noqa: ANN401
    deployment = shipped()
    deployment["metadata"]["generation"] = 1
    deployment["spec"]["replicas"] = replicas
    deployment["status"] = {"observedGeneration": 1, "updatedReplicas": replicas, **status}
    return Installed(deployment=deployment, pods=pods)


def held(reason: str, message: str = "", state: str = "waiting") -> dict[str, Any]:
    told = {"reason": reason, "message": message}
    return {"status": {"containerStatuses": [{"state": {state: told}}]}}


def trouble(found: Installed, lease: str = LEASE) -> tuple[str, str]:
    told = trouble_with(found, lease)
    assert told is not None
    assert told.what == "Deployment kube-system/rescheduler-scheduler"
    prefix = "kubectl -n kube-system "
    assert told.todo.startswith(prefix)
    return told.why, told.todo.removeprefix(prefix)


def test_its_pods_are_found_by_its_selector() -> None:
    assert selector_of(shipped()) == PODS


def test_one_that_is_scaled_to_nothing_is_scaled_up() -> None:
    why, todo = trouble(installed(replicas=0))
    assert (why, todo) == (
        "it is scaled to 0",
        "scale deployment rescheduler-scheduler --replicas=2",
    )


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_one_that_only_looks_is_told_so(how: str) -> None:
    found = installed(readyReplicas=2)
    container = found.deployment["spec"]["template"]["spec"]["containers"][0]
    if how == "flag":
        container["args"].append("--dry-run")
    else:
        container["env"] = [{"name": "RESCHEDULER_MODE", "value": "DryRun"}]
    why, todo = trouble(found)
    assert why == "it only looks, and moves nothing (mode DryRun)"
    assert todo.startswith("edit deployment rescheduler-scheduler ")


@pytest.mark.parametrize(
    ("pod", "why", "todo"),
    [
        (
            held("ImagePullBackOff", 'Back-off pulling image "rescheduler"'),
            ': ImagePullBackOff: Back-off pulling image "rescheduler"',
            "set image deployment rescheduler-scheduler rescheduler=YOUR/IMAGE:TAG",
        ),
        (held("CrashLoopBackOff"), ": CrashLoopBackOff", f"logs -l {PODS} --tail=20"),
        (held("Error", state="terminated"), ": Error", f"logs -l {PODS} --tail=20"),
        (
            held("CreateContainerConfigError", 'configmap "rescheduler-config" not found'),
            ': CreateContainerConfigError: configmap "rescheduler-config" not found',
            f"describe pods -l {PODS}",
        ),
        (
            {
                "status": {
                    "conditions": [
                        {"type": "PodScheduled", "status": "False", "message": "0/3 nodes"}
                    ]
                }
            },
            ": Unschedulable: 0/3 nodes",
            f"describe pods -l {PODS}",
        ),
        (held("ContainerCreating"), "", f"get pods -l {PODS}"),
    ],
)
def test_what_its_pods_say_is_told(pod: dict[str, Any], why: str, todo: str) -> None:
    assert trouble(installed(pod)) == (f"0 of 2 Ready{why}", todo)


def test_without_pods_what_it_says_itself_is_told() -> None:
    refused = {"type": "ReplicaFailure", "status": "True", "message": "exceeded quota"}
    why, todo = trouble(installed(conditions=[refused]))
    assert (why, todo) == ("0 of 2 Ready: exceeded quota", f"get pods -l {PODS}")


@pytest.mark.parametrize("how", [{"observedGeneration": 0}, {"updatedReplicas": 1}])
def test_a_rollout_is_followed(how: dict[str, int]) -> None:
    why, todo = trouble(installed(**how))
    assert why == "0 of 2 Ready, and it is being rolled out"
    assert todo == "rollout status deployment rescheduler-scheduler"


def test_one_that_is_ready_and_does_not_lead_has_a_log() -> None:
    why, todo = trouble(installed(readyReplicas=2))
    assert why.startswith(f"2 of 2 Ready, but none holds the lease {LEASE}; ")
    assert todo == f"logs -l {PODS} --tail=20"


def test_without_an_election_one_that_is_ready_is_well() -> None:
    assert trouble_with(installed(readyReplicas=1), "") is None
    assert trouble(installed(), "")[0] == "0 of 2 Ready"
