"""docs/openapi.json describes what the door answers."""

import re

import pytest

from rescheduler.serve.dashboard.contract import ENDPOINTS, Endpoint
from tools import openapi


def test_every_reference_leads_somewhere() -> None:
    text = openapi.text()
    document = openapi.document()
    for found in set(re.findall(r'"#/components/(\w+)/([\w.]+)"', text)):
        assert found[1] in document["components"][found[0]], found


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda each: each.name)
def test_every_endpoint_is_described(endpoint: Endpoint) -> None:
    operation = openapi.document()["paths"][endpoint.path][endpoint.method.lower()]
    assert operation["operationId"] == endpoint.name
    assert operation["summary"]
    in_path = [each["name"] for each in operation["parameters"] if each["in"] == "path"]
    assert in_path == re.findall(r"\{(\w+)\}", endpoint.path)


def test_texts_below_fields_become_descriptions() -> None:
    schemas = openapi.document()["components"]["schemas"]
    assert schemas["NodeColumns"]["properties"]["memory"]["description"] == "The same, in MiB."
    # Also of those that a document has from another one.
    assert schemas["NodeChanges"]["properties"]["memory"]["description"] == "The same, in MiB."


def test_fields_are_always_there_but_in_what_is_sent_to_us() -> None:
    schemas = openapi.document()["components"]["schemas"]
    for name, schema in schemas.items():
        if name not in ("Events", "ActionRequest", "ErrorBody"):
            assert schema["required"] == list(schema["properties"]), name
