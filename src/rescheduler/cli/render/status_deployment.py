"""The Deployment that should run the rescheduler: why it does not, and what helps. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.cli.render.status_stuck import Stuck

Object = Mapping[str, Any]

_IMAGE: Final = ("ImagePullBackOff", "ErrImagePull", "InvalidImageName")
_CRASHES: Final = ("CrashLoopBackOff", "Error", "RunContainerError", "OOMKilled")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    deployment: Object
    pods: Sequence[Object] = ()
    """Those that it selects; none also when nobody may look at them."""

    @property
    def selector(self) -> str:
        return selector_of(self.deployment)

    @property
    def wanted(self) -> int:
        told = self.deployment["spec"].get("replicas")
        return 1 if told is None else int(told)

    @property
    def ready(self) -> int:
        return int(_status(self.deployment).get("readyReplicas") or 0)


def selector_of(deployment: Object) -> str:
    labels = (deployment["spec"].get("selector") or {}).get("matchLabels") or {}
    return ",".join(f"{key}={value}" for key, value in labels.items())


def trouble_with(installed: Installed, lease: str) -> Stuck | None:
    """Why nobody holds this lease; empty: nobody has to, as there is no election."""
    if not installed.wanted:
        return _stuck(installed, "it is scaled to 0", "scale {name} --replicas=2")
    if _only_looks(installed.deployment):
        todo = "edit {name}   # take out --dry-run, or RESCHEDULER_MODE"
        return _stuck(installed, "it only looks, and moves nothing (mode DryRun)", todo)
    counts = f"{installed.ready} of {installed.wanted} Ready"
    if not installed.ready:
        why, todo = _why_not_ready(installed)
        return _stuck(installed, f"{counts}{why}", todo)
    if not lease:
        return None
    why = (
        f"{counts}, but none holds the lease {lease}; that is as it should be only with "
        "leaderElect: false, or another lease, in its configuration"
    )
    return _stuck(installed, why, "logs -l {selector} --tail=20")


def _stuck(installed: Installed, why: str, todo: str) -> Stuck:
    metadata = installed.deployment["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    command = todo.format(name=f"deployment {name}", selector=installed.selector)
    return Stuck(
        what=f"Deployment {namespace}/{name}",
        why=why,
        todo=f"kubectl -n {namespace} {command}",
    )


def _only_looks(deployment: Object) -> bool:
    return any(
        "--dry-run" in (*(each.get("command") or ()), *(each.get("args") or ()))
        or {"name": "RESCHEDULER_MODE", "value": "DryRun"} in (each.get("env") or ())
        for each in _containers(deployment)
    )


def _why_not_ready(installed: Installed) -> tuple[str, str]:
    """The most telling of what there is, and the command for it."""
    for reason, message in _troubles(installed.pods):
        words = f": {reason}" + (f": {message}" if message else "")
        if reason in _IMAGE:
            [container, *_] = [each["name"] for each in _containers(installed.deployment)]
            return words, f"set image {{name}} {container}=YOUR/IMAGE:TAG"
        if reason in _CRASHES:
            return words, "logs -l {selector} --tail=20"
        return words, "describe pods -l {selector}"
    for kind, verdict in (("ReplicaFailure", "True"), ("Progressing", "False")):
        if message := _condition(installed.deployment, kind, verdict):
            return f": {message}", "get pods -l {selector}"
    if _is_rolled_out(installed.deployment):
        return "", "get pods -l {selector}"
    return ", and it is being rolled out", "rollout status {name}"


def _is_rolled_out(deployment: Object) -> bool:
    """Every pod is of the newest template, Ready or not."""
    status, metadata = _status(deployment), deployment["metadata"]
    is_seen = int(status.get("observedGeneration") or 0) >= int(metadata.get("generation") or 0)
    wanted = deployment["spec"].get("replicas", 1)
    return is_seen and int(status.get("updatedReplicas") or 0) >= wanted


def _troubles(pods: Sequence[Object]) -> Iterator[tuple[str, str]]:
    """What keeps containers from running, then what keeps pods from nodes: reason and message."""
    for pod in pods:
        for each in _status(pod).get("containerStatuses") or ():
            state = each.get("state") or {}
            held = state.get("waiting") or state.get("terminated") or {}
            reason = str(held.get("reason") or "")
            if reason not in ("", "ContainerCreating", "PodInitializing"):
                yield reason, str(held.get("message") or "")
    for pod in pods:
        if message := _condition(pod, "PodScheduled", "False"):
            yield "Unschedulable", message


def _condition(of: Object, kind: str, verdict: str) -> str:
    """Its message, if it is so."""
    for each in _status(of).get("conditions") or ():
        if (each.get("type"), each.get("status")) == (kind, verdict):
            return str(each.get("message") or each.get("reason") or kind)
    return ""


def _containers(deployment: Object) -> Sequence[Object]:
    found: Sequence[Object] = deployment["spec"]["template"]["spec"].get("containers") or ()
    return found


def _status(of: Object) -> Object:
    return of.get("status") or {}
