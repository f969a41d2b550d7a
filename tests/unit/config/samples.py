"""Documents in which every known field appears, and short ways to make and refuse one."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from rescheduler import config

EXAMPLES = Path(__file__).parent / "examples"

Document = dict[str, Any]

OWN_TYPE = {"apiVersion": "rescheduler.io/v1alpha1", "kind": "ReschedulerConfiguration"}
STOCK_TYPE = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}

ARGS: Document = {
    "reschedulingInterval": "1m30s",
    "enabledStrategies": ["NodeMaintenance"],
    "cpuThreshold": 70,
    "memoryThreshold": 60.5,
    "imbalanceThreshold": 0,
    "maxReschedulePods": 0,
    "excludedNamespaces": ["kube-system"],
    "excludedPodSelector": "app in (db,cache),!movable",
    "mode": "Approve",
    "windows": [
        {"days": ["Mon", "Sat"], "hours": "22:30-06:00", "zone": "Europe/Berlin"},
        {"days": ["Sun"], "hours": "00:00-24:00", "zone": "UTC"},
    ],
    "plans": {"expireAfter": "48h", "review": "0s", "keep": 7},
    "scope": {"namespaces": ["team-a", "team-b"], "nodeSelector": "pool=general"},
    "pods": {
        "priorityThreshold": -5,
        "minPodAge": "168h",
        "minReplicas": 2,
        "emptyDir": "WhenAsked",
        "localStorage": "Allowed",
        "jobs": "Allowed",
        "barePods": "Allowed",
        "recreate": "Allowed",
        "otherControllers": "Allowed",
        "groupLabel": "example.com/group",
    },
    "stability": {
        "margin": 7.5,
        "moveCost": 1,
        "cooldown": {"pod": "1m", "workload": "0s", "node": "24h"},
    },
    "inFlight": {"perNode": 3, "perNamespace": 4, "perWorkload": 5},
    "nodeMaintenance": {
        "cordonedNodes": True,
        "removedNodes": True,
        "excludedNamespaces": "Move",
    },
    "resourceOptimization": {"cpuTarget": 70, "memoryTarget": 50.5},
    "costOptimization": {
        "prices": [
            {"nodeSelector": "spot", "price": 0.25},
            {"nodeSelector": "", "price": 1},
        ],
        "moveCost": 0.5,
    },
    "nodeAutoscaler": {
        "nodeSelector": "pool=spot",
        "scaleDownUtilization": 65.5,
        "packedNodes": "pool=packed",
    },
    "groups": {"allowRecreate": True},
    "migration": {
        "way": "Recreate",
        "coordination": False,
        "fallback": "Never",
        "workers": 3,
        "readyTimeout": "10m",
        "settle": "500ms",
        "linger": "20s",
        "evictionGracePeriod": "45s",
        "budgetTimeout": "0s",
        "steerTimeout": "5s",
        "cleanUpTimeout": "10m",
        "doNotDisrupt": "0s",
        "temporaryBudget": {"enabled": False, "maxUnavailable": "25%"},
        "retry": {"attempts": 5, "backOff": "2m"},
        "circuitBreaker": {"failures": 0, "pause": "1m"},
        "retention": {"maxAge": "1h", "maxCount": 7},
    },
    "usage": {
        "source": "prometheus",
        "interval": "15s",
        "window": "10m",
        "percentile": 95,
        "maxAge": "2m",
        "debounce": 5,
        "learnedPatience": {"enabled": True, "days": 14},
        "prometheus": {
            "url": "https://prometheus.monitoring:9090/prefix",
            "nodeCpuQuery": "node_cpu",
            "nodeMemoryQuery": "node_memory",
            "nodeTimestampQuery": "",
            "podCpuQuery": "pod_cpu",
            "podMemoryQuery": "pod_memory",
            "tokenFile": "",
            "caFile": "/etc/prometheus/ca.crt",
            "basicAuth": {"username": "reader", "passwordFile": "/etc/prometheus/password"},
            "timeout": "5s",
        },
    },
    "serving": {"bindAddress": "127.0.0.1", "port": 9081, "debugPort": 6060},
    "extender": {
        "verbs": ["filter", "preBind"],
        "bindAddress": "10.0.0.1",
        "port": 9082,
        "tls": {
            "secret": "",
            "certFile": "/tls/tls.crt",
            "keyFile": "/tls/tls.key",
            "clientCaFile": "/tls/clients.crt",
        },
    },
    "filter": {"strict": True},
    "score": {"cpuWeight": 3, "memoryWeight": 0.5, "balanceBonus": 0},
    "guard": {
        "enabled": True,
        "bindAddress": "10.0.0.1",
        "port": 9443,
        "patience": "10m",
        "url": "https://10.0.0.1:9443/guard",
        "tls": {
            "secret": "",
            "certFile": "/guard/tls.crt",
            "keyFile": "/guard/tls.key",
            "clientCaFile": "/guard/clients.crt",
        },
    },
    "dashboard": {
        "enabled": True,
        "bindAddress": "10.0.0.1",
        "port": 9444,
        "authentication": "Token",
        "actions": True,
        "clusterName": "production",
        "basePath": "/rescheduler",
        "tls": {
            "secret": "",
            "certFile": "/dashboard/tls.crt",
            "keyFile": "/dashboard/tls.key",
            "clientCaFile": "/dashboard/clients.crt",
        },
    },
}

SECTIONS = [name for name, value in ARGS.items() if isinstance(value, dict)]

COMPLETE_OWN: Document = {
    **OWN_TYPE,
    **ARGS,
    "leaderElection": {"leaderElect": False},
    "clientConnection": {"kubeconfig": "/etc/kubeconfig"},
}

_POINTS = (
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

COMPLETE_STOCK: Document = {
    **STOCK_TYPE,
    "parallelism": 16,
    "leaderElection": {
        "leaderElect": False,
        "leaseDuration": "15s",
        "renewDeadline": "10s",
        "retryPeriod": "2s",
        "resourceLock": "leases",
        "resourceName": "kube-scheduler",
        "resourceNamespace": "kube-system",
    },
    "clientConnection": {
        "kubeconfig": "/etc/kubeconfig",
        "acceptContentTypes": "",
        "contentType": "application/json",
        "qps": 50,
        "burst": 100,
    },
    "enableProfiling": True,
    "enableContentionProfiling": True,
    "percentageOfNodesToScore": 0,
    "podInitialBackoffSeconds": 1,
    "podMaxBackoffSeconds": 10,
    "delayCacheUntilActive": False,
    "profiles": [
        {
            "schedulerName": "rescheduler-scheduler",
            "percentageOfNodesToScore": 50,
            "plugins": {
                **{point: {"disabled": [{"name": "*"}]} for point in _POINTS},
                "score": {"enabled": [{"name": "Rescheduler", "weight": 3}, {"name": "Other"}]},
            },
            "pluginConfig": [
                {"name": "Other", "args": {"whatever": [{"deep": None}]}},
                {"name": "Rescheduler", "args": ARGS},
            ],
        }
    ],
    "extenders": [
        {
            "urlPrefix": "https://extender",
            "filterVerb": "filter",
            "preemptVerb": "",
            "prioritizeVerb": "score",
            "weight": 1,
            "bindVerb": "bind",
            "enableHTTPS": True,
            "tlsConfig": {
                "insecure": False,
                "serverName": "extender",
                "certFile": "",
                "keyFile": "",
                "caFile": "",
                "certData": "",
                "keyData": "",
                "caData": "",
            },
            "httpTimeout": "5s",
            "nodeCacheCapable": True,
            "managedResources": [{"name": "example.com/gpu", "ignoredByScheduler": True}],
            "ignorable": True,
        }
    ],
}


def own(**fields: object) -> Document:
    return {**OWN_TYPE, **fields}


def stock(*profiles: object, **fields: object) -> Document:
    return {**STOCK_TYPE, **fields, "profiles": list(profiles)}


def profile(name: str = "ours", *, points: tuple[str, ...] = (), **args: object) -> Document:
    return {
        "schedulerName": name,
        "plugins": {point: {"enabled": [{"name": "Rescheduler"}]} for point in points},
        "pluginConfig": [{"name": "Rescheduler", "args": args}],
    }


def parsed(document: object) -> config.Configuration:
    """JSON is YAML, so a document needs no YAML writer, whose choices would be tested too."""
    return config.parse(json.dumps(document))


def problems(document: object) -> list[tuple[str, str]]:
    return text_problems(json.dumps(document))


def text_problems(text: str) -> list[tuple[str, str]]:
    with pytest.raises(config.ConfigurationError) as caught:
        config.parse(text)
    return [(problem.path, problem.message) for problem in caught.value.problems]


def copied(document: Document) -> Document:
    return copy.deepcopy(document)
