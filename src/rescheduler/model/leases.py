"""Nodes that karpenter is asked to leave alone for a while, by the pods that we moved there."""

from collections.abc import Mapping

from rescheduler.model import names


def is_ours(annotations: Mapping[str, str]) -> bool:
    """Whether we, and not its user, asked karpenter to spare this pod: that keeps it from nobody
    else, and it may be moved where it has to be.
    """
    told = annotations.get(names.OWN_DO_NOT_DISRUPT)
    return told is not None and told == annotations.get(names.DO_NOT_DISRUPT)
