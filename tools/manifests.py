"""Manifests that are made from others: kustomize and Helm read nothing outside of their folders."""

import re
import textwrap
from pathlib import Path
from typing import Final

from rescheduler import __version__

ROOT: Final = Path(__file__).parent.parent
EXAMPLES: Final = ROOT / "manifests/rescheduler/examples"
KUSTOMIZATION: Final = ROOT / "manifests/rescheduler/kustomization.yaml"
ALERTS: Final = ROOT / "manifests/monitoring/alerts.yaml"

PACKAGED: Final = ROOT / "src/rescheduler/manifests"
_TO_PACKAGE: Final = (
    ROOT / "manifests/rescheduler/rbac.yaml",
    ROOT / "manifests/components/admission-policy/steering-policy.yaml",
    ROOT / "manifests/components/admission-policy/leaving-policy.yaml",
    ROOT / "manifests/rescheduler/config.yaml",
    ROOT / "manifests/rescheduler/deployment.yaml",
)
"""What `rescheduler install` prints, beside the resource definition."""

_CONFIGURATION: Final = "kind: ReschedulerConfiguration"

_ALL_EXAMPLES: Final = """\
# Written by `make generate` from the files beside it. Each ConfigMap is one way to configure it;
# docs/examples.md says what each does.
#
#   kubectl apply -f manifests/rescheduler/examples/configuration-examples.yaml
#   kubectl -n kube-system patch deployment rescheduler-scheduler --type=json -p '[{"op": "replace",
#     "path": "/spec/template/spec/volumes/0/configMap/name",
#     "value": "rescheduler-example-careful"}]'
"""

_EXAMPLE: Final = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: rescheduler-example-{name}
  namespace: kube-system
  labels: {{app: rescheduler-scheduler}}
data:
  config.yaml: |
{text}"""

_RULES: Final = """\
# Written by `make generate` from manifests/monitoring/alerts.yaml.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: rescheduler-scheduler
  namespace: kube-system
  labels: {{app: rescheduler-scheduler}}
spec:
{groups}"""


def configurations() -> list[Path]:
    """Those of the examples that `--config` takes."""
    return [
        path
        for path in sorted(EXAMPLES.glob("*.yaml"))
        if f"\n{_CONFIGURATION}\n" in path.read_text()
    ]


def configuration_examples() -> str:
    return _ALL_EXAMPLES + "".join(
        _EXAMPLE.format(name=path.stem, text=textwrap.indent(path.read_text(), "    "))
        for path in configurations()
    )


def alert_rules() -> str:
    """For the Prometheus Operator."""
    groups = ALERTS.read_text().partition("groups:\n")
    return _RULES.format(groups=textwrap.indent("".join(groups[1:]), "  "))


def kustomization() -> str:
    """With the tag of this version."""
    return re.sub(r"(?m)^(\s+newTag: ).*$", rf'\1"{__version__}"', KUSTOMIZATION.read_text())


def packaged() -> dict[Path, str]:
    """By path: what the wheel has of them."""
    return {PACKAGED / path.name: path.read_text() for path in _TO_PACKAGE}
