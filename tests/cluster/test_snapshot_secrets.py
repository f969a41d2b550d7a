"""What users write freely never gets into a file: no secret, no environment, no annotation."""

import gzip
import json
from pathlib import Path

from testbed.api import Object
from testbed.builders import deployment, job, pod, pod_spec, service, workload
from testbed.world import World
from tests.cluster.snapshots import own, run, save, settle, snapshot

CANARY = "canary-"


def with_canaries(spec: Object) -> Object:
    """A pod's specification with a word of its own in every place where people write freely."""
    spec["containers"][0] |= {
        "image": f"registry.local/{CANARY}image:1",
        "command": [f"{CANARY}command"],
        "args": [f"{CANARY}args"],
        "workingDir": f"/{CANARY}folder",
        "env": [
            {"name": "CANARY_ENV_NAME", "value": f"{CANARY}env"},
            {
                "name": "FROM",
                "valueFrom": {
                    "secretKeyRef": {"name": f"{CANARY}secret-ref", "key": "k", "optional": True}
                },
            },
        ],
        "envFrom": [{"configMapRef": {"name": f"{CANARY}config-ref", "optional": True}}],
        "livenessProbe": {"exec": {"command": [f"{CANARY}probe"]}},
        "lifecycle": {"preStop": {"exec": {"command": [f"{CANARY}hook"]}}},
        "volumeMounts": [{"name": "secret", "mountPath": f"/{CANARY}mount"}],
    }
    spec["initContainers"] = [
        {
            "name": "init",
            "image": "init:1",
            "env": [{"name": "INIT", "value": f"{CANARY}init-env"}],
        }
    ]
    spec["imagePullSecrets"] = [{"name": f"{CANARY}pull-secret"}]
    spec["hostAliases"] = [{"ip": "10.0.0.1", "hostnames": [f"{CANARY}host"]}]
    spec["volumes"] = [
        {"name": "secret", "secret": {"secretName": f"{CANARY}secret-volume", "optional": True}},
        {"name": "config", "configMap": {"name": f"{CANARY}config-volume", "optional": True}},
        {"name": "host", "hostPath": {"path": f"/{CANARY}host-path"}},
    ]
    return spec


def marked(manifest: Object) -> Object:
    kind = manifest["kind"].lower()
    annotations = manifest["metadata"].setdefault("annotations", {})
    annotations[f"example.com/{CANARY}key-{kind}"] = f"{CANARY}annotation-{kind}"
    template = (manifest.get("spec") or {}).get("template")
    if template is not None:
        of_template = template["metadata"].setdefault("annotations", {})
        of_template[f"{CANARY}template-key"] = f"{CANARY}template-annotation-{kind}"
    return manifest


PLACES = (
    *("image:1", "command", "args", "folder", "env", "secret-ref", "config-ref", "probe", "hook"),
    *("mount", "init-env", "pull-secret", "host", "secret-volume", "config-volume", "host-path"),
    *("secret-data", "config-data", "key-node", "annotation-node", "annotation-pod"),
    *("annotation-deployment", "annotation-daemonset", "annotation-statefulset", "annotation-job"),
    *("annotation-service", "template-annotation-deployment", "template-annotation-daemonset"),
    *("template-annotation-statefulset", "template-annotation-job", "manager"),
)


async def test_no_text_of_users_gets_into_a_file(world: World, kubectl: Path) -> None:
    [name] = await world.add_nodes(1)
    manifests = [
        marked(deployment("web", replicas=1, spec=with_canaries(pod_spec()))),
        marked(workload("DaemonSet", "agent", spec=with_canaries(pod_spec()))),
        marked(
            workload(
                "StatefulSet", "db", spec=with_canaries(pod_spec()), replicas=1, serviceName="db"
            )
        ),
        marked(job("once", spec=with_canaries(pod_spec()))),
        marked(pod("alone", spec=with_canaries(pod_spec()))),
        marked(service("web")),
        marked(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": "secret"},
                "stringData": {"password": f"{CANARY}secret-data"},
            }
        ),
        marked(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "config"},
                "data": {"text": f"{CANARY}config-data"},
            }
        ),
    ]
    for each in manifests:
        each["metadata"]["namespace"] = world.name
        world._confine(each)  # noqa: SLF001 - kubectl creates them, so that it leaves its mark
    await apply(world, kubectl, *manifests)
    annotations = {f"example.com/{CANARY}key-node": f"{CANARY}annotation-node"}
    await world.api.patch("Node", None, name, {"metadata": {"annotations": annotations}})
    await world.api.request(
        "PATCH",
        f"/api/v1/namespaces/{world.name}/pods/alone",
        query={"fieldManager": f"{CANARY}manager"},
        body={"metadata": {"labels": {"touched": "yes"}}},
        content_type="application/merge-patch+json",
    )
    await settle(world, ("web", "Deployment"), ("db", "StatefulSet"))

    # All of them are on the server, so they could have got into the file.
    asked = "nodes,pods,deployments,daemonsets,statefulsets,jobs,services,secrets,configmaps"
    admin = ("--kubeconfig", str(world.instance.admin_kubeconfig))
    shown = await run(
        world, kubectl, "get", asked, "-A", "-o", "json", "--show-managed-fields", *admin
    )
    assert [place for place in PLACES if CANARY + place not in shown.out] == []
    assert "last-applied-configuration" in shown.out

    ended, path = await save(world)
    printed = world.folder / "kubectl.json"
    printed.write_text(shown.out)
    converted = world.folder / "converted.json"
    second = await snapshot(world, "save", str(converted), "-f", str(printed), online=False)
    assert (ended.code, second.code) == (0, 0), (ended, second)
    for text in (gzip.decompress(path.read_bytes()).decode(), converted.read_text()):
        kept = {each["metadata"]["name"] for each in own(world, json.loads(text)["items"])}
        assert kept >= {name, "alone", "web", "agent", "db-0", "once"}
        around = [text[at - 60 : at + 60] for at in _places(text, CANARY)]
        assert around == []
        for word in ("CANARY_ENV_NAME", "last-applied", "managedFields"):
            assert word not in text


def _places(text: str, word: str) -> list[int]:
    return [at for at in range(len(text)) if text.startswith(word, at)]


async def apply(world: World, kubectl: Path, *manifests: Object) -> None:
    path = world.folder / "manifests.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests}))
    login = ("--kubeconfig", str(world.instance.admin_kubeconfig), "--namespace", world.name)
    ended = await run(world, kubectl, "apply", "-f", str(path), *login)
    assert ended.code == 0, ended
