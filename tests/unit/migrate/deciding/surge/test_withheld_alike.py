"""Planning and migrating agree on whether a copy can lack a label; else a move would be planned
again and again that is refused each time, or never planned though it is possible.
"""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rescheduler.migrate.deciding.facts import View
from rescheduler.migrate.deciding.surge import withholding
from rescheduler.plan.movable.withholding import Withholding
from tests.unit.plan.support.movable_scenes import Object, owned_by, pod, row, snapshot

LABELS = {"app": "web", "pod-template-hash": "1", "tier": "front"}
some_labels = st.fixed_dictionaries({}, optional={key: st.just(LABELS[key]) for key in LABELS})
# That a rule of another workload goes by the hash of this one is more than planning looks for.
of_others = some_labels.filter(lambda labels: "pod-template-hash" not in labels)
selectors = st.lists(
    st.fixed_dictionaries(
        {}, optional={key: st.sampled_from([LABELS[key], "x"]) for key in LABELS}
    ),
    max_size=2,
)


def holder(kind: str, number: int, spec: Object) -> Object:
    return {"metadata": {"namespace": "shop", "name": f"{kind}-{number}"}, "spec": spec}


def policy(number: int, labels: Object) -> Object:
    """About these pods, or naming them as peers."""
    selector = {"matchLabels": labels}
    spec: Object = {"podSelector": selector}
    if number:
        spec = {"podSelector": {}, "ingress": [{"from": [{"podSelector": selector}]}]}
    return holder("policy", number, spec)


def asking(labels: Object) -> Object:
    term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": labels}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    owner = owned_by("ReplicaSet", "other")
    metadata = {"labels": {"app": "other"}}
    return pod("other-1", owner=owner, metadata=metadata, affinity={"podAntiAffinity": required})


@settings(deadline=None, max_examples=300)
@given(
    asked=some_labels.filter(bool),
    services=selectors,
    budgets=selectors,
    policies=selectors,
    company=st.none() | of_others,
    gated=st.booleans(),
)
def test_both_find_a_label_or_neither(
    *,
    asked: dict[str, str],
    services: list[Object],
    budgets: list[Object],
    policies: list[Object],
    company: Object | None,
    gated: bool,
) -> None:
    gates: dict[str, Any] = {"readinessGates": [{"conditionType": "lb"}]} if gated else {}
    moved = pod(metadata={"labels": LABELS}, **gates)
    neighbours = [moved] if company is None else [moved, asking(company)]
    replica_set = {
        "metadata": {"namespace": "shop", "name": "web", "uid": "rs-uid"},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": asked},
            "template": {"metadata": {"labels": LABELS}, "spec": moved["spec"]},
        },
        "status": {"replicas": 1, "readyReplicas": 1},
    }
    of_services = [holder("service", n, {"selector": each}) for n, each in enumerate(services)]
    of_budgets = [
        holder("budget", n, {"selector": {"matchLabels": each}}) for n, each in enumerate(budgets)
    ]
    of_policies = [policy(n, each) for n, each in enumerate(policies)]
    cluster = snapshot(
        *neighbours,
        replicasets=[replica_set],
        services=of_services,
        poddisruptionbudgets=of_budgets,
        networkpolicies=of_policies,
    )
    view = View(
        original=moved,
        copy=None,
        copy_name_taken=False,
        replica_set=replica_set,
        deployment=None,
        pods=(moved,),
        services=tuple(of_services),
        slices=(),
        budgets=tuple(of_budgets),
        network_policies=tuple(of_policies),
        replica_sets=(replica_set,),
        neighbours=tuple(neighbours),
        target=None,
        source=None,
    )
    planned = Withholding(cluster).why_none(row(cluster, "web-1")) == ""
    assert planned == (withholding.withheld_label(view, moved, replica_set) is not None)
