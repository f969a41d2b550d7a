"""Copies on their way, as they will be counted: with the label that they lack for a while."""

from dataclasses import replace

import numpy as np

from rescheduler.model import names
from rescheduler.model.columns import NONE, Flag
from rescheduler.model.snapshot import Snapshot


def as_adopted(snapshot: Snapshot) -> Snapshot:
    """As if their ReplicaSets had them already, so that the next moves reckon with what will be. So
    does a copy that is only assumed.
    """
    pods = snapshot.pods
    leaving = np.flatnonzero(pods.flags & int(Flag.LEAVING)).tolist()
    if not leaving:
        return snapshot
    originals = {pods.uids[row]: row for row in leaving}
    classes = pods.pod_class.copy()
    for row, told in pods.annotations.items():
        original = originals.get(told.get(names.ORIGINAL_POD, ""))
        # Anybody may write anything into an annotation.
        if (
            original is not None
            and pods.owner[row] == NONE
            and snapshot.class_of(row).namespace == snapshot.class_of(original).namespace
        ):
            classes[row] = classes[original]
    return replace(snapshot, pods=replace(pods, pod_class=classes))
