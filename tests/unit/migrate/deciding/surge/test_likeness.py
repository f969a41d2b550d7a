"""Whether a copy is what its owner would have made."""

import copy
from typing import Any

import pytest

from rescheduler.migrate.deciding.surge import likeness

Object = dict[str, Any]


def container(name: str = "app", cpu: str = "500m", **more: Any) -> Object:  # noqa: ANN401
    return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}


def pod(*containers: Object, **spec: Any) -> Object:  # noqa: ANN401
    return {"metadata": {}, "spec": {"containers": list(containers) or [container()], **spec}}


def injected(token: str = "abcde", **metadata: Any) -> Object:  # noqa: ANN401, S107
    volume = f"kube-api-access-{token}"
    mounts = [{"name": volume, "mountPath": "/var/run/secrets"}]
    made = pod(container(volumeMounts=mounts), volumes=[{"name": volume, "projected": {}}])
    return {**made, "metadata": metadata}


# ---------------------------------------------------------------------- two answers


def test_answers_agree_but_for_names() -> None:
    one = injected("abcde", name="web-1", uid="1", labels={"app": "web"})
    other = injected("fghij", name="web-2", uid="2", labels={"app": "web"})
    assert likeness.agree(one, other)
    assert one["spec"]["volumes"][0]["name"] == "kube-api-access-abcde"


@pytest.mark.parametrize(
    "change",
    [
        {"labels": {"app": "other"}},
        {"annotations": {"luck": "7"}},
        {"finalizers": ["example.com/stays"]},
    ],
)
def test_answers_that_differ_in_more(change: Object) -> None:
    assert not likeness.agree(injected(labels={"app": "web"}), injected(**change))
    assert not likeness.agree(pod(container(cpu="1")), pod(container(cpu="2")))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        (
            "container 0: cpu request, memory request",
            "container 0: memory request, cpu request",
            True,
        ),
        ("container 0: cpu request", "container 0: memory request", False),
        ("cpu, cpu", "cpu", False),
        ('{"cpu":"2","memory":"1Gi"}', '{"memory":"1Gi","cpu":"2"}', True),
        ('{"cpu":"2","memory":"1Gi"}', '{"cpu":"1Gi","memory":"2"}', False),
    ],
)
def test_annotations_agree_in_any_order_of_their_words(one: str, other: str, *, same: bool) -> None:
    """As VPA writes them; seen in one of some runs beside it."""
    first, second = (injected(annotations={"vpaUpdates": each}) for each in (one, other))
    assert likeness.agree(first, second) is same


def wish(node: str) -> Object:
    there = {"key": "metadata.name", "operator": "In", "values": [node]}
    return {"weight": 100, "preference": {"matchFields": [there]}}


def test_what_another_migration_steers_by_is_not_part_of_the_answer() -> None:
    field = "preferredDuringSchedulingIgnoredDuringExecution"
    own = {"weight": 1, "preference": {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}}

    def preferring(*wishes: Object) -> Object:
        return pod(affinity={"nodeAffinity": {field: list(wishes)}})

    assert likeness.without_steering(preferring(wish("b")), pod()) == pod()
    assert likeness.without_steering(preferring(own, wish("b")), pod()) == preferring(own)
    named = preferring(wish("a"))
    assert likeness.without_steering(preferring(wish("a"), wish("b")), named) == named


# ---------------------------------------------------------------------- what a copy has to have


def why(
    made: Object,
    original: Object,
    *,
    template: Object | None = None,
    answer: Object | None = None,
    siblings: tuple[Object, ...] = (),
) -> str:
    return likeness.why_unlike(
        made, template=template or pod(), answer=answer, original=original, siblings=siblings
    )


MESH = container("mesh", "10m")


def test_a_copy_like_its_original_is_right() -> None:
    both = pod(container(), MESH)
    for answer in (None, both, pod()):
        assert why(copy.deepcopy(both), both, answer=answer) == ""


def test_one_that_lacks_a_container_is_not_whoever_knows_of_it() -> None:
    full = pod(container(), MESH)
    words = "the copy lacks the container mesh"
    # The answer may lack it because the webhook gives nothing in dry runs.
    assert why(pod(), full, answer=pod()) == why(pod(), full) == words
    # The original may lack it because it is older than the webhook.
    assert why(pod(), pod(), answer=full) == words


def test_init_containers_count_too() -> None:
    full = pod(initContainers=[container("setup")])
    assert why(pod(), full) == "the copy lacks the container setup"


def test_one_that_nobody_else_has_is_too_many() -> None:
    words = "the copy has the container mesh, which no sibling has"
    full = pod(container(), MESH)
    assert why(full, pod()) == why(full, pod(), answer=pod()) == words
    assert why(full, pod(), siblings=(full,)) == ""
    assert why(full, pod(), answer=full) == ""


def test_the_size_that_admission_gives_is_the_right_one() -> None:
    """Also when the autoscaler has changed its mind since the original was made."""
    sized, before = pod(container(cpu="2")), pod(container(cpu="1"))
    assert why(sized, before, answer=sized) == ""
    assert why(pod(), before, answer=sized) == (
        "container app of the copy has another size: 500m cpu, where it should be 2 cpu"
    )


def test_where_admission_is_silent_the_size_of_the_original_is_the_right_one() -> None:
    """Somebody gave it that, who does so in no dry run, or not for us; or it was resized."""
    sized = pod(container(cpu="2"))
    assert why(pod(), sized, answer=pod()).endswith("500m cpu, where it should be 2 cpu")
    assert why(sized, sized, answer=pod()) == ""
    assert why(pod(), sized, siblings=(pod(),)) == ""


def test_a_limit_is_a_request_where_there_is_none() -> None:
    template = pod({"name": "app", "resources": {"limits": {"cpu": "1"}}})
    made = pod({"name": "app", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1000m"}}})
    assert why(made, made, template=template, answer=made) == ""


def test_security_contexts_are_compared() -> None:
    safe = {"runAsNonRoot": True}
    words = "container app of the copy has another security context than it should"
    assert why(pod(), pod(container(securityContext=safe))) == words
    whole = pod(securityContext=safe)
    assert why(pod(), whole) == "the copy has another security context than it should"
    assert why(whole, pod(), answer=whole) == ""


def test_volumes_and_variables_that_every_sibling_has() -> None:
    agent = pod(container(env=[{"name": "AGENT", "value": "1"}]), volumes=[{"name": "agent"}])
    assert why(pod(), agent) == "the copy lacks the volume agent"
    lacking = pod(volumes=[{"name": "agent"}])
    assert why(lacking, agent) == "the copy lacks the variable app/AGENT"
    # Not all of them have it, so a new one need not.
    assert why(pod(), agent, siblings=(pod(),)) == ""


def test_what_a_newer_webhook_gives_is_right_though_its_siblings_have_other_things() -> None:
    """As after the upgrade of a mesh: its pods are as they were until somebody restarts them."""

    def meshed(kind: str, variable: str, volume: str) -> Object:
        proxy = container("mesh", env=[{"name": variable, "value": "1"}])
        containers = [container(), proxy] if kind == "containers" else [container()]
        more = {} if kind == "containers" else {"initContainers": [proxy]}
        return pod(*containers, volumes=[{"name": volume}], **more)

    before, now = meshed("containers", "OLD", "old"), meshed("initContainers", "NEW", "new")
    assert why(now, before, answer=now) == ""
    assert why(now, before) == "the copy lacks the volume old"


def test_tokens_have_names_of_their_own() -> None:
    assert why(injected("abcde"), injected("fghij")) == ""


def test_what_came_twice_is_no_same_shape() -> None:
    variable = {"name": "AGENT", "value": "1"}
    once, twice = pod(container(env=[variable])), pod(container(env=[variable] * 2))
    assert likeness.has_same_shape(once, once)
    assert not likeness.has_same_shape(twice, once)
