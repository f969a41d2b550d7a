"""The only door to the API server.

In: requests of the stages, in the vocabulary of `api.KubeApi`. Out: raw JSON objects, or views on
the fields that we read (`wire`), and errors named by what they mean for the caller. What
does not belong here: any opinion about pods.
"""

from rescheduler.kube import bodies, errors
from rescheduler.kube.api import Event, KubeApi, Listing, Object, Whole
from rescheduler.kube.client import connect
from rescheduler.kube.following import Manner
from rescheduler.kube.sealed import brief, is_brief

__all__ = [
    "Event",
    "KubeApi",
    "Listing",
    "Manner",
    "Object",
    "Whole",
    "bodies",
    "brief",
    "connect",
    "errors",
    "is_brief",
]
