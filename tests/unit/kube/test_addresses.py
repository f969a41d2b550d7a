"""Names in addresses: what people type is one part, and never the address of something else."""

import pytest

from rescheduler.kube import errors
from rescheduler.kube.client import path_of
from rescheduler.wire import NODES, PODS


def test_a_name_is_one_part_of_the_address() -> None:
    assert path_of(PODS, "shop", "web-1") == "/api/v1/namespaces/shop/pods/web-1"
    assert path_of(NODES, None, "a.b") == "/api/v1/nodes/a.b"
    assert path_of(PODS, "shop") == "/api/v1/namespaces/shop/pods"
    assert path_of(NODES, None, "system:node") == "/api/v1/nodes/system:node"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../pods", "a%2Fb", "a?limit=1", "a#b"])
def test_what_would_be_the_address_of_something_else_is_not_found(name: str) -> None:
    with pytest.raises(errors.NotFound):
        path_of(PODS, "shop", name)
    if name:
        with pytest.raises(errors.NotFound):
            path_of(PODS, name)
