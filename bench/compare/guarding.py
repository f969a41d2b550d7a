"""Scene (f): somebody else empties nodes. Who is there by name of a scenario, and by contender."""

from bench.compare import contenders, evictors, stages
from bench.compare.evictors import guarded
from bench.compare.running import Entry, Scenario

LETTER = "f"
ALONE = "kubectl drain"
GUARDED = "(guarded)"
"""At the end of the name of whoever works beside our guard."""
_LAST_WORD_SECONDS = 60.0
"""Who was held tries again every 10 s, and then looks every 5 s whether it was the last."""
_REFUSED_SECONDS = 30.0


def _beside_ours(contender: contenders.Contender) -> Entry:
    return Entry(guarded(contender), last_word_seconds=_LAST_WORD_SECONDS)


SCENARIOS = (
    Scenario(
        letter=LETTER,
        title="somebody else empties a node",
        workloads=24,
        set_up=stages.one_node_to_empty,
        entries={
            ALONE: Entry(contenders.kubectl_drain),
            f"kubectl drain {GUARDED}": _beside_ours(contenders.kubectl_drain),
            f"descheduler {GUARDED}": _beside_ours(contenders.emptying_descheduler),
            f"like cluster-autoscaler {GUARDED}": _beside_ours(evictors.like_cluster_autoscaler),
            f"like karpenter {GUARDED}": _beside_ours(evictors.like_karpenter),
        },
    ),
    Scenario(
        letter=LETTER,
        title="the same, budgets of 0",
        workloads=24,
        set_up=stages.one_node_to_empty_under_budgets,
        entries={
            # It would go on asking for ever.
            ALONE: Entry(contenders.kubectl_drain, seconds=_REFUSED_SECONDS),
            f"kubectl drain {GUARDED}": _beside_ours(contenders.kubectl_drain),
        },
    ),
    Scenario(
        letter=LETTER,
        title="two nodes at once",
        workloads=24,
        set_up=stages.two_nodes_to_empty,
        entries={
            ALONE: Entry(contenders.kubectl_drain),
            f"kubectl drain {GUARDED}": _beside_ours(contenders.kubectl_drain),
        },
    ),
)
