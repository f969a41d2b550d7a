"""What we make use of and the API server may lack: found out once, at the start, and told."""

from dataclasses import dataclass
from typing import Final

import structlog

from rescheduler.kube import KubeApi, errors


@dataclass(frozen=True, slots=True)
class Feature:
    name: str
    group_version: str
    resource: str
    """By which a server shows that it has it."""
    without: str
    """What becomes of moves there."""


FEATURES: Final = (
    Feature(
        "MutatingAdmissionPolicy v1",
        "admissionregistration.k8s.io/v1",
        "mutatingadmissionpolicies",
        "successors of evicted pods are not steered (migration.fallback), and originals take up to "
        "21 s to leave their Services; it comes with Kubernetes 1.36",
    ),
    Feature(
        "in-place resize",
        "v1",
        "pods/resize",
        "no pod is resized, so none has to keep its size; it comes with Kubernetes 1.33",
    ),
)


async def lacking(kube: KubeApi) -> list[Feature]:
    groups = {each.group_version for each in FEATURES}
    served = {group: await kube.served(group) for group in sorted(groups)}
    return [each for each in FEATURES if each.resource not in served[each.group_version]]


async def tell(kube: KubeApi) -> None:
    """Nothing depends on it: who cannot find out goes on, and moves find out by themselves."""
    log = structlog.get_logger()
    try:
        found = await lacking(kube)
    except errors.KubeError as problem:
        log.info("what the API server lacks is not known", problem=str(problem))
        return
    for each in found:
        log.warning("the API server lacks a feature", feature=each.name, so=each.without)
