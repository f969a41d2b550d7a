"""What a file says of our settings, before what comes from elsewhere is laid over it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rescheduler.documents.places import Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    values: Mapping[str, object] = field(default_factory=dict)
    """Those that were accepted: by their names, nested as in a ReschedulerConfiguration."""

    roots: tuple[Place, ...]
    """Below which the settings stand: several where several profiles have them."""

    others: Mapping[str, object] = field(default_factory=dict)
    """By field of the `Configuration`: what no setting says."""
