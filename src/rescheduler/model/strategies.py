"""The names of the strategies, as a configuration and the records of migrations say them."""

from typing import Final

LOAD_BALANCING: Final = "LoadBalancing"
RESOURCE_OPTIMIZATION: Final = "ResourceOptimization"
NODE_MAINTENANCE: Final = "NodeMaintenance"
COST_OPTIMIZATION: Final = "CostOptimization"
TOPOLOGY_SPREAD: Final = "TopologySpread"

ALL: Final = (
    NODE_MAINTENANCE,
    TOPOLOGY_SPREAD,
    RESOURCE_OPTIMIZATION,
    COST_OPTIMIZATION,
    LOAD_BALANCING,
)
"""In the order in which they act: what a person asked for comes first, then what is broken, then
what is dear or uneven.
"""
BY_DEFAULT: Final = (LOAD_BALANCING, RESOURCE_OPTIMIZATION)
