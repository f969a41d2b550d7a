"""What kube-scheduler 1.36 asks about volumes: a part of `scheduler_rules`.

Claims that wait for their first consumer are refused here, as nobody binds them in these tests.
"""

from collections.abc import Iterator

from tests.unit.plan.support.cluster_objects import (
    Cluster,
    Object,
    labels_of,
    matches_terms,
    name_of,
)

ZONE_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region": "topology.kubernetes.io/region",
}
DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")


def shares_no_disk(cluster: Cluster, pod: Object, node: Object) -> bool:
    theirs = [
        volume
        for other in cluster.pods_on(name_of(node))
        for volume in other["spec"].get("volumes") or ()
    ]
    ours = pod["spec"].get("volumes") or ()
    return not any(_is_same_disk(one, other) for one in ours for other in theirs)


def _is_same_disk(one: Object, other: Object) -> bool:
    for kind in DISKS:
        first, second = one.get(kind), other.get(kind)
        if not first or not second:
            continue
        read_only = first.get("readOnly") and second.get("readOnly")
        match kind:
            case "gcePersistentDisk":
                same = first["pdName"] == second["pdName"] and not read_only
            case "awsElasticBlockStore":
                same = first["volumeID"] == second["volumeID"]
            case "iscsi":
                same = first["iqn"] == second["iqn"] and not read_only
            case _:
                image = [(each.get("pool"), each["image"]) for each in (first, second)]
                overlap = set(first["monitors"]) & set(second["monitors"])
                same = image[0] == image[1] and bool(overlap) and not read_only
        if same:
            return True
    return False


def claim_names(pod: Object) -> list[str]:
    return [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in pod["spec"].get("volumes") or ()
        if volume.get("persistentVolumeClaim")
    ]


def claims_of(cluster: Cluster, pod: Object) -> list[Object]:
    """Those that are there."""
    found = [
        cluster.find("PersistentVolumeClaim", name, pod["metadata"]["namespace"])
        for name in claim_names(pod)
    ]
    return [each for each in found if each is not None]


def volumes_of(cluster: Cluster, pod: Object) -> list[Object]:
    found = [
        cluster.find("PersistentVolume", claim["spec"].get("volumeName") or "")
        for claim in claims_of(cluster, pod)
    ]
    return [each for each in found if each is not None]


def has_its_claims(cluster: Cluster, pod: Object, _: Object) -> bool:
    """Every claim is there, is bound, and so is its volume; those of ephemeral volumes are made by
    a controller.
    """
    claims = claims_of(cluster, pod)
    ephemeral = any("ephemeral" in each for each in pod["spec"].get("volumes") or ())
    return (
        not ephemeral
        and len(claims) == len(claim_names(pod)) == len(volumes_of(cluster, pod))
        and all((each.get("status") or {}).get("phase") == "Bound" for each in claims)
        and not any("deletionTimestamp" in each["metadata"] for each in claims)
    )


def shares_no_exclusive_claim(cluster: Cluster, pod: Object, _: Object) -> bool:
    exclusive = {
        each["metadata"]["name"]
        for each in claims_of(cluster, pod)
        if "ReadWriteOncePod" in each["spec"]["accessModes"]
    }
    namespace = pod["metadata"]["namespace"]
    return not any(
        exclusive.intersection(claim_names(other))
        for other, _ in cluster.present()
        if other["metadata"]["namespace"] == namespace
    )


def can_attach(cluster: Cluster, pod: Object, node: Object) -> bool:
    drivers = (cluster.find("CSINode", name_of(node)) or {"spec": {}})["spec"].get("drivers") or ()
    limits = {
        each["name"]: each["allocatable"]["count"]
        for each in drivers
        if (each.get("allocatable") or {}).get("count") is not None
    }
    used = {each for other in cluster.pods_on(name_of(node)) for each in _attached(cluster, other)}
    new = set(_attached(cluster, pod)) - used
    for attachment in cluster.all("VolumeAttachment"):
        if attachment["spec"]["nodeName"] == name_of(node):
            name = attachment["spec"]["source"].get("persistentVolumeName") or ""
            used |= set(_attachable(cluster.find("PersistentVolume", name)))
    return all(
        sum(driver == each for driver, _ in used) + sum(driver == each for driver, _ in new)
        <= limit
        for each, limit in limits.items()
        if any(driver == each for driver, _ in new)
    )


def _attached(cluster: Cluster, pod: Object) -> Iterator[tuple[str, str]]:
    for volume in volumes_of(cluster, pod):
        yield from _attachable(volume)


def _attachable(volume: Object | None) -> Iterator[tuple[str, str]]:
    csi = volume["spec"].get("csi") if volume else None
    if csi:
        yield csi["driver"], csi["volumeHandle"]


def volumes_reach_the_node(cluster: Cluster, pod: Object, node: Object) -> bool:
    wanted = [
        (volume["spec"].get("nodeAffinity") or {}).get("required")
        for volume in volumes_of(cluster, pod)
    ]
    return all(matches_terms(each["nodeSelectorTerms"], node) for each in wanted if each)


def volumes_are_in_its_zone(cluster: Cluster, pod: Object, node: Object) -> bool:
    labels = labels_of(node)
    if not labels.keys() & ZONE_LABELS.keys():
        return True
    for volume in volumes_of(cluster, pod):
        for key in labels_of(volume).keys() & ZONE_LABELS.keys():
            zones = labels_of(volume)[key].split("__")
            if labels.get(key, labels.get(ZONE_LABELS[key])) not in zones:
                return False
    return True
