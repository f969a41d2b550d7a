"""The rules of a Kubernetes API server: who may write what, and what becomes of it.

`server` is the way in, for everybody who works on the cluster. On its way through, an object is
given defaults, validated, admitted and charged to quotas; `refusals` has the words for what is
wrong. All of it is synchronous: what is accepted is in the store at once.
"""

from rescheduler.embedded.apiserver.reviewing import Webhook
from rescheduler.embedded.apiserver.server import ApiServer

__all__ = ["ApiServer", "Webhook"]
