"""Answers of the API server, named by what they mean."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rescheduler.kube import errors
from tests.unit.wire.generated import encoded, wrapped

SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not"
    " support."
)


def _status(code: int, reason: str = "", message: str = "no", **more: Any) -> bytes:  # noqa: ANN401
    body = {"kind": "Status", "status": "Failure", "code": code, "message": message, **more}
    return json.dumps(body | ({"reason": reason} if reason else {})).encode()


BUDGET: dict[str, Any] = {"details": {"causes": [{"reason": "DisruptionBudget"}]}}
TOO_LARGE: dict[str, Any] = {"details": {"causes": [{"reason": "ResourceVersionTooLarge"}]}}
IN_PROTOBUF = wrapped(encoded("Status", {"message": "no", "reason": "Forbidden", "code": 403}))
AHEAD_IN_PROTOBUF = wrapped(encoded("Status", {"message": "Too large", "code": 504, **TOO_LARGE}))
OTHER_CAUSE: dict[str, Any] = {"details": {"causes": [{"reason": "FieldValueInvalid"}]}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        pytest.param(400, _status(400, "BadRequest"), errors.Invalid, id="bad-request"),
        pytest.param(401, _status(401, "Unauthorized"), errors.Unauthorized, id="unauthorized"),
        pytest.param(403, _status(403, "Forbidden"), errors.Forbidden, id="forbidden"),
        pytest.param(404, _status(404, "NotFound"), errors.NotFound, id="not-found"),
        pytest.param(404, b"404 page not found\n", errors.NotFound, id="no-such-path"),
        pytest.param(405, _status(405, "MethodNotAllowed"), errors.Invalid, id="method"),
        pytest.param(408, b"", errors.Unavailable, id="request-timeout"),
        pytest.param(409, _status(409, "Conflict"), errors.Conflict, id="conflict"),
        pytest.param(409, _status(409, "AlreadyExists"), errors.AlreadyExists, id="exists"),
        pytest.param(409, b"", errors.Conflict, id="conflict-without-body"),
        pytest.param(410, _status(410, "Expired"), errors.Expired, id="expired"),
        pytest.param(410, _status(410, "Gone"), errors.Expired, id="gone"),
        pytest.param(413, b"too large", errors.Invalid, id="too-large"),
        pytest.param(415, _status(415, "UnsupportedMediaType"), errors.Invalid, id="media-type"),
        pytest.param(422, _status(422, "Invalid", **OTHER_CAUSE), errors.Invalid, id="invalid"),
        pytest.param(
            429, _status(429, "TooManyRequests", **BUDGET), errors.BudgetRefused, id="pdb"
        ),
        pytest.param(429, _status(429, "TooManyRequests"), errors.Throttled, id="throttled"),
        pytest.param(
            429, b"Too many requests, please try again later.\n", errors.Throttled, id="apf"
        ),
        pytest.param(500, _status(500, message=SEVERAL), errors.SeveralBudgets, id="two-budgets"),
        pytest.param(500, _status(500, "InternalError"), errors.Unavailable, id="internal"),
        pytest.param(502, b"<html>Bad Gateway</html>", errors.Unavailable, id="a-proxy-says"),
        pytest.param(503, _status(503, "ServiceUnavailable"), errors.Unavailable, id="unavailable"),
        pytest.param(504, _status(504, "Timeout"), errors.Unavailable, id="timeout"),
        pytest.param(504, _status(504, "Timeout", **TOO_LARGE), errors.Expired, id="ahead"),
        pytest.param(403, IN_PROTOBUF, errors.Forbidden, id="protobuf"),
        pytest.param(504, AHEAD_IN_PROTOBUF, errors.Expired, id="ahead-in-protobuf"),
        pytest.param(500, b"k8s\x00\xff", errors.Unavailable, id="broken-protobuf"),
        pytest.param(302, b"", errors.Unavailable, id="redirected"),
    ],
)
def test_meaning(status: int, body: bytes, kind: type[errors.KubeError]) -> None:
    found = errors.from_answer(status, {}, body)
    assert type(found) is kind
    assert found.status == status


def test_the_message_is_the_servers() -> None:
    found = errors.from_answer(404, {}, _status(404, "NotFound", 'pods "web" not found'))
    assert str(found) == 'pods "web" not found'


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"Too many requests", "Too many requests"),
        (b"", "HTTP 429"),
        (b"\xff\xfe", "\ufffd\ufffd"),
        (b"x" * 9000, "x" * 500),
        (b"[1, 2]", "[1, 2]"),
        (b'"text"', '"text"'),
        (b"null", "null"),
        (b'{"message": ""}', '{"message": ""}'),
        (b'{"message": 5}', "5"),
    ],
    ids=["text", "none", "not-utf-8", "long", "list", "string", "null", "empty", "number"],
)
def test_a_body_that_is_no_status_is_shown_as_it_is(body: bytes, message: str) -> None:
    assert str(errors.from_answer(429, {}, body)) == message


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1", 1.0),
        ("10", 10.0),
        ("0", 0.0),
        (None, None),
        ("", None),
        ("Wed, 21 Oct 2026 07:28:00 GMT", None),
        ("-1", None),
        ("3600", 60.0),
        ("inf", 60.0),
        ("nan", None),
    ],
)
def test_retry_after(header: str | None, seconds: float | None) -> None:
    headers = {} if header is None else {"Retry-After": header}
    assert errors.from_answer(429, headers, b"slow").retry_after_seconds == seconds


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["message", "reason", "details", "causes", "code"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.integers(300, 599), nested)
def test_any_json_is_understood_somehow(status: int, answer: object) -> None:
    found = errors.from_answer(status, {}, json.dumps(answer).encode())
    assert isinstance(found, errors.KubeError)
    assert str(found)


@given(st.integers(300, 599), st.binary(max_size=40) | st.just(b"[" * 100_000))
def test_any_bytes_are_understood_somehow(status: int, body: bytes) -> None:
    assert str(errors.from_answer(status, {}, body))


def test_the_words_of_a_protobuf_status_are_shown() -> None:
    assert str(errors.from_answer(403, {}, IN_PROTOBUF)) == "no"


@pytest.mark.parametrize(
    ("status", "kind", "seconds"),
    [
        ({"code": 410, "reason": "Expired", "message": "too old"}, errors.Expired, None),
        ({"code": 410, "reason": "Gone"}, errors.Expired, None),
        ({"code": 504, "reason": "Timeout", **TOO_LARGE}, errors.Expired, None),
        ({"code": 504, "details": {"retryAfterSeconds": 3}}, errors.Unavailable, 3.0),
        ({"code": 429, "details": {"retryAfterSeconds": 3}}, errors.Throttled, 3.0),
        ({"code": "odd", "details": []}, errors.Unavailable, None),
        ({}, errors.Unavailable, None),
    ],
)
def test_an_error_event_means_what_the_answer_would(
    status: dict[str, Any], kind: type[errors.KubeError], seconds: float | None
) -> None:
    problem = errors.from_event(status)
    assert type(problem) is kind
    assert problem.retry_after_seconds == seconds
