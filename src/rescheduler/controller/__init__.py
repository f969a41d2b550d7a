"""Snapshot -> Plan -> moves, again and again: composes the stages, as nobody else does.

In: a door to the API server, the clock, the configuration. Out: passes, one alone or one after the
other; one node emptied; the right to act, and an orderly end. What does not belong here: decisions
about pods, and what only one stage needs.
"""
