"""Where a kube-scheduler reaches us, and whom it trusts."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from rescheduler.cli.addresses import completed
from rescheduler.config import Configuration, Extender, Tls
from rescheduler.config.stock_scheduler import Address
from rescheduler.embedded.cluster import EmbeddedCluster
from rescheduler.errors import ReschedulerError
from rescheduler.kube import Object
from rescheduler.wire import SECRETS, SERVICES, Resource

OURS = Configuration(
    extender=Extender(verbs=("score",), bind_address="", tls=Tls(secret="own"))  # noqa: S106
)
NAME = "rescheduler-extender.kube-system.svc"
SECRET: Object = {"metadata": {"name": "own"}, "data": {"ca.crt": "Q0E="}}


def service(**spec: Any) -> Object:  # noqa: ANN401
    ports = [{"name": "https", "port": 443}]
    return {"metadata": {"name": "rescheduler-extender"}, "spec": {"ports": ports, **spec}}


SERVICE = service(clusterIP="10.0.0.7")
KINDS: dict[str, Resource] = {"own": SECRETS, "rescheduler-extender": SERVICES}


def found(
    *objects: Object, given: Address | None = None, configuration: Configuration = OURS
) -> Address:
    """In a cluster with these."""

    async def main() -> Address:
        cluster = EmbeddedCluster()
        async with cluster:
            for each in objects:
                cluster.api.create(KINDS[each["metadata"]["name"]], "kube-system", each)
            return await completed(given or Address(url=""), configuration, cluster.connect)

    return asyncio.run(main())


def test_read_from_the_cluster() -> None:
    assert found(SECRET, SERVICE) == Address(
        url="https://10.0.0.7:443", server_name=NAME, ca_data="Q0E="
    )
    assert found(SECRET, service(clusterIP="fd00::7")).url == "https://[fd00::7]:443"


def test_flags_win() -> None:
    given = Address(url="https://10.1.1.1", server_name="we", ca_file="/ca")
    assert found(given=given) == given
    assert found(SERVICE, given=Address(url="", ca_file="/ca")) == Address(
        url="https://10.0.0.7:443", server_name=NAME, ca_file="/ca"
    )


def test_on_the_same_machine_no_service_is_needed() -> None:
    extender = replace(OURS.extender, bind_address="127.0.0.1", port=9)
    here = found(SECRET, configuration=replace(OURS, extender=extender))
    assert here == Address(url="https://127.0.0.1:9", server_name=NAME, ca_data="Q0E=")


def test_with_files_nothing_is_read() -> None:
    tls = Tls(cert_file="/c", key_file="/k")
    files = replace(OURS, extender=replace(OURS.extender, tls=tls))
    assert found(given=Address(url="", ca_file="/ca"), configuration=files) == Address(
        url="https://127.0.0.1:8082", ca_file="/ca"
    )
    plain = replace(OURS, extender=Extender(verbs=("score",)))
    assert found(configuration=plain) == Address(url="http://127.0.0.1:8082")


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([SECRET], r"apply manifests/components/extender, which brings it, or give --url"),
        ([SERVICE], r"apply manifests/components/extender, which brings it, or give --ca-file"),
        ([SECRET, service(clusterIP="None")], r"has no address: give --url"),
        ([{"metadata": {"name": "own"}}, SERVICE], r"own is empty as yet: rescheduler run fills"),
    ],
)
def test_what_is_missing_is_told_with_the_way_out(objects: list[Object], words: str) -> None:
    with pytest.raises(ReschedulerError, match=words):
        found(*objects)
