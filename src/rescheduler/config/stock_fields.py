"""Every field that a stock kube-scheduler knows in its configuration file (v1).

From k8s.io/kube-scheduler/config/v1/types.go and k8s.io/component-base/config/v1alpha1/types.go,
release 1.36. Known does not mean used: what we read ourselves has a kind, the rest is `Anything`.
"""

from typing import Final

from rescheduler.config.configuration import ClientConnection
from rescheduler.config.leading import LeaderElection
from rescheduler.documents.kinds import Text
from rescheduler.documents.settings import section_of
from rescheduler.documents.shapes import Anything, Items, Section, Shape


def _left_alone(names: str) -> dict[str, Shape]:
    return dict.fromkeys(names.split(), Anything())


_LEADER_ELECTION: Final = Section(
    {
        **section_of(LeaderElection).fields,
        # Of the scheduler's own lease. Ours is another, or the two could not lead side by side.
        **_left_alone("resourceLock resourceName resourceNamespace"),
    }
)

_CLIENT_CONNECTION: Final = Section(
    {
        **section_of(ClientConnection).fields,
        **_left_alone("acceptContentTypes contentType qps burst"),
    }
)

_EXTENDER: Final = Section(
    {
        **_left_alone(
            "urlPrefix filterVerb preemptVerb prioritizeVerb weight bindVerb enableHTTPS"
            " httpTimeout nodeCacheCapable ignorable"
        ),
        "tlsConfig": Section(
            _left_alone("insecure serverName certFile keyFile caFile certData keyData caData")
        ),
        "managedResources": Items(Section(_left_alone("name ignoredByScheduler"))),
    }
)

_PLUGIN: Final = Section(
    {"name": Text(may_be_empty=False), **_left_alone("weight")}, required=("name",)
)
_PLUGIN_SET: Final = Section({"enabled": Items(_PLUGIN), "disabled": Items(_PLUGIN)})

EXTENSION_POINTS: Final = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
    "multiPoint",
    "placementGenerate",
    "placementScore",
)

_PLUGIN_CONFIG: Final = Section(
    {"name": Text(may_be_empty=False), **_left_alone("args")}, required=("name",)
)

_PROFILE: Final = Section(
    {
        "schedulerName": Text(may_be_empty=False),
        **_left_alone("percentageOfNodesToScore"),
        "plugins": Section(dict.fromkeys(EXTENSION_POINTS, _PLUGIN_SET)),
        "pluginConfig": Items(_PLUGIN_CONFIG),
    }
)

KUBE_SCHEDULER_CONFIGURATION: Final = Section(
    {
        **_left_alone(
            "apiVersion kind parallelism enableProfiling enableContentionProfiling"
            " percentageOfNodesToScore podInitialBackoffSeconds podMaxBackoffSeconds"
            " delayCacheUntilActive"
        ),
        "leaderElection": _LEADER_ELECTION,
        "clientConnection": _CLIENT_CONNECTION,
        "profiles": Items(_PROFILE),
        "extenders": Items(_EXTENDER),
    }
)
