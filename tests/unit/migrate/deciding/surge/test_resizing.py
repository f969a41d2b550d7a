"""Pods that were resized in place: which containers, and what their copies keep."""

import json
from typing import Any

from rescheduler.migrate.deciding.surge import resizing
from rescheduler.model import names

Object = dict[str, Any]


def pod(
    cpu: str, *, managed: list[Object] | None = None, annotations: Object | None = None
) -> Object:
    container = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"annotations": annotations or {}, "managedFields": managed or []}
    return {"metadata": metadata, "spec": {"containers": [container, {"name": "mesh"}]}}


def entry(subresource: str, *containers: str) -> Object:
    """As the API server writes down who changed what."""
    fields: Object = {f"k:{json.dumps({'name': each})}": {"f:resources": {}} for each in containers}
    return {"subresource": subresource, "fieldsV1": {"f:spec": {"f:containers": fields}}}


def test_who_resized_it_stands_in_the_managed_fields() -> None:
    assert resizing.resized(pod("1", managed=[entry("resize", "app")])) == {"app"}
    assert resizing.resized(pod("1", managed=[entry("", "app"), entry("status", "app")])) == set()
    whole = {"subresource": "resize", "fieldsV1": {"f:spec": {"f:resources": {}}}}
    assert resizing.resized(pod("1", managed=[whole])) == {resizing.WHOLE_POD}


def test_a_copy_that_kept_a_size_says_so_itself() -> None:
    kept = pod("1", annotations={names.RESIZED: "app,gone"})
    assert resizing.resized(kept) == {"app"}
    assert resizing.in_words(kept) == "it keeps the size that it was resized to (app, gone)"
    assert resizing.in_words(pod("1")) == ""


def test_only_another_size_is_worth_a_question() -> None:
    assert resizing.may_be(pod("2"), pod("1"))
    assert not resizing.may_be(pod("1000m"), pod("1"))


def test_kept_is_what_admission_does_not_set() -> None:
    original, template = pod("2"), pod("1")
    assert resizing.kept(original, template, None, {"app"}) == ("app",)
    assert resizing.kept(original, template, template, {"app"}) == ("app",)
    assert resizing.kept(original, template, pod("3"), {"app"}) == ()
    # Resized, and back again.
    assert resizing.kept(template, template, template, {"app"}) == ()
    assert resizing.kept(original, template, template, {"mesh"}) == ()


def test_the_copy_gets_the_size_of_the_original() -> None:
    made = pod("1")["spec"]
    resizing.keep(made, pod("2"), ["app"])
    assert made == pod("2")["spec"]
