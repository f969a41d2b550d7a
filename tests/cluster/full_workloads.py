"""Workloads, autoscalers and budgets with every field that we read."""

from collections.abc import Iterator

from rescheduler import wire
from tests.cluster.full_objects import OWNER, RESOURCES, SELECTOR, THEN, Full, Object, condition


def _placed() -> Object:
    """As nobody should write it: past the scheduler."""
    template = _template()
    return {**template, "spec": {**template["spec"], "nodeName": "somewhere"}}


def _template() -> Object:
    container = {"name": "app", "image": "app:1", "resources": RESOURCES}
    labels = {"app": "web", "tier": "1", "track": "a"}
    spec = {"containers": [container], "nodeSelector": {"no": "node"}}
    return {"metadata": {"labels": labels, "annotations": {"a": "b"}}, "spec": spec}


def workloads() -> Iterator[Full]:
    common = {"selector": SELECTOR, "template": _template(), "minReadySeconds": 5}
    counts = {
        "replicas": 4,
        "readyReplicas": 3,
        "availableReplicas": 2,
        "observedGeneration": 1,
    }
    yield Full(
        resource=wire.REPLICA_SETS,
        name="set",
        content={"spec": {**common, "template": _placed(), "replicas": 0}},
        status={**counts, "fullyLabeledReplicas": 4, "terminatingReplicas": 1},
    )
    yield Full(
        resource=wire.DEPLOYMENTS,
        name="deployment",
        content={
            "spec": {
                **common,
                "replicas": 0,
                "paused": True,
                "strategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0},
                },
            }
        },
        status={
            **counts,
            "updatedReplicas": 4,
            "unavailableReplicas": 1,
            "terminatingReplicas": 1,
            "conditions": [condition(lastUpdateTime=THEN)],
        },
    )
    yield Full(
        resource=wire.STATEFUL_SETS,
        name="stateful",
        content={
            "spec": {
                **common,
                "template": _placed(),
                "replicas": 0,
                "serviceName": "service",
                "podManagementPolicy": "Parallel",
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"partition": 3, "maxUnavailable": "20%"},
                },
            }
        },
        status={
            **counts,
            "currentReplicas": 1,
            "updatedReplicas": 2,
            "currentRevision": "one",
            "updateRevision": "two",
        },
    )
    yield Full(
        resource=wire.DAEMON_SETS,
        name="daemon",
        content={
            "spec": {
                **common,
                "updateStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"},
                },
            }
        },
        status={
            "currentNumberScheduled": 1,
            "numberMisscheduled": 2,
            "desiredNumberScheduled": 3,
            "numberReady": 4,
            "observedGeneration": 1,
            "updatedNumberScheduled": 6,
            "numberAvailable": 7,
            "numberUnavailable": 8,
        },
    )
    template = _template()
    template["spec"]["restartPolicy"] = "Never"
    yield Full(
        resource=wire.JOBS,
        name="job",
        content={
            "spec": {
                "parallelism": 1,
                "completions": 2,
                "suspend": False,
                "template": template,
                # Else the job controller would correct what we write.
                "managedBy": "example.com/nobody",
            }
        },
        status={
            "startTime": THEN,
            "active": 1,
            "ready": 0,
            "succeeded": 1,
            "failed": 1,
            "conditions": [condition()],
        },
    )
    yield Full(
        resource=wire.HORIZONTAL_POD_AUTOSCALERS,
        name="scaler",
        content={
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
                "minReplicas": 1,
                "maxReplicas": 7,
            }
        },
        status={
            "observedGeneration": 1,
            "lastScaleTime": THEN,
            "currentReplicas": 2,
            "desiredReplicas": 3,
            "conditions": [condition()],
            "currentMetrics": None,
        },
    )
    healthy = {
        "observedGeneration": 1,
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 3,
        "expectedPods": 4,
        "conditions": [condition()],
    }
    yield Full(
        resource=wire.POD_DISRUPTION_BUDGETS,
        name="at-least",
        content={
            "spec": {
                "minAvailable": "50%",
                "selector": {},
                "unhealthyPodEvictionPolicy": "AlwaysAllow",
            }
        },
        status=healthy,
        metadata={"finalizers": ["example.com/wait"]},
    )
    yield Full(
        resource=wire.POD_DISRUPTION_BUDGETS,
        name="at-most",
        content={"spec": {"maxUnavailable": 0, "selector": SELECTOR}},
        status=healthy,
        metadata={
            "annotations": {"a": "b"},
            "ownerReferences": [{**OWNER, "controller": True}],
        },
    )
