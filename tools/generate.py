"""Writes what is made from other files (`make generate`); tests hold it to them."""

from pathlib import Path
from typing import Final

from tools import api_page, chart, configuration_page, configuration_schema, manifests, monitoring

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
EXAMPLES: Final = manifests.EXAMPLES / "configuration-examples.yaml"

SCHEMA: Final = ROOT / "src/rescheduler/config/schema.json"
STARTING_FILE: Final = ROOT / "src/rescheduler/config/starting.yaml"


def page() -> str:
    """What people wrote on top, and what the code says below."""
    head, begin, _ = PAGE.read_text().partition(configuration_page.BEGIN)
    if not begin:
        raise LookupError(f"{PAGE} has lost the line after which it is written anew")
    return f"{head}{begin}\n{configuration_page.tables()}"


if __name__ == "__main__":
    PAGE.write_text(page())
    SCHEMA.write_text(configuration_schema.schema())
    STARTING_FILE.write_text(configuration_schema.starting_file())
    INSTALLED.write_bytes(DEFINITION.read_bytes())
    PLAN_INSTALLED.write_bytes(PLAN_DEFINITION.read_bytes())
    METRICS.write_text(monitoring.page())
    DASHBOARD.write_text(monitoring.dashboard())
    ALERT_RULES.write_text(manifests.alert_rules())
    EXAMPLES.write_text(manifests.configuration_examples())
    API_PAGE.write_text(api_page.page())
    chart.write()
    for path, text in manifests.packaged().items():
        path.write_text(text)
