"""Namespaces whose policies refuse what a copy is: told once, in their words; then another way.

As Kyverno and Gatekeeper do, by the API server's own ValidatingAdmissionPolicies.
"""

from typing import Any

import pytest

from testbed.api import ApiError, Object, path_of
from testbed.builders import deployment, service
from testbed.world import World
from tests.scenarios.asking import ask
from tests.scenarios.judging import assert_as_if_nothing_happened, assert_nothing_of_ours_is_left

WORDS = "the platform team says no"
POLICIES = {
    "no-controller": (
        "has(object.metadata.ownerReferences) && "
        "object.metadata.ownerReferences.exists(each, has(each.controller) && each.controller)"
    ),
    "unknown-labels": "object.metadata.labels.all(key, key in ['app', 'pod-template-hash'])",
    "node-affinity": "!has(object.spec.affinity) || !has(object.spec.affinity.nodeAffinity)",
}
NO_STRATEGY: dict[str, Any] = {
    "enabledStrategies": [],
    "migration": {"steerTimeout": "3s", "readyTimeout": "20s"},
}
each_policy = pytest.mark.parametrize("policy", POLICIES)


async def forbid(world: World, rule: str) -> None:
    """From here on, in the test's namespace."""
    own = {"matchLabels": {"kubernetes.io/metadata.name": world.name}}
    rules = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": world.name},
        "spec": {
            "matchConstraints": {
                "namespaceSelector": own,
                "resourceRules": [{**rules, "resources": ["pods"]}],
            },
            "validations": [{"expression": rule, "message": WORDS}],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": world.name},
        "spec": {"policyName": world.name, "validationActions": ["Deny"]},
    }
    for manifest in (policy, binding):
        await world.api.create(manifest)
        world.policies.append(manifest)
    await world.wait("the policy is in force", lambda: _is_refused(world))


async def _is_refused(world: World) -> bool:
    """A pod that breaks all of them."""
    there = {"key": "metadata.name", "operator": "In", "values": ["nowhere"]}
    required = {"nodeSelectorTerms": [{"matchFields": [there]}]}
    where = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    body: Object = {
        "metadata": {"name": "probe", "labels": {"app": "probe", "other": "label"}},
        "spec": {"containers": [{"name": "app", "image": "app:1"}], "affinity": where},
    }
    try:
        path = path_of("Pod", world.name)
        await world.api.request("POST", path, query={"dryRun": "All"}, body=body)
    except ApiError as problem:
        return WORDS in str(problem)
    return False


async def stage(world: World, policy: str) -> tuple[str, str]:
    full, empty = await world.add_nodes(2)
    await world.create(service("web"))
    await world.deploy(deployment("web", replicas=3), on=full)
    await forbid(world, POLICIES[policy])
    return full, empty


@each_policy
async def test_refused_once_and_told_in_the_words_of_the_policy(world: World, policy: str) -> None:
    _, empty = await stage(world, policy)
    for each in await world.pods("web"):
        await ask(world, each, empty)
    run, audit = await world.audited_run(**NO_STRATEGY)
    for record in await world.records():
        status = record["status"]
        assert (status["phase"], status["reason"]) == ("Failed", "CopyRefused"), status
        assert WORDS in status["message"]
    told = run.said("no copies of this workload's pods are made for a while")
    assert len(told) == 1
    tried = [each for each in audit.requests if each.permission == "create pods"]
    # Two pods as the ReplicaSet makes them, one copy of the answer, one of the template.
    assert len(tried) <= 4
    assert all(each.dry_run for each in tried)
    await assert_as_if_nothing_happened(world, audit, app="web")


@each_policy
async def test_the_pass_goes_on_to_the_next_workload(world: World, policy: str) -> None:
    full, empty = await world.add_nodes(2)
    for name in ("web", "other"):
        await world.create(service(name))
        await world.deploy(deployment(name, replicas=2), on=full)
    await forbid(world, f"object.metadata.labels.app == 'other' || {POLICIES[policy]}")
    for name in ("web", "other"):
        for each in await world.pods(name):
            await ask(world, each, empty)
    run, audit = await world.audited_run(**NO_STRATEGY, maxReschedulePods=10)
    refused, moved = [await world.records(name) for name in ("web", "other")]
    assert [each["status"].get("reason") for each in refused] == ["CopyRefused"] * 2, run
    assert [each["status"]["phase"] for each in moved] == ["Completed"] * 2, run
    assert await world.nodes_of("web") == [full] * 2
    assert await world.nodes_of("other") == [empty] * 2
    assert audit.replicas_missing() == [] == audit.endpoints_missing()


@each_policy
async def test_goes_another_way_where_it_may(world: World, policy: str) -> None:
    _, empty = await stage(world, policy)
    moved, *_ = await world.pods("web")
    await ask(world, moved, empty)
    assert (await world.run(**NO_STRATEGY)).code == 1
    [refused] = await world.records()
    assert refused["status"]["reason"] == "CopyRefused", refused["status"]
    await world.api.delete("PodMigration", world.name, refused["metadata"]["name"])
    await ask(world, moved, empty, mayRecreate=True)
    run, audit = await world.audited_run(**NO_STRATEGY)
    [record] = await world.records()
    assert (record["status"]["phase"], record["status"]["way"]) == ("Completed", "Recreate"), run
    await world.wait("web is complete", lambda: world.is_complete("web"))
    pods = await world.pods("web")
    assert moved["metadata"]["uid"] not in {each["metadata"]["uid"] for each in pods}
    steered = policy != "node-affinity"
    assert empty in {each["spec"]["nodeName"] for each in pods} or not steered
    assert all(each.had >= 2 for each in audit.replicas_missing())
    await assert_nothing_of_ours_is_left(world)
