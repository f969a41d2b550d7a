"""A big cluster, here a small one: what was written past the API server is as if it had made it."""

import asyncio
from collections import Counter

import pytest

from testbed.api import Api, Object
from testbed.audit import is_ready
from testbed.big_cluster import big_cluster
from testbed.instance import InstanceError

NODES, PODS = 20, 400


def name_of(found: Object) -> tuple[str, str]:
    return found["metadata"].get("namespace", ""), found["metadata"]["name"]


async def test_a_cluster_that_is_written_into_etcd_is_whole() -> None:
    async with big_cluster(NODES, PODS) as (owned, _):
        assert owned.instance.pids.keys() == {"etcd", "kube-apiserver"}
        with pytest.raises(InstanceError, match="kube-apiserver is running"):
            owned.start("kube-apiserver")
        instance = owned.instance
        token, context = instance.tokens["admin"], instance.client_ssl()
        async with Api(instance.url, token, context) as api:
            pods = await api.list("Pod")
            assert len(pods) == PODS == len({pod["metadata"]["uid"] for pod in pods})
            assert len({pod["status"]["podIP"] for pod in pods}) == PODS
            assert all(is_ready(pod) for pod in pods)

            nodes = {node["metadata"]["name"]: node for node in await api.list("Node")}
            assert len(nodes) == NODES
            spaces = {space["metadata"]["name"] for space in await api.list("Namespace")}
            owners: dict[str, Object] = {}
            for kind in ("ReplicaSet", "StatefulSet", "DaemonSet", "Job"):
                owners |= {found["metadata"]["uid"]: found for found in await api.list(kind)}
            for pod in pods:
                [reference] = pod["metadata"]["ownerReferences"]
                owner = owners[reference["uid"]]
                assert name_of(owner) == (pod["metadata"]["namespace"], reference["name"])
                assert pod["metadata"]["name"].startswith(f"{reference['name']}-")
                assert pod["metadata"]["namespace"] in spaces
                zone = "topology.kubernetes.io/zone"
                home = nodes[pod["spec"]["nodeName"]]
                assert pod["metadata"]["labels"][zone] == home["metadata"]["labels"][zone]
                selector = (owner["spec"].get("selector") or {})["matchLabels"]
                assert selector.items() <= pod["metadata"]["labels"].items()
            kinds = Counter(pod["metadata"]["ownerReferences"][0]["kind"] for pod in pods)
            assert kinds["DaemonSet"] == 8 * NODES
            assert kinds["ReplicaSet"] > 4 * kinds["Job"] > 0 < kinds["StatefulSet"]

            # The API server takes them for its own: it can write to them.
            namespace, name = name_of(pods[0])
            changed = await api.patch("Pod", namespace, name, {"metadata": {"labels": {"a": "b"}}})
            assert changed["metadata"]["uid"] == pods[0]["metadata"]["uid"]

            # Nothing is left of what they were cast from.
            text = str(pods) + str(list(nodes.values())) + str(list(owners.values()))
            assert "qqqq" not in text


async def test_changes_past_the_api_server_are_heard_by_who_watches() -> None:
    async with big_cluster(NODES, PODS) as (owned, cluster):
        instance = owned.instance
        token, context = instance.tokens["admin"], instance.client_ssl()
        async with Api(instance.url, token, context) as api:
            version = (await api.list_page("Pod"))["metadata"]["resourceVersion"]
            churning = asyncio.create_task(cluster.churn(PODS, 2.0))
            heard: list[tuple[tuple[str, str], bool]] = []
            async with asyncio.timeout(90):
                # Of a watcher that does not keep up the API server ends the watch.
                while len(heard) < 2 * PODS:
                    async for kind, pod in api.watch("Pod", None, version):
                        version = pod["metadata"]["resourceVersion"]
                        if kind == "MODIFIED":
                            heard.append((name_of(pod), is_ready(pod)))
                        if len(heard) == 2 * PODS:
                            break
            assert await churning == 2 * PODS
        names = {(pod.key.split("/")[3], pod.key.split("/")[4]) for pod in cluster.pods}
        assert {name for name, _ in heard[:PODS]} == names == {name for name, _ in heard[PODS:]}
        assert not any(ready for _, ready in heard[:PODS])
        assert all(ready for _, ready in heard[PODS:])
