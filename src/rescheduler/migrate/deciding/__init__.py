"""What a migration does next, decided from what the cluster shows. Pure: no I/O, no clock.

In: an `Intent`, a `View` of the cluster, the `Progress` so far. Out: one `Action`. What does not
belong here: reading the cluster, and doing what was decided.
"""
