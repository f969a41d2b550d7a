"""The label by which people ask for a node to be emptied."""

from collections.abc import Mapping
from typing import Final

from rescheduler.model import names

LABELS: Final = {names.MAINTENANCE: "true"}


def is_in_maintenance(labels: Mapping[str, str]) -> bool:
    """By the labels of a node."""
    return LABELS.items() <= labels.items()
