"""What is decided once the dry runs have shown what admission makes of a copy."""

from dataclasses import replace
from typing import Any

import pytest

from rescheduler.migrate.deciding.actions import Action, CreateCopy, End, GiveUp, PatchPod, Rehearse
from rescheduler.migrate.deciding.deciding import decide
from rescheduler.migrate.deciding.facts import Progress, Rehearsed
from rescheduler.migrate.deciding.surge import rehearsing
from rescheduler.model.podmigration import Reason, Way
from tests.unit.migrate.driving import Drive
from tests.unit.migrate.toy_cluster import ToyCluster

REFUSAL = rehearsing.refusal("a policy denied request")


def progress(cluster: ToyCluster, **what: Any) -> Progress:  # noqa: ANN401
    return Progress(now=cluster.now, **what)


def rehearsed(cluster: ToyCluster, **what: Any) -> Rehearsed:  # noqa: ANN401
    [replica_set] = cluster.replica_sets.values()
    return Rehearsed(template=rehearsing.template_of(replica_set), **what)


def next_action(cluster: ToyCluster, known: Progress, **intent: Any) -> Action:  # noqa: ANN401
    return decide(replace(cluster.intent, **intent), cluster.view(), known)


def test_admission_is_asked_before_anything_is_touched() -> None:
    cluster = ToyCluster()
    action = next_action(cluster, progress(cluster))
    assert isinstance(action, Rehearse)
    # The way is not chosen yet: the answer decides.
    assert action.note == {}
    metadata = action.as_owner["metadata"]
    [reference] = metadata["ownerReferences"]
    assert reference["controller"] is True
    [replica_set] = cluster.replica_sets.values()
    template = replica_set["spec"]["template"]
    assert metadata["labels"] == template["metadata"]["labels"]
    assert (metadata["generateName"], "name" in metadata) == (f"{reference['name']}-", False)
    assert action.as_owner["spec"] == template["spec"]


def test_what_was_said_of_an_earlier_template_is_asked_again() -> None:
    cluster = ToyCluster()
    known = replace(rehearsed(cluster), template="another/1")
    assert isinstance(next_action(cluster, progress(cluster, rehearsed=known)), Rehearse)
    known = rehearsed(cluster)
    action = next_action(cluster, progress(cluster, rehearsed=known))
    assert isinstance(action, PatchPod)
    assert action.note["way"] is Way.SURGE


@pytest.mark.parametrize(("may_recreate", "asked"), [(False, False), (False, True)])
def test_a_refused_copy_leaves_the_pod_untouched(*, may_recreate: bool, asked: bool) -> None:
    cluster = ToyCluster()
    known = progress(cluster, rehearsed=rehearsed(cluster, refusal=REFUSAL))
    action = next_action(cluster, known, may_recreate=may_recreate, asked=asked)
    assert isinstance(action, End)
    assert action.outcome == REFUSAL
    assert action.outcome.reason is Reason.COPY_REFUSED


def test_it_is_evicted_instead_where_it_may_be_recreated() -> None:
    cluster = ToyCluster()
    known = progress(cluster, rehearsed=rehearsed(cluster, refusal=REFUSAL))
    action = next_action(cluster, known, may_recreate=True)
    assert action.note["way"] is Way.RECREATE
    wanted = next_action(cluster, known, may_recreate=True, way=Way.SURGE)
    assert isinstance(wanted, End)
    assert wanted.outcome == REFUSAL


def test_whoever_goes_on_after_a_crash_hears_of_the_refusal_too() -> None:
    """The mark was set, and is taken off again."""
    cluster = ToyCluster()
    known = rehearsed(cluster)
    marking = next_action(cluster, progress(cluster, rehearsed=known))
    assert isinstance(marking, PatchPod)
    cluster.patch(cluster.original_uid, marking.change)
    resumed = progress(cluster, way=Way.SURGE)
    assert isinstance(next_action(cluster, resumed), Rehearse)
    refused = replace(resumed, rehearsed=replace(known, refusal=REFUSAL))
    action = next_action(cluster, refused)
    assert isinstance(action, GiveUp)
    assert action.outcome == REFUSAL


class Careless(ToyCluster):
    """Its admission gives a sidecar to whoever has a controller, and to nobody in dry runs."""

    def _add_pod(self, pod: dict[str, Any]) -> dict[str, Any]:
        if any(each.get("controller") for each in pod["metadata"].get("ownerReferences") or ()):
            containers = pod["spec"].get("containers") or []
            pod["spec"]["containers"] = [*containers, {"name": "mesh"}]
        return super()._add_pod(pod)


def test_a_copy_that_lacks_what_its_original_has_is_taken_back() -> None:
    drive = Drive(Careless()).to_the_end()
    assert (drive.outcome.moved, drive.outcome.reason) == (False, Reason.COPY_DIFFERS)
    assert drive.outcome.message == "the copy lacks the container mesh"
    assert sum(isinstance(action, CreateCopy) for action in drive.actions) == 1
    assert drive.cluster.original
    assert drive.cluster.copy is None


# ---------------------------------------------------------------------- resized meanwhile


def _resized_pair(cluster: ToyCluster, cpu: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The original, resized in its second generation, and a copy that was made before."""
    [replica_set] = cluster.replica_sets.values()
    replica_set["spec"]["template"]["spec"] = {"containers": [{"name": "app"}]}
    sized = {"name": "app", "resources": {"requests": {"cpu": cpu}}}
    original = {"metadata": {"generation": 2}, "spec": {"containers": [sized]}}
    return original, {"metadata": {}, "spec": {"containers": [{"name": "app"}]}}


def test_who_has_sized_it_is_asked_again_after_each_change() -> None:
    cluster = ToyCluster()
    original, _ = _resized_pair(cluster, "2")
    [replica_set] = cluster.replica_sets.values()
    for asked_at, is_unknown in ((-1, True), (1, True), (2, False), (3, False)):
        known = progress(cluster, resized_at=asked_at)
        since = rehearsing.may_be_resized_since(original, replica_set, known)
        assert since is is_unknown, asked_at


@pytest.mark.parametrize(("resized", "is_outgrown"), [({"app"}, True), (set(), False)])
def test_a_copy_is_outgrown_by_a_resize_only(resized: set[str], *, is_outgrown: bool) -> None:
    cluster = ToyCluster()
    original, copy = _resized_pair(cluster, "2")
    [replica_set] = cluster.replica_sets.values()
    known = progress(cluster, rehearsed=rehearsed(cluster), resized=frozenset(resized))
    assert rehearsing.is_outgrown(original, copy, replica_set, known) is is_outgrown
    assert not rehearsing.is_outgrown(original, original, replica_set, known)
