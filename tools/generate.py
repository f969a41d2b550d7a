"""Writes what is made from other files (`make generate`); tests hold it to them."""

import sys
from pathlib import Path
from typing import Final

from tools import (
    api_page,
    chart,
    configuration_page,
    configuration_schema,
    manifests,
    monitoring,
    openapi,
    page_types,
    security_page,
)

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs/configuration.md"
DEFINITION: Final = ROOT / "src/rescheduler/crd.yaml"
METRICS: Final = ROOT / "docs/metrics.md"
DASHBOARD: Final = ROOT / "manifests/monitoring/dashboard.json"
INSTALLED: Final = ROOT / "manifests/rescheduler/crd.yaml"
PLAN_DEFINITION: Final = ROOT / "src/rescheduler/plan-crd.yaml"
PLAN_INSTALLED: Final = ROOT / "manifests/rescheduler/plan-crd.yaml"
ALERT_RULES: Final = ROOT / "manifests/components/monitoring/alerts.yaml"
API_PAGE: Final = ROOT / "docs/api.md"
SECURITY: Final = ROOT / "docs/security.md"
OPENAPI: Final = ROOT / "docs/openapi.json"
PAGE_TYPES: Final = ROOT / "dashboard/src/api/types.ts"
OPENAPI_SERVED: Final = ROOT / "src/rescheduler/serve/dashboard/openapi.json"
EXAMPLES: Final = manifests.EXAMPLES / "configuration-examples.yaml"

SCHEMA: Final = ROOT / "src/rescheduler/config/schema.json"
STARTING_FILE: Final = ROOT / "src/rescheduler/config/starting.yaml"


def page() -> str:
    """What people wrote on top, and what the code says below."""
    return _below(PAGE, configuration_page.BEGIN, configuration_page.tables())


def security() -> str:
    return _below(SECURITY, security_page.BEGIN, security_page.table())


def _below(path: Path, begin: str, text: str) -> str:
    head, found, _ = path.read_text().partition(begin)
    if not found:
        raise LookupError(f"{path} has lost the line after which it is written anew")
    return f"{head}{begin}\n{text}"


def files() -> dict[Path, str]:
    return {
        PAGE: page(),
        SCHEMA: configuration_schema.schema(),
        STARTING_FILE: configuration_schema.starting_file(),
        INSTALLED: DEFINITION.read_text(),
        PLAN_INSTALLED: PLAN_DEFINITION.read_text(),
        METRICS: monitoring.page(),
        DASHBOARD: monitoring.dashboard(),
        ALERT_RULES: manifests.alert_rules(),
        EXAMPLES: manifests.configuration_examples(),
        manifests.KUSTOMIZATION: manifests.kustomization(),
        API_PAGE: api_page.page(),
        SECURITY: security(),
        OPENAPI: openapi.text(),
        PAGE_TYPES: page_types.text(),
        OPENAPI_SERVED: openapi.text(),
        **chart.files(),
        **manifests.packaged(),
    }


def main() -> int:
    """`--check` writes nothing, and names what is not as it should be (`make check`)."""
    is_check = "--check" in sys.argv[1:]
    for path, text in files().items():
        if path.exists() and path.read_text() == text:
            continue
        if is_check:
            sys.exit(f"{path.relative_to(ROOT)} is not up to date: make generate")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
