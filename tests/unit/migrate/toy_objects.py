"""What a toy cluster is made of: Kubernetes objects as dicts, and small questions about them."""

import math
from collections.abc import Mapping
from typing import Any

from rescheduler.model import conditions

Object = dict[str, Any]


class Refused(Exception):
    """The server said no, or said nothing."""


class BudgetRefused(Refused): ...


class SeveralBudgets(Refused): ...


def name_of(raw: Object) -> str:
    return str(raw["metadata"]["name"])


def version_of(pod: Object) -> str:
    return str(pod["metadata"]["resourceVersion"])


def touch(pod: Object) -> None:
    pod["metadata"]["resourceVersion"] = str(int(version_of(pod)) + 1)


def patch(pod: Object, change: Mapping[str, Any]) -> None:
    """Its labels and annotations, if it is as whoever asks has seen it."""
    metadata = pod["metadata"]
    if change.get("resourceVersion", metadata["resourceVersion"]) != version_of(pod):
        raise Refused("Conflict")
    for kind in ("labels", "annotations"):
        for key, value in change.get(kind, {}).items():
            if value is None:
                metadata[kind].pop(key, None)
            else:
                metadata[kind][key] = value
    touch(pod)


def labels_of(raw: Object) -> dict[str, str]:
    return raw["metadata"].get("labels") or {}


def controller_of(owned: Object) -> str | None:
    references = owned["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in references if each.get("controller")), None)


def is_active(pod: Object) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and pod["status"]["phase"] != "Failed"


def is_ready(pod: Object) -> bool:
    return conditions.holds(pod, "Ready")


def set_ready(pod: Object, *, ready: bool) -> None:
    pod["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]


def selects(holder: Object, pod: Object) -> bool:
    wanted: dict[str, str] = holder["spec"]["selector"]["matchLabels"]
    return all(labels_of(pod).get(key) == value for key, value in wanted.items())


def clone(value: Any) -> Any:  # noqa: ANN401 - JSON; copy.deepcopy takes five times as long
    if isinstance(value, dict):
        return {key: clone(each) for key, each in value.items()}
    return [clone(each) for each in value] if isinstance(value, list) else value


def wanted_of(workload: Object) -> int:
    spec = workload["spec"]
    return int(spec["parallelism"] if workload["kind"] == "Job" else spec["replicas"])


def part_of(value: int | str, of: int) -> int:
    return value if isinstance(value, int) else math.ceil(int(value[:-1]) * of / 100)
