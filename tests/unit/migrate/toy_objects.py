"""What a toy cluster is made of: Kubernetes objects as dicts, and small questions about them."""

import math
from typing import Any

from rescheduler.model import conditions

Object = dict[str, Any]


def name_of(raw: Object) -> str:
    return str(raw["metadata"]["name"])


def version_of(pod: Object) -> str:
    return str(pod["metadata"]["resourceVersion"])


def touch(pod: Object) -> None:
    pod["metadata"]["resourceVersion"] = str(int(version_of(pod)) + 1)


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
