"""What of the Helm chart is made from other files: a chart reads nothing outside of it."""

import json
import re
from pathlib import Path
from typing import Any, Final

from rescheduler import __version__
from tools import configuration_schema

ROOT: Final = Path(__file__).parent.parent
CHART: Final = ROOT / "charts/kube-rescheduler"
_MANIFESTS: Final = ROOT / "manifests"

COPIED: Final = {
    "crd.yaml": "rescheduler/crd.yaml",
    "plan-crd.yaml": "rescheduler/plan-crd.yaml",
    "rbac.yaml": "rescheduler/rbac.yaml",
    "steering-policy.yaml": "components/admission-policy/steering-policy.yaml",
    "leaving-policy.yaml": "components/admission-policy/leaving-policy.yaml",
    "network-policy.yaml": "components/network-policy/network-policy.yaml",
    "service-monitor.yaml": "components/monitoring/service-monitor.yaml",
    "alerts.yaml": "components/monitoring/alerts.yaml",
    "extender-certificate.yaml": "components/extender/certificate.yaml",
    "extender-service.yaml": "components/extender/service.yaml",
    "dashboard-certificate.yaml": "components/dashboard/certificate.yaml",
    "dashboard-service.yaml": "components/dashboard/service.yaml",
    "guard-certificate.yaml": "components/guard/certificate.yaml",
    "guard-webhook.yaml": "components/guard/webhook.yaml",
}
"""What has nothing to choose but whether it is there: its name in the chart, and whence it is."""

Schema = dict[str, Any]


def files() -> dict[Path, str]:
    """What is written, by its path."""
    copies = {
        CHART / "files" / name: (_MANIFESTS / path).read_text() for name, path in COPIED.items()
    }
    return {
        **copies,
        CHART / "Chart.yaml": _chart(),
        CHART / "values.schema.json": json.dumps(schema(), indent=2) + "\n",
    }


def _chart() -> str:
    text = (CHART / "Chart.yaml").read_text()
    text = re.sub(r"(?m)^version: .*$", f"version: {semantic(__version__)}", text)
    return re.sub(r"(?m)^appVersion: .*$", f"appVersion: {__version__}", text)


def semantic(version: str) -> str:
    """As Helm wants it: 0.1.0.dev0 is 0.1.0-dev0."""
    return re.sub(r"^(\d+\.\d+\.\d+)\.?([a-z].*)$", r"\1-\2", version)


def schema() -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Values of kube-rescheduler",
        **_values(),
    }


def _values() -> Schema:
    return _section(
        mode={"enum": ["DryRun", "Approve", "Auto"]},
        image=_section(
            repository=_text(minLength=1),
            tag=_text(),
            pullPolicy={"enum": ["", "Always", "IfNotPresent", "Never"]},
            pullSecrets={"type": "array", "items": _text(minLength=1)},
        ),
        replicas={"type": "integer", "minimum": 1},
        verbosity={"type": "integer", "minimum": 0, "maximum": 10},
        config=_configuration(),
        resources={"type": "object"},
        nodeSelector=_texts(),
        tolerations={"type": "array", "items": {"type": "object"}},
        affinity={"type": "object"},
        podAnnotations=_texts(),
        podLabels=_texts(),
        priorityClass=_section(
            create=_flag(),
            name=_text(minLength=1),
            value={"type": "integer", "maximum": 1_000_000_000},
        ),
        crds=_section(install=_flag(), keep=_flag()),
        admissionPolicy=_section(enabled={"enum": ["auto", True, False]}),
        extender=_section(enabled=_flag()),
        guard=_section(enabled=_flag()),
        dashboard=_section(enabled=_flag()),
        networkPolicy=_section(enabled=_flag()),
        monitoring=_section(enabled=_flag(), labels=_texts()),
        # Of charts that have this one among theirs.
        **{"global": {"type": "object"}},
    )


def _configuration() -> Schema:
    """Without its type, which the chart writes."""
    whole: Schema = json.loads(configuration_schema.schema())
    types = whole.pop("required")
    # The mode is a value of its own, which also says which rights are granted.
    left_out = (*types, "mode")
    properties = {key: each for key, each in whole["properties"].items() if key not in left_out}
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _section(**properties: Schema) -> Schema:
    return {"type": "object", "additionalProperties": False, "properties": properties}


def _text(**bounds: int) -> Schema:
    return {"type": "string", **bounds}


def _texts() -> Schema:
    return {"type": "object", "additionalProperties": {"type": "string"}}


def _flag() -> Schema:
    return {"type": "boolean"}
