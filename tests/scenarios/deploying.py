"""The scene that most scenarios are set in."""

from typing import Any

from testbed.api import Object
from testbed.builders import deployment, service
from testbed.scenarios import Scene


async def deploy_web(
    world: Scene,
    replicas: int,
    *more: Object,
    **settings: Any,  # noqa: ANN401 - further fields of the web's spec
) -> tuple[str, str]:
    """A web of so many replicas on the first of two nodes, behind a Service.

    Beside it ballast that wants to be left alone, so that there is something to gain by moving even
    the only pod of a web of one.
    """
    full, empty = await world.add_nodes(2)
    await world.create(service("web"), *more)
    ballast = deployment("ballast", replicas=2)
    labels = ballast["spec"]["template"]["metadata"]["labels"]
    labels["scheduler.alpha.kubernetes.io/rescheduling"] = "disabled"
    await world.deploy(ballast, deployment("web", replicas=replicas, **settings), on=full)
    return full, empty
