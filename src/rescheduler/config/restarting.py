"""What of a changed configuration is taken up while the program runs, and what is not. Pure."""

from dataclasses import replace
from typing import Final

from rescheduler.config.configuration import Configuration
from rescheduler.config.loading import single_settings
from rescheduler.config.plans import DRY_RUN

UNTIL_RESTARTED: Final = (
    "leader_election",
    "client_connection",
    "serving",
    "extender",
    "verbs",
    "guard",
    "dashboard",
)
"""Fields of `Configuration` that say who we are to others, where we connect to and where we listen:
whoever changed them in the middle would hold two leases, or talk to two clusters.
"""


def taken_up(
    running: Configuration, wanted: Configuration
) -> tuple[Configuration, tuple[str, ...]]:
    """What is in force from now on, and the paths of those changes that wait for a restart."""
    kept = {name: getattr(running, name) for name in UNTIL_RESTARTED}
    # Whoever only looks has no lease, and may have no right to one.
    if DRY_RUN in (running.mode, wanted.mode):
        kept["mode"] = running.mode
    in_force = replace(wanted, **kept)
    return in_force, changed_settings(in_force, wanted)


def changed_settings(before: Configuration, after: Configuration) -> tuple[str, ...]:
    """By path, in the order of a file."""
    old, new = dict(single_settings(before)), dict(single_settings(after))
    paths = {**old, **new}
    return tuple(path for path in paths if old.get(path) != new.get(path))
