"""The nouns that all stages share: frozen data and arithmetic on it.

In: nothing but values. Out: nodes, pods, workloads, snapshots, moves, plans. What does not belong
here: I/O, clocks, logging, and any decision about what should move.
"""
