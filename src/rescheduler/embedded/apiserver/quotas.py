"""ResourceQuotas: what an object is charged, and whether there is that much left.

As k8s.io/kubernetes/pkg/quota/v1/evaluator/core and the admission plugin ResourceQuota do it: the
status of a quota says what is used, and whoever comes in adds to it; the quota controller counts
anew.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from rescheduler import wire
from rescheduler.embedded.apiserver import admitting, refusals
from rescheduler.kube import Object
from rescheduler.model import quantities, resources, selectors
from rescheduler.wire import Resource

if TYPE_CHECKING:
    from rescheduler.embedded.apiserver.server import ApiServer

Amounts = Mapping[str, int]
"""By the names that quotas have for things, in billionths."""

_NANOS: Final = 10**9
_MILLIS: Final = 10**6
_COMPUTE: Final = (resources.CPU, resources.MEMORY, resources.EPHEMERAL_STORAGE)
_HUGE_PAGES: Final = "hugepages-"
_MUST_BE_SPECIFIED: Final = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "requests.cpu": ("requests", "cpu"),
    "requests.memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}
_OLD_COUNTS: Final = {
    wire.SERVICES: "services",
    wire.PERSISTENT_VOLUME_CLAIMS: "persistentvolumeclaims",
    wire.RESOURCE_QUOTAS: "resourcequotas",
    Resource("v1", "configmaps"): "configmaps",
}
_BINARY_UNITS: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_KIBI: Final = 1024


class Charge(NamedTuple):
    quota: Object
    amounts: Amounts


def checked(api: "ApiServer", resource: Resource, item: Object) -> Collection[Charge]:
    """What is to be charged when it is stored.

    Raises:
        Forbidden: a quota does not have so much left.
    """
    namespace = item["metadata"].get("namespace")
    found = api.in_namespace(wire.RESOURCE_QUOTAS, namespace) if namespace else ()
    if not found:
        return ()
    asked = usage_of(resource, item, api.now())
    charges = []
    for quota in sorted(found, key=lambda each: str(each["metadata"]["name"])):
        if not matches(quota, resource, item):
            continue
        charge = _charge(quota, resource, item, asked)
        if charge.amounts:
            charges.append(charge)
    for charge in charges:
        _check_room(resource, item["metadata"]["name"], charge)
    return charges


def charge(api: "ApiServer", charges: Iterable[Charge]) -> None:
    for quota, amounts in charges:
        status = quota["status"]
        used = dict(status["used"])
        for name, amount in amounts.items():
            total = quantities.nanos(used[name]) + amount
            used[name] = in_words(total, like=status["hard"][name])
        api.set_status(wire.RESOURCE_QUOTAS, quota, {**status, "used": used})


def _charge(quota: Object, resource: Resource, item: Object, asked: Amounts) -> Charge:
    status, name = quota.get("status") or {}, item["metadata"]["name"]
    hard, used = status.get("hard") or {}, status.get("used") or {}
    counted = [each for each in sorted(hard) if is_about(each, resource)]
    if resource == wire.PODS and (missing := _unspecified(item["spec"], counted)):
        why = f"failed quota: {quota['metadata']['name']}: must specify {missing}"
        raise refusals.forbidden(resource, name, why)
    if any(each not in used for each in counted):
        what = ",".join(counted)
        why = f"status unknown for quota: {quota['metadata']['name']}, resources: {what}"
        raise refusals.forbidden(resource, name, why)
    return Charge(quota, {each: asked[each] for each in counted if asked.get(each)})


def _check_room(resource: Resource, name: str, charge: Charge) -> None:
    status = charge.quota["status"]
    hard, used = status["hard"], status["used"]
    over = [
        each
        for each, amount in charge.amounts.items()
        if quantities.nanos(used[each]) + amount > quantities.nanos(hard[each])
    ]
    if not over:
        return
    asked = ",".join(f"{each}={in_words(charge.amounts[each], like=hard[each])}" for each in over)
    taken = ",".join(f"{each}={used[each]}" for each in over)
    limited = ",".join(f"{each}={hard[each]}" for each in over)
    why = (
        f"exceeded quota: {charge.quota['metadata']['name']}, requested: {asked}, used: {taken}, "
        f"limited: {limited}"
    )
    raise refusals.forbidden(resource, name, why)


# ------------------------------------------------------------------ what is charged


def usage_of(resource: Resource, item: Object, now: datetime) -> Amounts:
    """What an object takes of every quota that is about it."""
    counted = {_count_name(resource): _NANOS}
    if resource in _OLD_COUNTS:
        counted[_OLD_COUNTS[resource]] = _NANOS
    if resource == wire.PERSISTENT_VOLUME_CLAIMS:
        return counted | _of_claim(item)
    if resource != wire.PODS or not _is_charged(item, now):
        return counted
    return counted | {"pods": _NANOS} | _of_pod(item)


def is_about(name: str, resource: Resource) -> bool:
    """Whether a quota's resource of this name counts objects of this kind."""
    if name in (_count_name(resource), _OLD_COUNTS.get(resource)):
        return True
    if resource == wire.PERSISTENT_VOLUME_CLAIMS:
        return name == "requests.storage" or ".storageclass.storage.k8s.io/" in name
    if resource != wire.PODS:
        return False
    plain = name.removeprefix("requests.").removeprefix("limits.")
    is_extended = name.startswith("requests.") and "/" in plain and "storageclass" not in plain
    return name == "pods" or plain in _COMPUTE or plain.startswith(_HUGE_PAGES) or is_extended


def _count_name(resource: Resource) -> str:
    group = resource.group_version.rpartition("/")[0]
    return f"count/{resource.plural}.{group}" if group else f"count/{resource.plural}"


def _is_charged(pod: Object, now: datetime) -> bool:
    """One that has ended takes nothing any more, nor one that should be gone by now and is not."""
    if (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return False
    metadata = pod["metadata"]
    if "deletionTimestamp" not in metadata:
        return True
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return now <= datetime.fromisoformat(metadata["deletionTimestamp"]) + grace


def _of_pod(pod: Object) -> dict[str, int]:
    spec = pod["spec"]
    asked = resources.of_pod(spec, pod.get("status"))
    limits = resources.of_pod(_with_limits(spec), None)
    charged: dict[str, int] = {}
    for name, amount in asked.items():
        nanos = amount * (_MILLIS if name == resources.CPU else _NANOS)
        if name in _COMPUTE or name.startswith(_HUGE_PAGES):
            charged[name] = charged[f"requests.{name}"] = nanos
        elif "/" in name:
            charged[f"requests.{name}"] = nanos
    for name in _COMPUTE:
        if name in limits:
            charged[f"limits.{name}"] = limits[name] * (
                _MILLIS if name == resources.CPU else _NANOS
            )
    return charged


def _with_limits(spec: Object) -> Object:
    """Limits add up as requests do."""

    def limited(holder: Object) -> Object:
        limits = (holder.get("resources") or {}).get("limits") or {}
        return {**holder, "resources": {"requests": limits}}

    return {
        **limited(spec),
        "containers": [limited(each) for each in spec.get("containers") or ()],
        "initContainers": [limited(each) for each in spec.get("initContainers") or ()],
    }


def _of_claim(claim: Object) -> dict[str, int]:
    spec = claim.get("spec") or {}
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    charged = {"requests.storage": quantities.nanos(asked)} if asked else {}
    if of_class := spec.get("storageClassName"):
        prefix = f"{of_class}.storageclass.storage.k8s.io/"
        charged = {
            **charged,
            **{prefix + name: amount for name, amount in charged.items()},
            prefix + "persistentvolumeclaims": _NANOS,
        }
    return charged


def _unspecified(spec: Object, counted: Iterable[str]) -> str:
    """Where a quota counts cpu or memory, each container has to say how much."""
    if spec.get("resources"):
        return ""
    missing = []
    for name in counted:
        if name not in _MUST_BE_SPECIFIED:
            continue
        kind, what = _MUST_BE_SPECIFIED[name]
        without = sorted(
            each.get("name", "")
            for kinds in ("containers", "initContainers")
            for each in spec.get(kinds) or ()
            if what not in ((each.get("resources") or {}).get(kind) or {})
        )
        if without:
            missing.append(f"{name} for: {','.join(without)}")
    return "; ".join(missing)


# ------------------------------------------------------------------ which objects a quota is about


def matches(quota: Object, resource: Resource, item: Object) -> bool:
    spec = quota.get("spec") or {}
    if not any(is_about(name, resource) for name in spec.get("hard") or {}):
        return False
    scopes: list[tuple[str, str, list[str]]] = [
        (scope, "Exists", []) for scope in spec.get("scopes") or ()
    ]
    scopes += [
        (each.get("scopeName", ""), each.get("operator", ""), list(each.get("values") or ()))
        for each in (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    ]
    # Only pods have what scopes ask for.
    return all(resource == wire.PODS and _is_in_scope(item, *each) for each in scopes)


def _is_in_scope(pod: Object, scope: str, operator: str, values: list[str]) -> bool:
    spec = pod["spec"]
    has_deadline = (spec.get("activeDeadlineSeconds") or -1) >= 0
    match scope:
        case "Terminating":
            return has_deadline
        case "NotTerminating":
            return not has_deadline
        case "BestEffort":
            return admitting.quality_of(spec) == "BestEffort"
        case "NotBestEffort":
            return admitting.quality_of(spec) != "BestEffort"
        case "PriorityClass":
            return _is_of_class(spec.get("priorityClassName") or "", operator, values)
        case "CrossNamespacePodAffinity":
            return _crosses_namespaces(spec)
    return False


def _is_of_class(name: str, operator: str, values: list[str]) -> bool:
    if operator == "Exists":
        return bool(name)
    expression = {"key": "class", "operator": operator, "values": values}
    try:
        selector = selectors.from_object({"matchExpressions": [expression]})
    except selectors.InvalidSelectorError:
        return False
    return selector.matches({"class": name} if name else {})


def _crosses_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    terms: list[Object] = []
    for kind in ("podAffinity", "podAntiAffinity"):
        given = affinity.get(kind) or {}
        terms += given.get("requiredDuringSchedulingIgnoredDuringExecution") or []
        terms += [
            each.get("podAffinityTerm") or {}
            for each in given.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]
    return any(
        each.get("namespaces") or each.get("namespaceSelector") is not None for each in terms
    )


# ------------------------------------------------------------------ words


def in_words(nanos: int, *, like: str | int = "") -> str:
    """As the API server writes it: in the family of units that `like` is in."""
    if nanos % _NANOS:
        return f"{nanos // _MILLIS}m" if nanos % _MILLIS == 0 else f"{nanos}n"
    amount, unit = nanos // _NANOS, ""
    if str(like).endswith("i"):
        for each in _BINARY_UNITS:
            if not amount or amount % _KIBI:
                break
            amount, unit = amount // _KIBI, each
    return f"{amount}{unit}"
