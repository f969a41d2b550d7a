"""The only door to the API server.

In: requests of the stages, in the vocabulary of `api.KubeApi`. Out: raw JSON objects, or views on
the fields that we read (`wire`), and errors named by what they mean for the caller. What
does not belong here: any opinion about pods.
"""

from rescheduler.kube import bodies, errors
from rescheduler.kube.api import Event, Known, KubeApi, Listing, Object, Whole
from rescheduler.kube.authentication import namespace_of
from rescheduler.kube.client import connect
from rescheduler.kube.following import Manner
from rescheduler.kube.object_streams import ObjectNews, follow_objects
from rescheduler.kube.pauses import Pauses
from rescheduler.kube.reflector import Reflector, Relist
from rescheduler.kube.sealed import brief, is_brief
from rescheduler.kube.telling import Heard, nobody

__all__ = [
    "Event",
    "Heard",
    "Known",
    "KubeApi",
    "Listing",
    "Manner",
    "Object",
    "ObjectNews",
    "Pauses",
    "Reflector",
    "Relist",
    "Whole",
    "bodies",
    "brief",
    "connect",
    "errors",
    "follow_objects",
    "is_brief",
    "namespace_of",
    "nobody",
]
