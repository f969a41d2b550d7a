"""What an API server sends about evictions, and what it never sends."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.guard import Eviction
from rescheduler.serve.bodies import BadRequest
from rescheduler.serve.guard import formats
from rescheduler.serve.guard.formats import Review
from tests.unit.serve.guard.reviews import REQUEST, review


def read(asked: object) -> Review:
    return formats.review(json.dumps(asked).encode())


def evicted(**more: Any) -> Eviction:  # noqa: ANN401
    found = read(review(**more)).eviction
    assert found is not None
    return found


def test_an_eviction_is_read() -> None:
    found = read(review())
    assert found.uid == REQUEST
    assert found.eviction == Eviction(namespace="shop", pod="web-1", user="alice")


@pytest.mark.parametrize(
    "more",
    [{"dryRun": True}, {"options": {"dryRun": ["All"]}}],
    ids=["in the query", "in the options"],
)
def test_a_dry_run_may_stand_in_two_places(more: dict[str, Any]) -> None:
    assert evicted(**more).is_dry_run
    assert not evicted(options={}).is_dry_run
    assert not evicted(options={"dryRun": []}).is_dry_run


def test_the_pod_that_is_meant() -> None:
    assert evicted(options={"preconditions": {"uid": "u"}}).uid == "u"
    assert evicted(options={"preconditions": None}).uid == ""


@pytest.mark.parametrize(
    "more",
    [{"operation": "DELETE"}, {"subResource": ""}, {"subResource": None}, {"operation": None}],
    ids=str,
)
def test_what_is_no_eviction_is_none(more: dict[str, Any]) -> None:
    assert read(review(**more)).eviction is None


def test_what_is_left_out_is_empty() -> None:
    found = evicted(name=None, namespace=None, userInfo=None, object=None, dryRun=None)
    assert found == Eviction(namespace="", pod="", user="")


def test_its_name_may_stand_in_the_object_only() -> None:
    assert evicted(name="").pod == "web-1"


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"[]", b"{}", b'{"request": {}}', b"\xff"])
def test_what_cannot_be_read_is_told(body: bytes) -> None:
    with pytest.raises(BadRequest, match="cannot be read"):
        formats.review(body)


@given(st.binary(max_size=200))
def test_nothing_else_is_ever_raised(body: bytes) -> None:
    with suppress(BadRequest):
        assert formats.review(body).uid is not None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
fields = st.sampled_from(
    ("uid", "name", "namespace", "operation", "subResource", "userInfo", "object", "dryRun")
)


@given(st.dictionaries(fields, json_values, max_size=3), st.none() | json_values)
def test_a_field_of_any_shape_is_read_or_refused(changed: dict[str, Any], options: object) -> None:
    try:
        found = read(review(options=options, **changed))
    except BadRequest:
        return
    if found.eviction is not None:
        told = (found.eviction.namespace, found.eviction.pod, found.eviction.user)
        assert all(isinstance(each, str) for each in told)


def test_answers_are_as_an_api_server_reads_them() -> None:
    allowed = json.loads(formats.allowed("u"))
    assert allowed == {
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": {"uid": "u", "allowed": True},
    }
    response = json.loads(formats.held("u", "because"))["response"]
    assert response["allowed"] is False
    assert response["uid"] == "u"
    status = response["status"]
    assert (status["code"], status["reason"]) == (429, "TooManyRequests")
    assert status["message"] == "because"
    status = json.loads(formats.absent("u", "moved"))["response"]["status"]
    assert (status["code"], status["reason"], status["message"]) == (404, "NotFound", "moved")
