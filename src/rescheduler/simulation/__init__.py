"""The product on an embedded cluster: what it would do, seen in advance and in seconds.

In: a cluster (generated, or the user's own from a file), how its load changes over a day, and what
happens in it beside; configurations to be compared. Out: what each of them moved, and how the
cluster fared. The product in it is the real one, whole; only the cluster and the time are not.
"""
