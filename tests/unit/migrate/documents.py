"""Records of migrations, as short as tests want them."""

from typing import Any

from rescheduler.config import Migration
from rescheduler.migrate.deciding import records
from rescheduler.model.moves import Move, Way

Object = dict[str, Any]


def move(pod: str = "web-1", **fields: Any) -> Move:  # noqa: ANN401
    given: dict[str, Any] = {
        "namespace": "shop",
        "pod": pod,
        "uid": f"uid-of-{pod}",
        "source": "node-a",
        "target": "node-b",
        "strategy": "LoadBalancing",
        "reason": "a test",
        "way": Way.SURGE,
    }
    return Move(**(given | fields))


def record(  # noqa: PLR0913
    pod: str = "web-1",
    *,
    phase: str = "",
    attempt: int = 1,
    created: str = "2026-01-01T00:00:00Z",
    ended: str = "",
    group: str = "",
    group_size: int = 0,
    status: Object | None = None,
    **fields: Any,  # noqa: ANN401
) -> Object:
    """As the API server has it."""
    made = records.build(
        move(pod, **fields), Migration(), attempt=attempt, group=group, group_size=group_size
    )
    made["metadata"] |= {
        "uid": f"record-{made['metadata']['name']}",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": created,
    }
    given = {key: value for key, value in (("phase", phase), ("completionTime", ended)) if value}
    return made | {"status": {**given, **(status or {})}}
