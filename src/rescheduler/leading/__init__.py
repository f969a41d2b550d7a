"""One of several leads: a Lease in the cluster says which one.

In: the settings of the election, and a way to connect to the API server. Out: a `Leadership`, once
it is ours, and `Fenced`, a KubeApi that refuses to write when it may be ours no longer. What does
not belong here: what a leader does.
"""

from rescheduler.leading.deciding import Term
from rescheduler.leading.electing import Candidate, leading
from rescheduler.leading.errors import ElectionError
from rescheduler.leading.fencing import Fenced
from rescheduler.leading.leadership import Leadership

__all__ = ["Candidate", "ElectionError", "Fenced", "Leadership", "Term", "leading"]
