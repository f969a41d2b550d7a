"""The configuration of a stock kube-scheduler that asks us, from the file that configures us.

It refuses plugins that it lacks, so ours are taken out of `plugins`; what `pluginConfig` says of
them it accepts, and so the one file goes on to configure both sides.
"""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rescheduler.config.configuration import Configuration
from rescheduler.config.kube_scheduler import PLUGIN
from rescheduler.config.scheduling import FILTER, PRE_BIND, SCORE

Document = dict[str, Any]

_TYPE: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
_WEIGHT: Final = 13
"""The scores of all default plugins together are 1,200 at most; ours are 10 times 10 times this."""
_QUICK: Final = "1s"
_PATIENT: Final = "5s"
"""For a binding the API server has to be asked."""
_VERBS: Final[Mapping[str, Document]] = {
    FILTER: {"filterVerb": "filter"},
    SCORE: {"prioritizeVerb": "prioritize", "weight": _WEIGHT},
    PRE_BIND: {"bindVerb": "bind"},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Of the extender, as the scheduler reaches it."""

    url: str
    server_name: str = ""
    """In our certificate, where that is another than in the URL."""
    ca_file: str = ""
    """This or the next; without, a kube-scheduler would trust whoever answers."""
    ca_data: str = ""
    """In base64, as a Secret has it."""
    cert_file: str = ""
    key_file: str = ""


def for_stock_scheduler(
    given: Mapping[str, Any], configuration: Configuration, at: Address
) -> Document:
    """`given`: the file as it was read, of either kind."""
    document: Document = copy.deepcopy(dict(given))
    if given.get("kind") != _TYPE["kind"]:
        document = {**_TYPE, "profiles": [{"schedulerName": "default-scheduler"}]}
    for profile in document.get("profiles") or ():
        _take_us_out(profile)
    others = [each for each in document.get("extenders") or () if each.get("urlPrefix") != at.url]
    document["extenders"] = [*others, _extender(configuration, at)]
    return document


def _take_us_out(profile: Document) -> None:
    """Of what the profile enables; what becomes empty by that is left out."""
    plugins: Document = profile.get("plugins") or {}
    for point in list(plugins):
        kept = plugins[point] or {}
        for names in ("enabled", "disabled"):
            if names in kept:
                kept[names] = [each for each in kept[names] or () if each["name"] != PLUGIN]
        plugins[point] = {names: entries for names, entries in kept.items() if entries}
        if not plugins[point]:
            del plugins[point]
    if not plugins:
        profile.pop("plugins", None)


def _extender(configuration: Configuration, at: Address) -> Document:
    verbs = configuration.answered
    found: Document = {"urlPrefix": at.url}
    for verb in verbs:
        found |= _VERBS[verb]
    # A scheduler must go on without us, and need not send what we know.
    found |= {
        "ignorable": True,
        "nodeCacheCapable": True,
        "httpTimeout": _PATIENT if PRE_BIND in verbs else _QUICK,
    }
    if at.url.startswith("https:"):
        told = {
            "serverName": at.server_name,
            "caFile": at.ca_file,
            "caData": at.ca_data,
            "certFile": at.cert_file,
            "keyFile": at.key_file,
        }
        found["enableHTTPS"] = True
        found["tlsConfig"] = {name: value for name, value in told.items() if value}
    return found
