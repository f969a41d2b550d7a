"""NetworkPolicies: by which labels they find pods."""

from collections.abc import Iterator

from rescheduler.model.objects import Object, spec


def selectors_of(policy: Object) -> Iterator[Object]:
    """Both of the pods that it is about and of the peers that it names."""
    told = spec(policy)
    yield told.get("podSelector") or {}
    for rule in [*(told.get("ingress") or ()), *(told.get("egress") or ())]:
        for peer in [*(rule.get("from") or ()), *(rule.get("to") or ())]:
            if peer.get("podSelector"):
                yield peer["podSelector"]
