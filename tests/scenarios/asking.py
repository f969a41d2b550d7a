"""Migrations that a person asks for, with kubectl: a PodMigration, and no plan behind it."""

from typing import Any

from testbed.api import Object
from testbed.scenarios import Scene


async def ask(
    world: Scene,
    pod: Object,
    target: str = "",
    *,
    namespace: str = "",
    **spec: Any,  # noqa: ANN401
) -> Object:
    """The record, as created. Its name is the pod's, so that a test knows it. Without a target it
    is left to the planner.
    """
    metadata = pod["metadata"]
    return await world.api.create(
        {
            "apiVersion": "rescheduler.io/v1alpha1",
            "kind": "PodMigration",
            "metadata": {"name": metadata["name"], "namespace": namespace or world.name},
            "spec": {
                "pod": {"name": metadata["name"], "uid": metadata["uid"]},
                "source": pod["spec"]["nodeName"],
                **({"target": target} if target else {}),
                "strategy": "Manual",
                "reason": "a test",
                **spec,
            },
        }
    )
