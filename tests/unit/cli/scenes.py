"""Scenes of a demo, as a test wants them."""

from datetime import UTC, datetime
from typing import Any

from rescheduler.model.podmigration import Way
from rescheduler.simulation.scenes import MoveLook, MoveScene, NodeLook, NodeScene, PodLook, Scene


def node(name: str, used: float = 50.0, *, pods: int = 5, **others: Any) -> NodeScene:  # noqa: ANN401
    return NodeScene(
        name=name,
        requested=min(used + 10, 100.0),
        used={"cpu": used, "memory": used / 2},
        pods=(PodLook.SERVING,) * pods,
        **others,
    )


def move(pod: str, look: MoveLook = MoveLook.UNDER_WAY, **others: Any) -> MoveScene:  # noqa: ANN401
    return MoveScene(
        **{
            "pod": f"shop/{pod}",
            "source": "node-01",
            "target": "node-02",
            "strategy": "LoadBalancing",
            "reason": "cpu usage: node-01 90.0 %, node-02 1.0 %, gap 89.0 points",
            "look": look,
            "way": Way.SURGE,
            "step": "WaitReady",
            **others,
        }
    )


def scene(
    nodes: int = 30,
    moves: tuple[MoveScene, ...] = (),
    **others: Any,  # noqa: ANN401
) -> Scene:
    return Scene(
        at=datetime(2026, 1, 5, 10, 3, 12, tzinfo=UTC),
        nodes=tuple(
            node(
                f"node-{number:02}",
                95.0 if number < 4 else 40.0,
                look=NodeLook.MAINTENANCE if number == 3 else NodeLook.PLAIN,
            )
            for number in range(1, nodes + 1)
        ),
        moves=moves,
        **{"imbalance": {"cpu": 88.0, "memory": 61.0}, **others},
    )
