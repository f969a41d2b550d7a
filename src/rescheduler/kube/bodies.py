"""What is sent with a deletion and an eviction: always which object is meant, by its UID."""

from rescheduler.kube.api import Object


def delete_options(*, uid: str, resource_version: str = "") -> Object:
    exactly = {"uid": uid}
    if resource_version:
        exactly["resourceVersion"] = resource_version
    return {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": exactly}


def eviction(
    namespace: str, pod: str, *, uid: str, grace_seconds: int, dry_run: bool = False
) -> Object:
    options: Object = {"preconditions": {"uid": uid}, "gracePeriodSeconds": grace_seconds}
    if dry_run:
        options["dryRun"] = ["All"]
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
        "deleteOptions": options,
    }
