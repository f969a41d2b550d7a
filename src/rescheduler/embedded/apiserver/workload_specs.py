"""What workloads and disruption budgets must be like to be accepted (pkg/apis/{apps,batch,policy}).

Whoever changes a strategy by a merge patch is told here of the settings of the old one that are
left over, as on a real cluster; and no controller ever sees what it cannot count with.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from rescheduler import wire
from rescheduler.embedded.apiserver import pod_specs, refusals
from rescheduler.embedded.apiserver.refusals import FieldProblem
from rescheduler.kube import Object
from rescheduler.model import selectors
from rescheduler.model.selectors import InvalidSelectorError
from rescheduler.wire import Resource

_SCALED: Final = (wire.DEPLOYMENTS, wire.REPLICA_SETS, wire.STATEFUL_SETS)
_PERCENT: Final = re.compile(r"([0-9]+)%")
_MOST_PERCENT: Final = 100
_ROLLING: Final = "RollingUpdate"
_NOT_NEGATIVE: Final = "must be greater than or equal to 0"


# ------------------------------------------------------------------ all of them


def of_workload(resource: Resource, item: Object) -> Iterator[FieldProblem]:
    spec = item["spec"]
    if resource in _SCALED:
        yield from _of_count(spec.get("replicas"), "spec.replicas")
    for field in ("minReadySeconds", "revisionHistoryLimit"):
        yield from _of_count(spec.get(field), f"spec.{field}")
    yield from _of_selector(spec.get("selector"), spec["template"])
    yield from _of_template(spec["template"])
    found = spec["template"]["spec"].get("restartPolicy")
    if found != "Always":
        yield refusals.unsupported("spec.template.spec.restartPolicy", found, ("Always",))
    if resource == wire.DEPLOYMENTS:
        yield from _of_deployment(spec)
    elif resource == wire.STATEFUL_SETS:
        yield from _of_stateful_set(spec)
    elif resource == wire.DAEMON_SETS:
        yield from _of_daemon_set(spec)


def of_job(item: Object) -> Iterator[FieldProblem]:
    spec = item["spec"]
    for field in ("parallelism", "completions", "backoffLimit"):
        yield from _of_count(spec.get(field), f"spec.{field}")
    if spec["completionMode"] == "Indexed" and spec.get("completions") is None:
        why = "when completion mode is Indexed"
        yield refusals.required("spec.completions", why)
    yield from _of_template(spec["template"])
    found = spec["template"]["spec"].get("restartPolicy")
    if found not in ("OnFailure", "Never"):
        yield refusals.unsupported(
            "spec.template.spec.restartPolicy", found, ("OnFailure", "Never")
        )


def _of_count(count: int | None, path: str) -> Iterator[FieldProblem]:
    if count is not None and count < 0:
        yield refusals.invalid_value(path, count, _NOT_NEGATIVE)


def _of_selector(selector: Object | None, template: Object) -> Iterator[FieldProblem]:
    if selector is None:
        yield refusals.required("spec.selector")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        yield refusals.invalid_value("spec.selector", selector, "empty selector is invalid")
    marks = template["metadata"].get("labels")
    try:
        matches = selectors.from_object(selector).matches(marks or {})
    except InvalidSelectorError as problem:
        yield refusals.invalid_value("spec.selector", selector, str(problem))
        return
    if not matches:
        why = "`selector` does not match template `labels`"
        yield refusals.invalid_value("spec.template.metadata.labels", marks, why)


def _of_template(template: Object) -> Iterator[FieldProblem]:
    yield from pod_specs.of_labels("spec.template.labels", template["metadata"].get("labels"))
    yield from pod_specs.of_spec(template["spec"], "spec.template.spec")


# ------------------------------------------------------------------ how they change their pods


def _of_deployment(spec: Object) -> Iterator[FieldProblem]:
    deadline, least = spec["progressDeadlineSeconds"], spec.get("minReadySeconds", 0)
    if deadline <= least:
        why = "must be greater than minReadySeconds"
        yield refusals.invalid_value("spec.progressDeadlineSeconds", deadline, why)
    strategy, path = spec["strategy"], "spec.strategy"
    settings = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "RollingUpdate":
            yield from _of_rolling_deployment(settings or {}, f"{path}.rollingUpdate")
        case "Recreate":
            if settings is not None:
                why = "may not be specified when strategy `type` is 'Recreate'"
                yield refusals.forbidden_field(f"{path}.rollingUpdate", why)
        case _:
            yield refusals.unsupported(path, strategy, ("Recreate", _ROLLING))


def _of_rolling_deployment(settings: Object, path: str) -> Iterator[FieldProblem]:
    missing, surge = settings.get("maxUnavailable", 0), settings.get("maxSurge", 0)
    yield from _of_portion(missing, f"{path}.maxUnavailable", at_most_all=True)
    yield from _of_portion(surge, f"{path}.maxSurge")
    if not _number(missing) and not _number(surge):
        why = "may not be 0 when `maxSurge` is 0"
        yield refusals.invalid_value(f"{path}.maxUnavailable", missing, why)


def _of_stateful_set(spec: Object) -> Iterator[FieldProblem]:
    policy = spec["podManagementPolicy"]
    if policy not in ("OrderedReady", "Parallel"):
        why = "must be 'OrderedReady' or 'Parallel'"
        yield refusals.invalid_value("spec.podManagementPolicy", policy, why)
    yield from _of_count((spec.get("ordinals") or {}).get("start"), "spec.ordinals.start")
    strategy, path = spec["updateStrategy"], "spec.updateStrategy"
    settings = strategy.get("rollingUpdate")
    match strategy["type"]:
        case "RollingUpdate":
            partition = (settings or {}).get("partition")
            yield from _of_count(partition, f"{path}.rollingUpdate.partition")
        case "OnDelete":
            if settings is not None:
                why = "only allowed for updateStrategy 'RollingUpdate'"
                yield refusals.invalid_value(f"{path}.rollingUpdate", settings, why)
        case _:
            why = "must be 'RollingUpdate' or 'OnDelete'"
            yield refusals.invalid_value(path, strategy, why)


def _of_daemon_set(spec: Object) -> Iterator[FieldProblem]:
    strategy, path = spec["updateStrategy"], "spec.updateStrategy"
    if strategy["type"] not in (_ROLLING, "OnDelete"):
        yield refusals.unsupported(path, strategy, (_ROLLING, "OnDelete"))
    if strategy["type"] != _ROLLING:
        return
    settings, path = strategy["rollingUpdate"], f"{path}.rollingUpdate"
    missing, surge = settings["maxUnavailable"], settings["maxSurge"]
    yield from _of_portion(missing, f"{path}.maxUnavailable", at_most_all=True)
    yield from _of_portion(surge, f"{path}.maxSurge", at_most_all=True)
    if _number(missing) and _number(surge):
        why = "may not be set when maxUnavailable is non-zero"
        yield refusals.invalid_value(f"{path}.maxSurge", surge, why)
    elif not _number(missing) and not _number(surge):
        yield refusals.required(f"{path}.maxUnavailable", "cannot be 0 when maxSurge is 0")


# ------------------------------------------------------------------ budgets


def of_budget(item: Object) -> Iterator[FieldProblem]:
    spec = item.get("spec") or {}
    if "minAvailable" in spec and "maxUnavailable" in spec:
        why = "minAvailable and maxUnavailable cannot be both set"
        yield refusals.invalid_value("spec", "", why)
    for field in ("minAvailable", "maxUnavailable"):
        if field in spec:
            yield from _of_portion(spec[field], f"spec.{field}", at_most_all=True)
    policy = spec.get("unhealthyPodEvictionPolicy", "AlwaysAllow")
    if policy not in ("AlwaysAllow", "IfHealthyBudget"):
        path = "spec.unhealthyPodEvictionPolicy"
        yield refusals.unsupported(path, policy, ("AlwaysAllow", "IfHealthyBudget"))
    try:
        selectors.from_object(spec.get("selector"))
    except InvalidSelectorError as problem:
        yield refusals.invalid_value("spec.selector", spec.get("selector"), str(problem))


# ------------------------------------------------------------------ numbers and shares


def _of_portion(value: Any, path: str, *, at_most_all: bool = False) -> Iterator[FieldProblem]:  # noqa: ANN401 - any JSON
    is_share = isinstance(value, str) and _PERCENT.fullmatch(value) is not None
    if not is_share and not (isinstance(value, int) and value >= 0):
        why = "must be a non-negative integer or a percentage such as 25%"
        yield refusals.invalid_value(path, value, why)
    elif is_share and at_most_all and _number(value) > _MOST_PERCENT:
        yield refusals.invalid_value(path, value, "must not be greater than 100%")


def _number(value: int | str) -> int:
    """The number itself or that of percents; none of what is neither."""
    if isinstance(value, int):
        return value
    found = _PERCENT.fullmatch(value)
    return int(found[1]) if found else 0
